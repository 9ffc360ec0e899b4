#include "base/huge_pages.h"

#include <cstdint>

#include <sys/mman.h>

namespace pel {

std::byte* map_pages(std::size_t bytes) {
  void* begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return begin == MAP_FAILED ? nullptr : static_cast<std::byte*>(begin);
}

std::byte* map_huge_pages(std::size_t bytes) {
  constexpr std::size_t kSlack = kHugePageBytes;
  std::byte* const begin = map_pages(bytes + kSlack);
  if (begin == nullptr) return nullptr;
  auto* aligned =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(begin) + kSlack - 1) / kSlack * kSlack);
  const auto before = static_cast<std::size_t>(aligned - begin);
  if (before != 0) munmap(begin, before);
  if (before != kSlack) munmap(aligned + bytes, kSlack - before);
  madvise(aligned, bytes, MADV_HUGEPAGE);  // advice: refused on a system without huge pages
  return aligned;
}

}  // namespace pel
