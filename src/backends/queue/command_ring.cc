#include "backends/queue/command_ring.h"

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sched.h>

#include "base/cpu.h"
#include "base/processors.h"
#include "profile/kernel_span.h"
#include "profile/recorder.h"

namespace pel::queue {
namespace {

using Clock = std::chrono::steady_clock;

// A thread that waits spins first: to park and to be woken takes 10 to 25 µs. On one processor it would take
// time from the one that works.
constexpr Clock::duration kSpin = std::chrono::microseconds(50);

template <class Condition>
bool spin_until(const Condition& condition) {
  static const bool spins = available_processors() > 1;
  if (condition()) return true;
  if (!spins) return false;
  const auto end = Clock::now() + kSpin;
  do {
    for (int i = 0; i < 64; ++i, pause_spinning())
      if (condition()) return true;
    sched_yield();
  } while (Clock::now() < end);
  return condition();
}

// The address that the kernels of the CPU use.
void* host_pointer(void* address) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) & ~kAddressBit);
}

}  // namespace

CommandRing::CommandRing(int index) : slots_(std::make_unique<std::array<Slot, kSlots>>()), index_(index) {
  // Never joined: rings live as long as the process.
  std::thread([this] {
    const std::string name = "pel queue " + std::to_string(index_);
    pthread_setname_np(pthread_self(), name.c_str());
    work();
  }).detach();
}

CommandRing::Slot* CommandRing::next_slot() {
  const std::uint64_t number = added_.load(std::memory_order_relaxed);
  if (number - known_ended_ >= kSlots) [[unlikely]] {
    known_ended_ = ended_.load(std::memory_order_acquire);
    if (number - known_ended_ >= kSlots) return nullptr;
  }
  return &(*slots_)[number % kSlots];
}

void CommandRing::publish() {
  // Sequentially consistent, as are the stores of those who park: either they see the command or we see them.
  added_.store(added_.load(std::memory_order_relaxed) + 1);
  if (worker_is_parked_.load()) [[unlikely]] {
    {
      const std::lock_guard lock(mutex_);
    }
    command_added_.notify_one();
  }
}

void CommandRing::copy_arguments(Slot& slot, const KernelArgs& args) {
  const std::size_t count = std::size_t{args.output_count} + args.input_count;
  std::size_t dims = 0;
  for (std::size_t i = 0; i < count; ++i)
    dims += 2 * static_cast<std::size_t>(args.operands[i].rank) + 1;  // and the value of a number
  Operand* operands = slot.operands.data();
  PelScalar* numbers = slot.numbers.data();
  std::int64_t* next = slot.dims.data();
  if (count > kInlineOperands || args.scalar_count > kInlineNumbers || dims > kInlineDims) [[unlikely]] {
    slot.more.resize(dims * sizeof(std::int64_t) + args.scalar_count * sizeof(PelScalar) +
                     count * sizeof(Operand));
    next = reinterpret_cast<std::int64_t*>(slot.more.data());
    numbers = reinterpret_cast<PelScalar*>(next + dims);
    operands = reinterpret_cast<Operand*>(numbers + args.scalar_count);
  }
  slot.args = args;
  slot.args.scratch = host_pointer(args.scratch);
  slot.args.operands = operands;
  slot.args.scalars = numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const Operand& from = args.operands[i];
    Operand& to = operands[i];
    to = from;
    const auto rank = static_cast<std::size_t>(from.rank);
    to.sizes = next;
    bool is_empty = false;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      is_empty = is_empty || from.sizes[axis] == 0;
      *next++ = from.sizes[axis];
    }
    to.strides = next;
    for (std::size_t axis = 0; axis < rank; ++axis) *next++ = from.strides[axis];
    if (is_device_address(from.data)) {
      to.data = host_pointer(from.data);
    } else if (is_empty) {
      to.data = next;  // never read, but kernels add offsets, which a null pointer does not allow
    } else if (from.data != nullptr) {  // a number, whose tensor may be gone when the kernel runs
      std::memcpy(next, from.data, static_cast<std::size_t>(size_bytes(static_cast<DType>(from.dtype))));
      to.data = next++;
    }
  }
  for (std::uint32_t i = 0; i < args.scalar_count; ++i) numbers[i] = args.scalars[i];
}

