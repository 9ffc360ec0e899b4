// In this order: streams and events, facts, commands, errors, kernels.
//
// Memory. An address is the driver's with kAddressBit. Kernels get the driver's addresses, so that the
// offsets of their struct are 0, but for where a part of a launch begins (codegen/c_like/dialect_cuda.cc).
#include "backends/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>

#include "pellucid/cache.h"
#include "pellucid/cuda.h"

#include "backends/cuda/driver.h"
#include "backends/cuda/nvrtc.h"
#include "backends/grid/kernels.h"
#include "backends/grid/reports.h"
#include "base/check.h"
#include "base/small_vector.h"
#include "codegen/cache/kernel_cache.h"
#include "dispatch/registry.h"

namespace pel::cuda {
namespace {

// What is said wherever the device is listed, until a GPU has run it.
constexpr std::string_view kUnproven = "compiled; run on a test driver, not on hardware";

// The architecture that kernels are compiled for and audited with; later ones run its PTX.
constexpr const char* kArchitecture = "compute_80";
constexpr int kMinCapability = 80;

std::byte* to_device_address(Address address) { return reinterpret_cast<std::byte*>(kAddressBit | address); }
Address from_device_address(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address) & ~kAddressBit;
}

// A point in a stream: the command after `count` others.
struct Point {
  Event_ event = nullptr;
  int stream = 0;
  std::uint64_t count = 0;
};
Point& point_of(EventHandle handle) { return *reinterpret_cast<Point*>(static_cast<std::uintptr_t>(handle)); }

// Whether this process was forked from one that had used the driver.
std::atomic<bool> is_forked_from_user{false};

class CudaDevice final : public AsyncDevice {
 public:
  CudaDevice() = default;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override = default;

  // The driver is loaded by the first question.
  const DeviceFacts& facts() const override {
    if (!is_asked_.load(std::memory_order_acquire)) [[unlikely]]
      const_cast<CudaDevice*>(this)->ask();
    if (is_forked_from_user.load(std::memory_order_relaxed)) return facts_of_child_;
    return is_lost_.load(std::memory_order_acquire) ? lost_facts_ : facts_;
  }

  // ---- Memory
  std::byte* reserve(std::int64_t bytes) override {
    const Current current(*this);
    Address address = 0;
    const Result status = driver_.cuMemAlloc_v2(&address, static_cast<std::size_t>(bytes));
    if (status == kOutOfMemory) return nullptr;
    check(status, "cuMemAlloc");
    return to_device_address(address);
  }
  void release(std::byte* segment, std::int64_t) noexcept override {
    const Current current(*this);
    driver_.cuMemFree_v2(from_device_address(segment));
  }
  void* host_address(std::byte*) const override { return nullptr; }
  void* pin(std::int64_t bytes) override {
    const Current current(*this);
    void* memory = nullptr;
    return driver_.cuMemAllocHost_v2(&memory, static_cast<std::size_t>(bytes)) == kSuccess ? memory : nullptr;
  }
  void unpin(void* memory, std::int64_t) noexcept override {
    const Current current(*this);
    driver_.cuMemFreeHost(memory);
  }

  // ---- Order
  StreamHandle make_stream(int index) override {
    [[maybe_unused]] static const int registered =
        pthread_atfork(nullptr, nullptr, [] { is_forked_from_user.store(true); });
    const Current current(*this);
    StreamState& stream = streams_[static_cast<std::size_t>(index)];
    check(driver_.cuStreamCreate(&stream.stream, kNonBlockingStream), "cuStreamCreate");
    check(driver_.cuMemAlloc_v2(&stream.status, sizeof(Report)), "cuMemAlloc");
    clear_report(stream);
    return StreamHandle(static_cast<std::uint64_t>(index));
  }
  EventHandle record(StreamHandle handle) override {
    const Current current(*this);
    StreamState& stream = state(handle);
    return EventHandle(reinterpret_cast<std::uintptr_t>(
        new Point{recorded(stream), static_cast<int>(handle), stream.added}));
  }
  void wait(StreamHandle handle, EventHandle event) override {
    const Current current(*this);
    check(driver_.cuStreamWaitEvent(state(handle).stream, point_of(event).event, 0), "cuStreamWaitEvent");
  }
  bool has_passed(EventHandle event) override {
    const Current current(*this);
    const Point& point = point_of(event);
    if (!has_ended(point.event)) return false;
    note_ended(streams_[static_cast<std::size_t>(point.stream)], point.count);
    return true;
  }
  void wait(EventHandle event) override {
    const Current current(*this);
    const Point& point = point_of(event);
    StreamState& stream = streams_[static_cast<std::size_t>(point.stream)];
    if (const Result status = driver_.cuEventSynchronize(point.event); status != kSuccess)
      stream.failure.store(status, std::memory_order_release);
    note_ended(stream, point.count);
  }
  void drop(EventHandle event) noexcept override {
    const Current current(*this);
    driver_.cuEventDestroy_v2(point_of(event).event);
    delete &point_of(event);
  }
  std::uint64_t queued(StreamHandle handle) override {
    const Current current(*this);
    StreamState& stream = state(handle);
    poll(stream);
    return stream.added - stream.ended.load(std::memory_order_acquire);
  }

