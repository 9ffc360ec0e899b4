// The device that holds a tensor and runs its kernels; streams, waits and statistics of asynchronous devices.
//
// On an asynchronous device a call returns when its kernels are queued. Kernels of one stream run in the
// order of their calls. Kernels of different streams are ordered where they use the same memory, without any
// call by the user. docs/devices.md says which calls wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pellucid/api.h"

namespace pel {

// Meta holds sizes without data: shape rules run on it and kernels do not. Queue is the CPU as an
// asynchronous device: its kernels run on a thread of their own, one after the other.
enum class DeviceType : std::uint8_t { Cpu = 0, Meta = 1, OpenCl = 2, Cuda = 3, Queue = 4 };
inline constexpr int kDeviceTypeCount = 5;

struct Device {
  DeviceType type = DeviceType::Cpu;
  std::uint8_t index = 0;
  constexpr bool operator==(const Device&) const = default;
};
inline constexpr Device kCpu{DeviceType::Cpu, 0};
inline constexpr Device kMeta{DeviceType::Meta, 0};
inline constexpr Device kQueue{DeviceType::Queue, 0};

constexpr bool is_asynchronous(Device device) { return device.type > DeviceType::Meta; }

PEL_API std::string to_string(Device device);  // "cpu", "queue", "cuda:1"

// An ordered queue of kernels on one device: streams 0 to kMaxStreams - 1 of an asynchronous device exist
// from their first use on. On the CPU a launch returns when the kernel has run, and there is only stream 0.
inline constexpr int kMaxStreams = 8;
class PEL_API Stream {
 public:
  constexpr explicit Stream(Device device, int index = 0)
      : device_(device), index_(static_cast<std::uint8_t>(index)) {}
  constexpr Device device() const { return device_; }
  constexpr int index() const { return index_; }
  constexpr bool operator==(const Stream&) const = default;

 private:
  Device device_;
  std::uint8_t index_;
};

// The stream to which calls of this thread queue kernels. At first it is stream 0 on all threads.
PEL_API Stream current_stream(Device device);
// Makes a stream the current one of its device for this thread, while in scope.
class PEL_API StreamScope {
 public:
  explicit StreamScope(Stream stream, Site site = Site::current());
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream before_;
};

// Waits until all kernels that were queued before have ended, and throws the error of the first one that
// failed. On the CPU there is nothing to wait for.
PEL_API void synchronize(Device device, Site site = Site::current());
PEL_API void synchronize(Stream stream, Site site = Site::current());

// Calls of this thread that would wait for a device throw a SyncError instead, while in scope. A call that
// finds the queue or the staging memory full still waits: how full they are depends on time.
class PEL_API ForbidSync {
 public:
  explicit ForbidSync(Site site = Site::current());
  ~ForbidSync();
  ForbidSync(const ForbidSync&) = delete;
  ForbidSync& operator=(const ForbidSync&) = delete;

 private:
  Site before_;
};

struct DeviceInfo {
  Device device;
  std::string name;
  bool is_asynchronous = false;
  std::int64_t memory_bytes = 0;
  int processors = 0;
  std::string refusal;  // why the device cannot be used; empty if it can
};
// All devices that the library was built for, the CPU first.
PEL_API std::vector<DeviceInfo> devices();

// What an asynchronous device has done since the start or reset_device_stats. Zeros for the CPU.
struct DeviceStats {
  std::uint64_t launches = 0;
  std::uint64_t copies_in = 0, copied_in_bytes = 0;    // from the host
  std::uint64_t copies_out = 0, copied_out_bytes = 0;  // to the host
  std::uint64_t stream_waits = 0;                      // of a stream for another one, on the device
  std::uint64_t waits = 0, waited_ns = 0;              // of the host
  std::uint64_t late_errors = 0;                       // kernels that failed after their call had returned
};
PEL_API DeviceStats device_stats(Device device);

// Waits of the host with the same reason and the same line of the user's.
struct DeviceWait {
  std::string why;
  Site site{};  // line 0: not known
  std::uint64_t count = 0, waited_ns = 0;
  std::uint64_t queued = 0;  // launches that had not ended when the waits began, in total
};
// Returns those that took the most time first.
PEL_API std::vector<DeviceWait> device_waits(Device device);
PEL_API void reset_device_stats(Device device);

}  // namespace pel