bool CommandRing::add_launch(const DeviceLaunch& launch) {
  Slot* const slot = next_slot();
  if (slot == nullptr) return false;
  slot->kind = Slot::Kind::Launch;
  slot->kernel = launch.kernel;
  slot->op_name = launch.op_name;
  slot->site = launch.site;
  slot->origin = profile::launch_under_way();
  copy_arguments(*slot, *launch.args);
  publish();
  return true;
}

bool CommandRing::add_copy(const char* name, void* dst, const void* src, std::int64_t bytes) {
  Slot* const slot = next_slot();
  if (slot == nullptr) return false;
  slot->kind = Slot::Kind::Copy;
  slot->site = profile::thread_state.site;
  slot->origin = profile::launch_under_way();
  slot->name = name;
  slot->dst = host_pointer(dst);
  slot->src = host_pointer(const_cast<void*>(src));
  slot->bytes = bytes;
  publish();
  return true;
}

void CommandRing::add_wait(CommandRing& other, std::uint64_t count) {
  Slot* slot = next_slot();
  for (; slot == nullptr; slot = next_slot()) wait_for_space();
  slot->kind = Slot::Kind::Wait;
  slot->other = &other;
  slot->count = count;
  publish();
}

void CommandRing::wait_until_ended(std::uint64_t count) {
  if (spin_until([&] { return has_ended(count); })) return;
  std::unique_lock lock(mutex_);
  parked_waiters_.fetch_add(1);
  command_ended_.wait(lock, [&] { return ended_.load() >= count; });
  parked_waiters_.fetch_sub(1);
}

void CommandRing::wait_for_space() {
  // A quarter of the slots at a time: to wake for each one would take longer than a short kernel.
  wait_until_ended(added() - kSlots + kSlots / 4);
}

std::optional<LateError> CommandRing::take_error() {
  if (!has_error_.load(std::memory_order_acquire)) [[likely]]
    return std::nullopt;
  const std::lock_guard lock(error_mutex_);
  has_error_.store(false, std::memory_order_relaxed);
  return std::exchange(error_, std::nullopt);
}

void CommandRing::work() {
  for (std::uint64_t next = 0;; ++next) {
    const auto has_next = [&] { return added_.load(std::memory_order_acquire) > next; };
    if (!spin_until(has_next)) {
      std::unique_lock lock(mutex_);
      worker_is_parked_.store(true);
      command_added_.wait(lock, [&] { return added_.load() > next; });
      worker_is_parked_.store(false);
    }
    run((*slots_)[next % kSlots]);
    ended_.store(next + 1);
    if (parked_waiters_.load() != 0) [[unlikely]] {
      {
        const std::lock_guard lock(mutex_);
      }
      command_ended_.notify_all();
    }
  }
}

void CommandRing::run_kernel(const Slot& slot) {
  Stream stream(kQueue, index_);
  if (profile::settings().session() == 0) [[likely]]
    return slot.kernel->run(stream, slot.args);
  profile::run_on_device(slot.op_name, *slot.kernel, stream, slot.args, slot.origin, slot.site);
}

void CommandRing::run_copy(const Slot& slot) const {
  const std::uint64_t begin = profile::settings().session() == 0 ? 0 : profile::ticks();
  std::memcpy(slot.dst, slot.src, static_cast<std::size_t>(slot.bytes));
  if (begin != 0) [[unlikely]]
    profile::write_copy(Stream(kQueue, index_), slot.name, slot.bytes, begin, slot.origin, slot.site);
}

void CommandRing::run(Slot& slot) {
  switch (slot.kind) {
    case Slot::Kind::Launch:
      try {
        run_kernel(slot);
      } catch (...) {
        const std::lock_guard lock(error_mutex_);
        if (!error_) error_ = LateError{std::current_exception(), slot.op_name, slot.site};
        has_error_.store(true, std::memory_order_release);
      }
      if (!slot.more.empty()) slot.more.clear();
      break;
    case Slot::Kind::Copy:
      run_copy(slot);
      break;
    case Slot::Kind::Wait:
      slot.other->wait_until_ended(slot.count);
      break;
  }
}

}  // namespace pel::queue
