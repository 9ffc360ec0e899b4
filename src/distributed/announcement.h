// What each rank says before it gives bytes: the call that it makes. Ranks that say different things find out
// before they use a byte of each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/dtype.h"

namespace pel::dist {

enum class Collective : std::uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
  AllToAll,
  Send,
  Recv,
};
std::string_view name(Collective op);

struct Announcement {
  std::uint64_t number = 0;      // of the call in its group, from 1 on
  std::uint64_t line_hash = 0;   // of the call site; other ranks may call from another line
  std::uint64_t sizes_hash = 0;  // of the sizes in order
  std::uint64_t elements = 0;
  std::uint64_t segment = 0;  // of the message, from 0 on
  std::int32_t root = -1;     // of a broadcast
  Collective op{};
  std::uint8_t dtype = 0;
  std::uint8_t axes = 0;
  std::uint8_t reserved[17] = {};
  // The same call, as far as ranks must agree.
  bool matches(const Announcement& other) const {
    return number == other.number && sizes_hash == other.sizes_hash && elements == other.elements &&
           segment == other.segment && root == other.root && op == other.op && dtype == other.dtype &&
           axes == other.axes;
  }
};
static_assert(sizeof(Announcement) == 64);

// A call in words, for errors and for the list of the last calls.
struct CallText {
  std::string call;  // "all_reduce f32[2000]"
  std::string line;  // "train.cc:31"; "an unknown line"
};
std::string text_of(Collective op, DType dtype, const std::vector<std::int64_t>& sizes, int peer);
std::string ordinal(std::uint64_t number);  // "1st", "2nd", "17th"

}  // namespace pel::dist
