#include "distributed/shared_memory.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/processors.h"
#include "distributed/shared_segment.h"

namespace pel::dist {
namespace {

using Clock = std::chrono::steady_clock;

// A waiting rank spins for about 50 µs, which is longer than a small collective takes; then it sleeps, and
// looks every 4 ms whether those that it waits for are alive. Where ranks share processors, spinning would
// keep the others from coming.
constexpr int kSpins = 2000, kSpinsShared = 50;
constexpr long kSleepNs = 4'000'000;

void sleep_on(SharedCounter& counter, std::uint32_t seen) {
  counter.sleepers.fetch_add(1);
  const timespec limit{0, kSleepNs};
  syscall(SYS_futex, &counter.value, FUTEX_WAIT, seen, &limit, nullptr, 0);
  counter.sleepers.fetch_sub(1);
}
// Sequentially consistent, as in sleep_on: either the sleeper sees the new value or it is seen to sleep.
void advance(SharedCounter& counter, std::uint32_t to) {
  counter.value.store(to);
  if (counter.sleepers.load() != 0)
    syscall(SYS_futex, &counter.value, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}
bool has_reached(std::uint32_t value, std::uint32_t wanted) {
  return static_cast<std::int32_t>(value - wanted) >= 0;
}

class SharedMemory final : public Engine {
 public:
  SharedMemory(std::string_view job, int rank, int size, double timeout_seconds)
      : segment_(job, rank, size, timeout_seconds),
        rank_(rank),
        size_(size),
        spins_(size > available_processors() ? kSpinsShared : kSpins),
        timeout_(timeout_seconds),
        parts_(static_cast<std::size_t>(size)) {}

  std::string_view name() const override { return "shm"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::size_t segment_bytes() const override { return SharedSegment::kSlotBytes; }
  std::byte* outgoing() override { return segment_.slot(slot(), rank_); }
  ArrayView<Part> all_gather(const Announcement& mine, std::size_t) override { return meet(mine, 0); }
  ArrayView<Part> all_to_all(const Announcement& mine, std::size_t part_bytes) override {
    return meet(mine, static_cast<std::size_t>(rank_) * part_bytes);
  }

  std::size_t piece_bytes() const override { return SharedSegment::kPieceBytes; }
  std::byte* outgoing_to(int rank) override {
    Mailbox& box = segment_.mailbox(rank_, rank);
    const std::uint32_t number = box.posted.value.load(std::memory_order_relaxed);
    if (number == 0) segment_.reserve_pieces(rank_, rank);
    wait_for(box.taken, number - 1, rank);  // the piece before the last one
    return segment_.piece(rank_, rank, static_cast<int>(number & 1));
  }
  void post(int rank, const Announcement& mine) override {
    Mailbox& box = segment_.mailbox(rank_, rank);
    const std::uint32_t number = box.posted.value.load(std::memory_order_relaxed);
    box.announcements[number & 1] = mine;
    advance(box.posted, number + 1);
  }
  Part incoming(int rank) override {
    Mailbox& box = segment_.mailbox(rank, rank_);
    const std::uint32_t number = box.taken.value.load(std::memory_order_relaxed);
    wait_for(box.posted, number + 1, rank);
    return {&box.announcements[number & 1], segment_.piece(rank, rank_, static_cast<int>(number & 1))};
  }
  void taken(int rank) override {
    Mailbox& box = segment_.mailbox(rank, rank_);
    advance(box.taken, box.taken.value.load(std::memory_order_relaxed) + 1);
  }

  void give_up(std::string_view text) override {
    SharedSegment::Header& header = segment_.header();
    std::uint32_t none = 0;
    if (!header.failure.compare_exchange_strong(none, 1)) return;
    const std::size_t length = std::min(text.size(), SharedSegment::kTextBytes - 1);
    std::memcpy(header.failure_text, text.data(), length);
    header.failure_text[length] = '\0';
    header.failure.store(2);
  }

 private:
  int slot() const { return static_cast<int>(calls_ & 1); }

  ArrayView<Part> meet(const Announcement& mine, std::size_t offset) {
    const int slot = this->slot();
    segment_.announcement(slot, rank_) = mine;
    ++calls_;
    advance(segment_.arrived(rank_), calls_);
    for (int r = 0; r < size_; ++r) {
      if (r != rank_) wait_for(segment_.arrived(r), calls_);
      parts_[static_cast<std::size_t>(r)] = {&segment_.announcement(slot, r),
                                             segment_.slot(slot, r) + offset};
    }
    return parts_;
  }

  // Whether this rank still waits for `rank`: for all that have not come to this call, or for the one `of`.
  bool waits_for(int rank, SharedCounter& counter, std::uint32_t wanted, int of) {
    if (rank == rank_ || (of >= 0 && rank != of)) return false;
    SharedCounter& its = of >= 0 ? counter : segment_.arrived(rank);
    return !has_reached(its.value.load(std::memory_order_acquire), wanted);
  }

  void wait_for(SharedCounter& counter, std::uint32_t wanted, int of = -1) {
    for (int i = 0; i < spins_; ++i) {
      if (has_reached(counter.value.load(std::memory_order_acquire), wanted)) return;
      pause_spinning();
    }
    const Clock::time_point began = Clock::now();
    for (;;) {
      const std::uint32_t seen = counter.value.load();
      if (has_reached(seen, wanted)) return;
      sleep_on(counter, seen);
      if (has_reached(counter.value.load(std::memory_order_acquire), wanted)) return;
      look_after(counter, wanted, of, began);
    }
  }
  void look_after(SharedCounter& counter, std::uint32_t wanted, int of, Clock::time_point began) {
    using Why = LostRanks::Why;
    if (segment_.header().failure.load() == 2) throw GroupGivenUp(segment_.header().failure_text);
    const bool is_late = Clock::now() - began > std::chrono::duration<double>(timeout_);
    std::vector<int> lost[3];  // by reason
    for (int r = 0; r < size_; ++r) {
      if (!waits_for(r, counter, wanted, of)) continue;
      const bool has_left = segment_.left(r).load(std::memory_order_acquire) != 0;
      const bool is_alive = segment_.is_alive(r);
      // A rank that comes and ends at once has come.
      if (!waits_for(r, counter, wanted, of)) continue;
      if (has_left || !is_alive || is_late)
        lost[static_cast<int>(has_left ? Why::Left : is_alive ? Why::Late : Why::Died)].push_back(r);
    }
    for (const Why why : {Why::Died, Why::Left, Why::Late}) {
      if (auto& ranks = lost[static_cast<int>(why)]; !ranks.empty()) throw LostRanks(why, std::move(ranks));
    }
  }

  SharedSegment segment_;
  int rank_, size_, spins_;
  double timeout_;
  std::uint32_t calls_ = 1;  // that this rank has come to; the first one is the start
  std::vector<Part> parts_;
};

}  // namespace

std::unique_ptr<Engine> make_shared_memory_engine(std::string_view job, int rank, int size,
                                                  double timeout_seconds) {
  return std::make_unique<SharedMemory>(job, rank, size, timeout_seconds);
}

}  // namespace pel::dist
