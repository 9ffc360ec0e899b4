// The groups of this process.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/distributed.h"

#include "distributed/announcement.h"
#include "distributed/engine.h"

namespace pel::dist {

// A call of a group that this rank made, for errors and for the list of the last ones.
struct PastCall {
  std::uint64_t number = 0;  // in the group; of a send or recv among those between the two ranks
  Collective op{};
  DType dtype{};
  std::vector<std::int64_t> sizes;
  int peer = -1;  // of a send, a recv or a broadcast
  Site site{};
  std::uint64_t begin_ns = 0, end_ns = 0;  // end 0: it has not ended
  bool lines_differ = false;               // another rank called it from another line

  std::string call() const { return text_of(op, dtype, sizes, peer); }  // "all_reduce f32[2000]"
  std::string line() const;                                             // "train.cc:31"
};

struct Group::State {
  std::string name;
  const char* interned_name = "";
  int number = 0;  // of the group in this process, the same on all ranks
  int rank = 0;    // -1: this process is not in it
  int size = 1;
  std::unique_ptr<Engine> engine;  // null in a group of one, and where this process is not in it

  std::mutex mutex;                           // held by the call under way
  std::uint64_t calls = 0;                    // that all ranks take part in
  std::vector<std::uint64_t> sent, received;  // messages, by rank
  std::string failure;                        // empty: the group works

  static constexpr std::size_t kRecent = 64;
  std::array<PastCall, kRecent> recent;
  std::uint64_t noted = 0;  // calls in `recent`, in total
  std::vector<std::string> recent_lines() const;
};

// By name. Throws a ValueError if there is none, and a CommunicationError for "world" if a launcher has
// started this process and init() was not called.
Group::State& group_named(std::string_view name);
Group::State& group_numbered(std::int64_t number);

}  // namespace pel::dist
