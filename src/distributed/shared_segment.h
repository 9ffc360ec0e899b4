// The memory that the ranks of one group share, from its creation to the end of the last rank.
//
// Rank 0 creates it under a name; the others find it by that name, which is removed as soon as all have come:
// nothing is left when they end, whichever way. Each rank holds a lock on one byte of the file for as long as
// it lives. The kernel drops the lock of a process that is killed, so that others can tell.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/announcement.h"

namespace pel::dist {

// A counter that others wait for. Alone in its pair of cache lines.
struct alignas(128) SharedCounter {
  std::atomic<std::uint32_t> value;
  std::atomic<std::uint32_t> sleepers;
};

// From one rank to another: two pieces, used in turn.
struct Mailbox {
  SharedCounter posted, taken;
  Announcement announcements[2];
};

class SharedSegment {
 public:
  static constexpr std::size_t kSlotBytes = std::size_t{1} << 19;   // of one rank in one call
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 17;  // of one message between two ranks
  static constexpr std::size_t kTextBytes = 2048;

  struct Header {
    std::atomic<std::uint32_t> ready_for;  // ranks, once rank 0 has mapped it
    std::atomic<std::uint32_t> failure;    // 1: its text is being written; 2: it is there
    char failure_text[kTextBytes];
  };

  SharedSegment(std::string_view job, int rank, int size, double timeout_seconds);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  Header& header() { return *reinterpret_cast<Header*>(base_); }
  SharedCounter& arrived(int rank) { return counters_[rank]; }
  std::atomic<std::uint32_t>& left(int rank) { return counters_[size_ + rank].value; }
  Announcement& announcement(int slot, int rank) { return announcements_[slot * size_ + rank]; }
  std::byte* slot(int slot, int rank) {
    return slots_ + static_cast<std::size_t>(slot * size_ + rank) * kSlotBytes;
  }
  Mailbox& mailbox(int from, int to) { return mailboxes_[from * size_ + to]; }
  std::byte* piece(int from, int to, int slot) {
    return pieces_ + static_cast<std::size_t>(2 * (from * size_ + to) + slot) * kPieceBytes;
  }
  // Takes the memory of the pieces from one rank to another, before the first of them is written.
  void reserve_pieces(int from, int to);
  bool is_alive(int rank) const;  // of another rank

 private:
  bool create();
  bool open();
  void map();
  void reserve(std::size_t offset, std::size_t bytes);
  bool holds(int byte) const;  // some other process holds the lock
  bool lock_own(int byte);
  std::vector<int> missing();

  std::string name_;
  int rank_, size_;
  int file_ = -1;
  std::size_t bytes_ = 0;
  std::byte* base_ = nullptr;
  SharedCounter* counters_ = nullptr;
  Announcement* announcements_ = nullptr;
  Mailbox* mailboxes_ = nullptr;
  std::byte *slots_ = nullptr, *pieces_ = nullptr;
};

}  // namespace pel::dist
