// How events lie in memory: words of 8 bytes, a header first.
#pragma once

#include <cstdint>

#include "pellucid/profile.h"

namespace pel::profile {

inline constexpr std::uint32_t kMostRefusals = 6;
inline constexpr std::size_t kMostWords = 512;  // of one record; shapes that would not fit are left out

struct Header {
  std::uint8_t kind;
  std::uint8_t flags;
  std::uint8_t depth;  // 255: at least so much
  std::uint8_t shapes;
  std::uint8_t refusals;
  std::uint8_t outputs;
  std::uint16_t words;
};
static_assert(sizeof(Header) == 8);
inline constexpr std::uint8_t kSync = 1, kComposite = 2, kOutermost = 4;

struct SpanRecord {
  Header header;
  std::uint64_t begin, end;
  const char* name;
  Site site;
  std::uint64_t id, sequence;
};
struct KernelRecord {
  Header header;
  std::uint64_t begin, end;
  const char* name;
  Site site;
  std::uint64_t op_id;
  std::uint64_t bytes_read, bytes_written, flops;
};  // then refusals, two words each
struct MemoryRecord {
  Header header;
  std::uint64_t at;
  std::int64_t bytes, bytes_in_use;
};
template <class Record>
inline constexpr std::size_t kWordsOf = sizeof(Record) / sizeof(std::uint64_t);
static_assert(sizeof(Site) == 8, "a site is one pointer to data that lives as long as the process");

// Behind a record stand its shapes. A word with dtype, rank and width; then a word an axis, size and stride
// of 32 bits each, or two where one of them does not fit.
struct ShapeHeader {
  std::uint8_t dtype;
  std::uint8_t is_wide;
  std::uint16_t reserved;
  std::uint32_t rank;
};
static_assert(sizeof(ShapeHeader) == 8);

// Whether one more shape fits into a record that begins at `to`; 255 of them have a word each at least.
inline bool has_room(const std::uint64_t* to, const std::uint64_t* next, std::size_t rank) {
  return static_cast<std::size_t>(next - to) + 1 + 2 * rank <= kMostWords;
}

inline std::uint64_t* write_shape(std::uint64_t* to, std::uint8_t dtype, std::size_t rank,
                                  const std::int64_t* sizes, const std::int64_t* strides) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto size = static_cast<std::uint64_t>(sizes[i]), stride = static_cast<std::uint64_t>(strides[i]);
    all |= size | stride;  // a negative stride has high bits too
    to[1 + i] = size | stride << 32;
  }
  const bool is_wide = all >> 32 != 0;
  *to = static_cast<std::uint64_t>(rank) << 32 | std::uint64_t{is_wide} << 8 | dtype;
  if (!is_wide) [[likely]]
    return to + 1 + rank;
  for (std::size_t i = 0; i < rank; ++i) {
    to[1 + 2 * i] = static_cast<std::uint64_t>(sizes[i]);
    to[2 + 2 * i] = static_cast<std::uint64_t>(strides[i]);
  }
  return to + 1 + 2 * rank;
}

}  // namespace pel::profile