  // ---- Commands
  bool launch(StreamHandle handle, const DeviceLaunch& launch) override {
    const Current current(*this);
    StreamState& stream = state(handle);
    if (is_full(stream)) return false;
    ++stream.launches;
    stream.op_name = launch.op_name;
    stream.site = launch.site;
    const LaunchTarget before = launch_target();
    launch_target() = {this, handle};
    Stream of_kernel(kCuda, static_cast<int>(handle));
    try {
      launch.kernel->run(of_kernel, *launch.args);
    } catch (...) {
      launch_target() = before;
      throw;
    }
    launch_target() = before;
    return true;
  }
  bool copy_in(StreamHandle handle, std::byte* dst, const void* pinned, std::int64_t bytes) override {
    const Current current(*this);
    StreamState& stream = state(handle);
    if (is_full(stream)) return false;
    check(driver_.cuMemcpyHtoDAsync_v2(from_device_address(dst), pinned, static_cast<std::size_t>(bytes),
                                       stream.stream),
          "cuMemcpyHtoDAsync");
    note_added(stream);
    return true;
  }
  bool copy_out(StreamHandle handle, void* pinned, const std::byte* src, std::int64_t bytes) override {
    const Current current(*this);
    StreamState& stream = state(handle);
    if (is_full(stream)) return false;
    check(driver_.cuMemcpyDtoHAsync_v2(pinned, from_device_address(src), static_cast<std::size_t>(bytes),
                                       stream.stream),
          "cuMemcpyDtoHAsync");
    note_added(stream);
    return true;
  }
  void wait_for_space(StreamHandle handle) override {
    const Current current(*this);
    StreamState& stream = state(handle);
    if (!stream.marks.empty()) driver_.cuEventSynchronize(stream.marks.front().event);
    poll(stream);
  }
  std::optional<LateError> take_error(StreamHandle handle) override;

  // ---- Kernels
  ModuleHandle build(const DeviceSource& source) override;
  FunctionHandle function(ModuleHandle module, const char* name) override;
  void launch(StreamHandle stream, FunctionHandle function, const LaunchShape& shape,
              const LaunchArgs& args) override;

 private:
  // Of the groups of a grid along its second and third axis.
  static constexpr std::uint64_t kMaxGroups = 65'535;
  static constexpr std::uint64_t kMaxQueued = 4096, kMarkEach = 256;

  // What pel_report writes.
  struct Report {
    std::int32_t is_set, unused;
    std::int64_t launch, code, value, bound;
  };
  struct Fallible {
    std::uint64_t launch;
    const char* op_name;
    Site site;
  };
  struct StreamState {
    Stream_ stream = nullptr;
    Address status = 0;
    std::uint64_t added = 0;               // commands
    std::atomic<std::uint64_t> ended = 0;  // that are known to have ended
    std::deque<Point> marks;               // one for kMarkEach commands
    std::uint64_t launches = 0;
    const char* op_name = "";  // of the last launch
    Site site{};
    std::vector<Fallible> fallible;  // launches since the report was read
    std::atomic<Result> failure = kSuccess;
  };

