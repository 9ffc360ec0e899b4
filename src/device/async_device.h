// What an asynchronous device must do: 26 functions, of which five are for kernels from text and two for
// replays of plans. All else is shared code above it: caching of memory, order between streams, waits, late
// errors, staging and statistics.
//
// Shared code holds one lock while it calls a device, except for wait(EventHandle) and pin, so that a device
// needs no lock for its calls. Addresses that a device returns cannot be read by the host: see kAddressBit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "pellucid/array_view.h"
#include "pellucid/device.h"
#include "pellucid/extend/kernel.h"

#include "base/cpu.h"

namespace pel {

// Asked once; devices() returns them.
struct DeviceFacts {
  std::string name;
  DeviceType kernels = DeviceType::Cpu;  // whose kernel lists run here
  // Whose kernels run a call that these do not take, on copies of its operands in host memory.
  DeviceType fallback = DeviceType::Cpu;
  std::int64_t memory_bytes = 0, max_segment_bytes = 0;
  int processors = 0;
  std::string driver{};  // what runs kernels, with its version
  bool is_cpu = true;  // an item runs on a core with vectors: kernels from text have several elements an item
  bool has_f64 = true;       // kernels from text may compute in f64
  bool has_replays = false;  // a run of a plan may be one command
  std::string refusal{};     // why no kernel may run here; empty: they may
};

// Every address on a device has this bit, and no address of the host. So a forgotten wait is a fault, on
// every run, without a mapping of its own.
inline constexpr std::uintptr_t kAddressBit = std::uintptr_t{1} << kUnmappedBit;
inline bool is_device_address(const void* address) {
  return (reinterpret_cast<std::uintptr_t>(address) & kAddressBit) != 0;
}

enum class StreamHandle : std::uint64_t {};
enum class EventHandle : std::uint64_t {};  // a point in a stream

class PreparedKernel;
struct PlanReplay;
struct ReplayRun;

// A kernel with its arguments. What `args` points to may be gone when the kernel runs: the device copies it.
struct DeviceLaunch {
  const Kernel* kernel;
  const KernelArgs* args;  // numbers on the host are operands with an address of the host, of up to 8 bytes
  const char* op_name;
  Site site;  // line 0: not known
  // Of a step of a plan, whose operands and numbers are the same in each run, but for their addresses. The
  // first launch prepares it. Null: there is none.
  PreparedKernel* prepared = nullptr;
  ReplayRun* run = nullptr;  // of a step of a plan that may be replayed
};

// The first error of a stream since the last one was taken.
struct LateError {
  std::exception_ptr error;
  const char* op_name;
  Site site;
};

enum class ModuleHandle : std::uint64_t {};
enum class FunctionHandle : std::uint64_t {};

// Kernels as text, in the device's dialect.
struct DeviceSource {
  std::string name;  // of the module, for errors
  std::string text;
};
struct LaunchShape {
  std::array<std::uint64_t, 3> items{1, 1, 1};  // in total, multiples of those of a group
  std::array<std::uint32_t, 3> group{1, 1, 1};
};
// What OpenCL and CUDA can both pass: addresses on the device, then 64-bit numbers, as one struct by value.
// The first numbers, one for each address and one more, are the device's: see codegen/c_like/loop_text.h.
struct LaunchArgs {
  ArrayView<std::byte*> addresses;
  std::int64_t* numbers;
  std::size_t number_count;
  bool may_report;   // an error, by pel_report
  bool is_repeated;  // the function is always launched with these numbers, which only the device changes
};

class AsyncDevice {
 public:
  AsyncDevice() = default;
  virtual ~AsyncDevice() = default;
  AsyncDevice(const AsyncDevice&) = delete;
  AsyncDevice& operator=(const AsyncDevice&) = delete;

  virtual const DeviceFacts& facts() const = 0;

  // ---- Memory
  // A segment, aligned to 4 KiB; null if the device has no more.
  virtual std::byte* reserve(std::int64_t bytes) = 0;
  virtual void release(std::byte* segment, std::int64_t bytes) noexcept = 0;  // no kernel uses it any more
  virtual void* host_address(std::byte* address) const = 0;  // null: the host cannot read this memory at all
  virtual void* pin(std::int64_t bytes) = 0;  // memory of the host for copies; null if there is none
  virtual void unpin(void* memory, std::int64_t bytes) noexcept = 0;

  // ---- Order
  virtual StreamHandle make_stream(int index) = 0;
  virtual EventHandle record(StreamHandle stream) = 0;            // the end of all that was queued so far
  virtual void wait(StreamHandle stream, EventHandle event) = 0;  // the stream waits
  virtual bool has_passed(EventHandle event) = 0;
  virtual void wait(EventHandle event) = 0;               // the host waits; called by wait_for (sync.h) alone
  virtual void drop(EventHandle event) noexcept = 0;      // it is not used any more
  virtual std::uint64_t queued(StreamHandle stream) = 0;  // commands that have not ended

  // ---- Commands
  // False: the queue is full and the command was not added. wait_for_space() returns when there is space.
  virtual bool launch(StreamHandle stream, const DeviceLaunch& launch) = 0;
  virtual bool copy_in(StreamHandle stream, std::byte* dst, const void* pinned, std::int64_t bytes) = 0;
  virtual bool copy_out(StreamHandle stream, void* pinned, const std::byte* src, std::int64_t bytes) = 0;
  virtual void wait_for_space(StreamHandle stream) = 0;
  virtual std::optional<LateError> take_error(StreamHandle stream) = 0;
  // Writes the records of commands whose times the device tells when they have ended. All have.
  virtual void write_times() {}

  // ---- Replays of plans (plan_replay.h), for a device that has them
  // The run has no more launches: those that were held back are queued.
  virtual void end_run(StreamHandle, ReplayRun&) {}
  virtual void drop(PlanReplay&) noexcept {}  // what was captured has ended

  // ---- Kernels from text, for a device whose Kernel::run launches them (launch_target). They throw here:
  // the device has none.
  virtual ModuleHandle build(const DeviceSource& source);  // a DeviceError has the compiler's log
  virtual FunctionHandle function(ModuleHandle module, const char* name);
  // The same function with arguments of its own, which stay set from one launch to the next.
  virtual FunctionHandle copy(FunctionHandle function);
  virtual void drop(FunctionHandle copy) noexcept;
  virtual void launch(StreamHandle stream, FunctionHandle function, const LaunchShape& shape,
                      const LaunchArgs& args);
};

// The device and stream of the DeviceLaunch that this thread hands over, while its Kernel::run runs.
struct LaunchTarget {
  AsyncDevice* device = nullptr;
  StreamHandle stream{};
  PreparedKernel* prepares = nullptr;  // it gets the launches, and the device does not
};
LaunchTarget& launch_target();

}  // namespace pel
