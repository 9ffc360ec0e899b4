// An engine moves bytes between the ranks of one group, and nothing else: it neither adds nor converts. All
// ranks call the same functions in the same order; announcements travel with the bytes, so that ranks that do
// not are found out.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/array_view.h"

#include "distributed/announcement.h"

namespace pel::dist {

// Ranks that others wait for in vain.
struct LostRanks : std::exception {
  enum class Why : std::uint8_t {
    Died,  // their processes are gone
    Left,  // they ended normally
    Late,  // they did not come before the timeout
  };
  LostRanks(Why reason, std::vector<int> lost) : why(reason), ranks(std::move(lost)) {}
  Why why;
  std::vector<int> ranks;
};
// Another rank has given up the group, and said why.
struct GroupGivenUp : std::exception {
  explicit GroupGivenUp(std::string reason) : text(std::move(reason)) {}
  std::string text;
};

// What a rank gave in one call. Valid until the next call.
struct Part {
  const Announcement* announcement;
  const std::byte* data;
};

class Engine {
 public:
  Engine() = default;
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  virtual std::string_view name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Calls of all ranks. The bytes to give are written to outgoing(), which has segment_bytes(), before the
  // call. Throws LostRanks or GroupGivenUp.
  virtual std::size_t segment_bytes() const = 0;
  virtual std::byte* outgoing() = 0;
  // Returns what each rank gave, by rank. Ranks may give different numbers of bytes.
  virtual ArrayView<Part> all_gather(const Announcement& mine, std::size_t bytes) = 0;
  // Of `part_bytes` for each rank, by rank, returns those for this one.
  virtual ArrayView<Part> all_to_all(const Announcement& mine, std::size_t part_bytes) = 0;

  // Between two ranks: in pieces of at most piece_bytes(), in order. outgoing_to() waits until the receiver
  // has taken earlier ones; incoming() waits for a piece, which is valid until taken().
  virtual std::size_t piece_bytes() const = 0;
  virtual std::byte* outgoing_to(int rank) = 0;
  virtual void post(int rank, const Announcement& mine) = 0;
  virtual Part incoming(int rank) = 0;
  virtual void taken(int rank) = 0;

  // Tells the other ranks that the group has failed, and why. The first text stays.
  virtual void give_up(std::string_view text) = 0;
};

}  // namespace pel::dist