  // Makes the context current on this thread, and the caller's again.
  class Current {
   public:
    explicit Current(const CudaDevice& device) : driver_(device.driver_) {
      driver_.cuCtxPushCurrent_v2(device.context_);
    }
    ~Current() {
      Context popped = nullptr;
      driver_.cuCtxPopCurrent_v2(&popped);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Driver& driver_;
  };

  void ask();
  void find();
  std::string find_driver();
  StreamState& state(StreamHandle handle) { return streams_[static_cast<std::size_t>(handle)]; }
  std::string ptx_of(const DeviceSource& source);

  Event_ recorded(const StreamState& stream) {
    Event_ event = nullptr;
    check(driver_.cuEventCreate(&event, kEventWithoutTiming), "cuEventCreate");
    const Result status = driver_.cuEventRecord(event, stream.stream);
    if (status != kSuccess) driver_.cuEventDestroy_v2(event);
    check(status, "cuEventRecord");
    return event;
  }
  bool has_ended(Event_ event) const {
    return driver_.cuEventQuery(event) != kNotReady;  // an error: it failed
  }
  static void note_ended(StreamState& stream, std::uint64_t count) {
    std::uint64_t known = stream.ended.load(std::memory_order_relaxed);
    while (known < count && !stream.ended.compare_exchange_weak(known, count)) {
    }
  }
  void note_added(StreamState& stream) {
    if (++stream.added % kMarkEach == 0) stream.marks.push_back({recorded(stream), 0, stream.added});
  }
  void poll(StreamState& stream) {
    while (!stream.marks.empty() && has_ended(stream.marks.front().event)) {
      note_ended(stream, stream.marks.front().count);
      driver_.cuEventDestroy_v2(stream.marks.front().event);
      stream.marks.pop_front();
    }
  }
  bool is_full(StreamState& stream) {
    if (stream.added - stream.ended.load(std::memory_order_relaxed) < kMaxQueued) return false;
    poll(stream);
    return stream.added - stream.ended.load(std::memory_order_relaxed) >= kMaxQueued;
  }
  void clear_report(StreamState& stream) {
    check(driver_.cuMemsetD8Async(stream.status, 0, sizeof(Report), stream.stream), "cuMemsetD8Async");
  }

