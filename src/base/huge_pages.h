// Memory from the system in huge pages: one fault for 2 MiB, not 512.
#pragma once

#include <cstddef>

namespace pel {

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Returns zeroed memory aligned to a huge page, to be released by munmap. Null: the system has none left.
std::byte* map_huge_pages(std::size_t bytes);

// The same in pages of the usual size.
std::byte* map_pages(std::size_t bytes);

}  // namespace pel
