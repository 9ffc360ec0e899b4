#pragma once

#include <cstdlib>
#include <string>

namespace pel::inspect {

// Abbreviates the home directory to ~.
inline std::string short_path(const std::string& path) {
  const char* home = std::getenv("HOME");
  const std::string under = home == nullptr ? "" : std::string(home) + "/";
  return under.size() > 1 && path.starts_with(under) ? "~/" + path.substr(under.size()) : path;
}

}  // namespace pel::inspect