  void check(Result status, const char* function) {
    if (status != kSuccess) [[unlikely]]
      fail(status, function);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void fail(Result status, const char* function);
  void lose(Result status, const char* function);

  // Not std::call_once: see wire_runtime().
  std::mutex asking_;
  std::atomic<bool> is_asked_ = false;
  Driver driver_;
  Context context_ = nullptr;
  DeviceFacts facts_, lost_facts_, facts_of_child_;
  std::atomic<bool> is_lost_ = false;
  std::array<StreamState, kMaxStreams> streams_;
};

// ---- Facts

void CudaDevice::ask() {
  const std::lock_guard lock(asking_);
  if (is_asked_.load(std::memory_order_relaxed)) return;
  find();
  is_asked_.store(true, std::memory_order_release);
}

// Returns why no kernel can run, in the order in which a user would find out.
std::string CudaDevice::find_driver() {
  if (std::string refusal = load_driver(driver_); !refusal.empty()) return refusal;
  const auto failed = [&](const char* function, Result status) {
    return fmt::format("{} returned {}", function, error_text(driver_, status));
  };
  if (const Result status = driver_.cuInit(0); status != kSuccess) return failed("cuInit", status);
  int count = 0, device = 0, version = 0, major = 0, minor = 0;
  if (driver_.cuDeviceGetCount(&count) != kSuccess || count == 0) return "the driver has no device";
  if (const Result status = driver_.cuDeviceGet(&device, 0); status != kSuccess)
    return failed("cuDeviceGet", status);
  char name[256] = {};
  driver_.cuDeviceGetName(name, sizeof name, device);
  facts_.name = fmt::format("{} ({})", name, kUnproven);
  std::size_t memory = 0;
  driver_.cuDeviceTotalMem_v2(&memory, device);
  facts_.memory_bytes = facts_.max_segment_bytes = static_cast<std::int64_t>(memory);
  driver_.cuDeviceGetAttribute(&facts_.processors, kProcessorCount, device);
  driver_.cuDeviceGetAttribute(&major, kCapabilityMajor, device);
  driver_.cuDeviceGetAttribute(&minor, kCapabilityMinor, device);
  driver_.cuDriverGetVersion(&version);  // 13000: 13.0
  const std::string driver_version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  if (10 * major + minor < kMinCapability)
    return fmt::format("its compute capability is {}.{}; kernels are compiled for 8.0 and later", major,
                       minor);
  if (!nvrtc_refusal().empty()) return nvrtc_refusal();
  if (version < nvrtc_release())
    return fmt::format("the driver is for CUDA {}, and refuses code of {}, which is newer", driver_version,
                       nvrtc_version());
  facts_.driver =
      fmt::format("CUDA {}, compute capability {}.{}, {}", driver_version, major, minor, nvrtc_version());
  if (const Result status = driver_.cuDevicePrimaryCtxRetain(&context_, device); status != kSuccess)
    return failed("cuDevicePrimaryCtxRetain", status);
  return {};
}

void CudaDevice::find() {
  facts_.name = "CUDA";
  facts_.kernels = DeviceType::Cuda;
  facts_.is_cpu = false;
  if (const std::string refusal = find_driver(); !refusal.empty()) {
    facts_.refusal = fmt::format("{} ({})", refusal, kUnproven);
    return;
  }
  facts_of_child_ = facts_;
  facts_of_child_.refusal = "this process was forked from one that had used the device";
  wire_runtime();  // the lists are those of ops that are registered
  [[maybe_unused]] static const bool is_registered = [this] {
    grid::register_kernels(DeviceType::Cuda, {facts_.has_f64, facts_.is_cpu});
    return true;
  }();
}

// ---- Errors

void CudaDevice::fail(Result status, const char* function) {
  if (status == kOutOfMemory)
    throw MemoryError(fmt::format("{} found no memory on {}: {}; free tensors, or pass smaller ones",
                                  function, facts_.name, error_text(driver_, status)));
  if (is_sticky(status)) lose(status, function);
  throw DeviceError(fmt::format("{} failed on {}: {}", function, facts_.name, error_text(driver_, status)));
}

void CudaDevice::lose(Result status, const char* function) {
  if (is_lost_.load()) return;
  lost_facts_ = facts_;
  lost_facts_.refusal =
      fmt::format("the device was lost: {} returned {}", function, error_text(driver_, status));
  is_lost_.store(true, std::memory_order_release);
}

std::optional<LateError> CudaDevice::take_error(StreamHandle handle) {
  const Current current(*this);
  StreamState& stream = state(handle);
  if (const Result status = stream.failure.exchange(kSuccess); status != kSuccess) {
    if (is_sticky(status)) lose(status, "cuEventSynchronize");
    return LateError{std::make_exception_ptr(
                         DeviceError(fmt::format("a kernel failed on {}: cuEventSynchronize returned {}",
                                                 facts_.name, error_text(driver_, status)))),
                     stream.op_name, stream.site};
  }
  if (stream.fallible.empty()) return std::nullopt;
  std::vector<Fallible> launches;
  launches.swap(stream.fallible);
  Report report{};
  check(driver_.cuMemcpyDtoHAsync_v2(&report, stream.status, sizeof report, stream.stream),
        "cuMemcpyDtoHAsync");
  check(driver_.cuStreamSynchronize(stream.stream), "cuStreamSynchronize");
  if (report.is_set == 0) return std::nullopt;
  clear_report(stream);
  LateError late{nullptr, "", {}};
  for (const Fallible& each : launches) {
    if (static_cast<std::int64_t>(each.launch) != report.launch) continue;
    late.op_name = each.op_name;
    late.site = each.site;
  }
  late.error = grid::error_of_report(report.code, report.value, report.bound);
  return late;
}

// ---- Kernels

// Compiled now, or by an earlier process.
std::string CudaDevice::ptx_of(const DeviceSource& source) {
  std::string content = fmt::format("cuda\n{}\n{}\n", nvrtc_version(), kArchitecture);
  for (const std::string& option : nvrtc_options()) content += option + "\n";
  content += source.text;
  if (const std::optional<codegen::CachedBinary> found = codegen::find_cached_binary(content))
    return {reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size()};
  std::string ptx = compile_to_ptx(source.name, source.text, kArchitecture);
  if (KernelCache::directory()) {
    codegen::CachedBinary binary{{source.name}, {}};
    binary.bytes.resize(ptx.size());
    std::memcpy(binary.bytes.data(), ptx.data(), ptx.size());
    codegen::store_cached_binary(content, binary);
  }
  return ptx;
}

ModuleHandle CudaDevice::build(const DeviceSource& source) {
  const std::string ptx = ptx_of(source);
  constexpr std::size_t kLogBytes = 8192;
  std::string log(kLogBytes, '\0');
  int options[] = {kErrorLog, kErrorLogSize};
  void* values[] = {log.data(), reinterpret_cast<void*>(kLogBytes)};
  Module_ module = nullptr;
  const Result status = driver_.cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values);
  if (status != kSuccess && status != kOutOfMemory && !is_sticky(status))
    throw DeviceError(fmt::format("the driver of {} refused the kernel {}: {}:\n{}", facts_.name, source.name,
                                  error_text(driver_, status), log.c_str()));
  check(status, "cuModuleLoadDataEx");
  return ModuleHandle(reinterpret_cast<std::uintptr_t>(module));
}

FunctionHandle CudaDevice::function(ModuleHandle module, const char* name) {
  Function_ function = nullptr;
  check(driver_.cuModuleGetFunction(&function, reinterpret_cast<Module_>(static_cast<std::uintptr_t>(module)),
                                    name),
        "cuModuleGetFunction");
  return FunctionHandle(reinterpret_cast<std::uintptr_t>(function));
}

void CudaDevice::launch(StreamHandle handle, FunctionHandle number, const LaunchShape& shape,
                        const LaunchArgs& args) {
  StreamState& stream = state(handle);
  const std::size_t count = args.addresses.size();
  SmallVector<Address, 8> addresses;
  for (const std::byte* address : args.addresses)  // null: the tensor has no elements
    addresses.push_back(address == nullptr ? 0 : from_device_address(address));
  addresses.push_back(stream.status);
  SmallVector<void*, 10> parameters;
  for (Address& address : addresses) parameters.push_back(&address);
  parameters.push_back(args.numbers);
  std::fill_n(args.numbers, count, std::int64_t{0});
  args.numbers[count] = static_cast<std::int64_t>(stream.launches);
  std::array<std::uint64_t, 3> groups{};
  for (std::size_t axis = 0; axis < 3; ++axis) groups[axis] = shape.items[axis] / shape.group[axis];
  if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return;  // which the driver refuses
  const bool is_parted = groups[1] > kMaxGroups || groups[2] > kMaxGroups;
  PEL_ASSERT(!is_parted || count > 2, "the offsets of operands 1 and 2 say where a part begins");
  for (std::uint64_t z = 0; z < groups[2]; z += kMaxGroups) {
    for (std::uint64_t y = 0; y < groups[1]; y += kMaxGroups) {
      if (is_parted) {
        args.numbers[1] = static_cast<std::int64_t>(y * shape.group[1]);
        args.numbers[2] = static_cast<std::int64_t>(z * shape.group[2]);
      }
      check(driver_.cuLaunchKernel(
                reinterpret_cast<Function_>(static_cast<std::uintptr_t>(number)),
                static_cast<unsigned>(groups[0]), static_cast<unsigned>(std::min(groups[1] - y, kMaxGroups)),
                static_cast<unsigned>(std::min(groups[2] - z, kMaxGroups)), shape.group[0], shape.group[1],
                shape.group[2], 0, stream.stream, parameters.data(), nullptr),
            "cuLaunchKernel");
    }
  }
  if (args.may_report) {
    // Without waits the list would grow for ever. An error of a launch that is dropped has no line.
    constexpr std::size_t kMaxFallible = 1 << 16;
    if (stream.fallible.size() >= kMaxFallible)
      stream.fallible.erase(stream.fallible.begin(), stream.fallible.begin() + kMaxFallible / 2);
    stream.fallible.push_back({stream.launches, stream.op_name, stream.site});
  }
  note_added(stream);
}

}  // namespace

std::unique_ptr<AsyncDevice> make_cuda_device() { return std::make_unique<CudaDevice>(); }

}  // namespace pel::cuda
