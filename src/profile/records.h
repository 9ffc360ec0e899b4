// The layout of records in memory: words of 8 bytes, beginning with a header.
#pragma once

#include <cstdint>

#include "pellucid/profile.h"

namespace pel::profile {

inline constexpr std::uint32_t kMaxRefusals = 6;
inline constexpr std::size_t kMaxWords = 512;  // of one record; shapes that do not fit are left out
// After the shapes: bytes read, bytes written, FLOPs, a DeviceSpot, a CollectiveNote.
inline constexpr std::size_t kMaxTrailingWords = 9;

struct Header {
  std::uint8_t kind;
  std::uint8_t flags;
  std::uint8_t depth;  // 255: 255 or more
  std::uint8_t shapes;
  std::uint8_t refusals;
  std::uint8_t outputs;
  std::uint16_t words;
};
static_assert(sizeof(Header) == 8);
inline constexpr std::uint8_t kSync = 1, kComposite = 2, kOutermost = 4;
// A kernel that ends with its op and has the same arguments: one record for both.
inline constexpr std::uint8_t kWithOp = 8;
inline constexpr std::uint8_t kHasBytes = 16, kHasFlops = 32, kHasSpot = 64, kHasCollective = 128;

struct SpanRecord {
  Header header;
  std::uint64_t begin, end;
  const char* name;
  Site site;
  std::uint64_t id, sequence;
};
// An op and its kernel share one record where possible: the cost of a record is the memory that it touches, a
// tenth of a nanosecond per byte of a new page.
struct KernelRecord {
  Header header;
  std::uint64_t op_begin;  // with kWithOp
  std::uint64_t begin, end;
  const char *name, *op_name;
  Site site;
  std::uint64_t op_id;
};  // then refusals, two words each; shapes; and, as flags say, bytes read and written, FLOPs, a DeviceSpot,
    // a CollectiveNote
// Where a command of an asynchronous device ran or was queued to.
struct DeviceSpot {
  std::uint64_t correlation;  // of its launch and itself; 0: no launch was recorded
  std::uint32_t thread;       // that queued it
  std::uint8_t device_type, device_index;
  std::int8_t stream;  // -1: several
  std::uint8_t reserved;
};
static_assert(sizeof(DeviceSpot) == 16);
// A Launch, a Sync or a Copy.
struct DeviceRecord {
  Header header;
  std::uint64_t begin, end;
  const char* name;
  Site site;
  std::uint64_t op_id;
  DeviceSpot spot;
  std::uint64_t amount;  // commands that were queued; bytes of a Copy
};  // then refusals of a Launch
// Of a parallel loop; written by the thread that ran it.
struct PieceRecord {
  Header header;
  std::uint64_t begin, end;
  const char* name;  // of the kernel
  Site site;
  std::int64_t first_element, end_element;
  std::uint64_t caller_thread;
};
struct MemoryRecord {
  Header header;
  std::uint64_t at;
  std::int64_t bytes, bytes_in_use;
};
template <class Record>
inline constexpr std::size_t kWordsOf = sizeof(Record) / sizeof(std::uint64_t);
static_assert(sizeof(Site) == 8, "a site is one pointer to data that lives as long as the process");

// The shapes follow the record: a word with dtype, rank and form, then the numbers. Strides of row-major
// tensors follow from the sizes. Bytes follow from shapes too and are computed by the reader.
enum class ShapeForm : std::uint8_t {
  RowMajor,  // sizes of 32 bits
  Strided,   // size and stride of 32 bits, a word an axis
  Wide,      // two words an axis
};
struct ShapeHeader {
  std::uint8_t dtype;
  ShapeForm form;
  std::uint16_t rank;
  std::uint32_t reserved;
};
static_assert(sizeof(ShapeHeader) == 8);

// Whether one more shape fits into a record that begins at `to` and has `count` shapes.
inline bool shape_fits(const std::uint64_t* to, const std::uint64_t* next, std::size_t count,
                       std::size_t rank) {
  return static_cast<std::size_t>(next - to) + 1 + 2 * rank + kMaxTrailingWords <= kMaxWords && count < 255;
}

inline std::uint64_t* write_shape(std::uint64_t* to, std::uint8_t dtype, bool is_row_major, std::size_t rank,
                                  const std::int64_t* sizes, const std::int64_t* strides) {
  const auto write_header = [&](ShapeForm form) {
    *to = static_cast<std::uint64_t>(rank) << 16 | static_cast<std::uint64_t>(form) << 8 | dtype;
  };
  std::uint64_t all = 0;
  if (is_row_major) {
    std::uint64_t* next = to + 1;
    std::size_t i = 0;
    for (; i + 2 <= rank; i += 2) {
      const auto first = static_cast<std::uint64_t>(sizes[i]),
                 second = static_cast<std::uint64_t>(sizes[i + 1]);
      all |= first | second;
      *next++ = first | second << 32;
    }
    if (i < rank) {
      all |= static_cast<std::uint64_t>(sizes[i]);
      *next++ = static_cast<std::uint64_t>(sizes[i]);
    }
    write_header(ShapeForm::RowMajor);
    if (all >> 32 == 0) [[likely]]
      return next;
  } else {
    for (std::size_t i = 0; i < rank; ++i) {
      const auto size = static_cast<std::uint64_t>(sizes[i]), stride = static_cast<std::uint64_t>(strides[i]);
      all |= size | stride;  // a negative stride has high bits too
      to[1 + i] = size | stride << 32;
    }
    write_header(ShapeForm::Strided);
    if (all >> 32 == 0) [[likely]]
      return to + 1 + rank;
  }
  write_header(ShapeForm::Wide);
  for (std::size_t i = 0; i < rank; ++i) {
    to[1 + 2 * i] = static_cast<std::uint64_t>(sizes[i]);
    to[2 + 2 * i] = static_cast<std::uint64_t>(strides[i]);
  }
  return to + 1 + 2 * rank;
}

// Returns the number of elements addressed; a broadcast element counts once.
inline std::uint64_t elements_addressed(std::size_t rank, const std::int64_t* sizes,
                                        const std::int64_t* strides) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    if (strides[i] != 0 || sizes[i] == 0) count *= sizes[i];
  }
  return static_cast<std::uint64_t>(count);
}

}  // namespace pel::profile
