// The parts of a path, as text. Windows separates folders by either slash; elsewhere a backslash is an
// ordinary character of a name.
#pragma once

#include <cstddef>
#include <string_view>

namespace pel {

#if defined(_WIN32)
inline constexpr std::string_view kFolderSeparators = "/\\";
#else
inline constexpr std::string_view kFolderSeparators = "/";
#endif

// Returns the length of the folder at the front of the path, with the separator after it; 0 if it has none.
constexpr std::size_t folder_length(std::string_view path, std::string_view separators = kFolderSeparators) {
  return path.find_last_of(separators) + 1;  // npos + 1 is 0
}

constexpr std::string_view file_name(std::string_view path, std::string_view separators = kFolderSeparators) {
  return path.substr(folder_length(path, separators));
}

}  // namespace pel
