// In this order: streams and events, commands, facts, errors, kernels, replays of plans.
//
// Memory. An address is the driver's with kAddressBit. Kernels get the driver's addresses, so that the
// offsets of their struct are 0, but for where a part of a launch begins (codegen/c_like/dialect_cuda.cc).
#include "backends/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>

#include "pellucid/cache.h"
#include "pellucid/cuda.h"

#include "backends/cuda/cuda_graph.h"
#include "backends/cuda/cuda_launch.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cuda/table_form.h"
#include "backends/grid/kernels.h"
#include "backends/grid/reports.h"
#include "base/check.h"
#include "base/small_vector.h"
#include "codegen/cache/kernel_cache.h"
#include "device/plan_replay.h"
#include "device/prepared_kernel.h"
#include "dispatch/loop_compiler.h"
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
    launch_held(stream);
    return EventHandle(reinterpret_cast<std::uintptr_t>(
        new Point{recorded(stream), static_cast<int>(handle), stream.added}));
  }
  void wait(StreamHandle handle, EventHandle event) override {
    const Current current(*this);
    // In front of launches that are held, too: a wait may be early.
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
    return stream.added + stream.held.size() - stream.ended.load(std::memory_order_acquire);
  }

  // ---- Commands
  bool launch(StreamHandle handle, const DeviceLaunch& launch) override {
    const Current current(*this);
    StreamState& stream = state(handle);
    const bool is_held = launch.run != nullptr && launch.run->is_whole && launch.prepared != nullptr &&
                         stream.held.size() < kMaxQueued;
    if (!is_held || stream.run != launch.run) launch_held(stream);
    if (is_full(stream)) return false;
    stream.run = is_held ? launch.run : nullptr;
    ++stream.launches;
    stream.op_name = launch.op_name;
    stream.site = launch.site;
    const LaunchTarget before = launch_target();
    launch_target() = {this, handle, nullptr};
    Stream of_kernel(kCuda, static_cast<int>(handle));
    try {
      if (launch.prepared != nullptr) {
        launch.prepared->launch(*this, handle, launch);
      } else {
        launch.kernel->run(of_kernel, *launch.args);
      }
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
    launch_held(stream);
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
    launch_held(stream);
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

  // ---- Replays
  void end_run(StreamHandle handle, ReplayRun& run) override;
  void drop(PlanReplay& replay) noexcept override {
    const Current current(*this);
    replay.captured = nullptr;
  }

  // ---- Kernels
  ModuleHandle build(const DeviceSource& source) override;
  FunctionHandle function(ModuleHandle module, const char* name) override;
  // Arguments are passed with each launch: no function has any of its own.
  FunctionHandle copy(FunctionHandle function) override { return function; }
  void drop(FunctionHandle) noexcept override {}
  void launch(StreamHandle stream, FunctionHandle function, const LaunchShape& shape,
              const LaunchArgs& args) override;

 private:
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
    // The launches of a run that are held back, if it holds any, and their addresses.
    ReplayRun* run = nullptr;
    std::vector<HeldLaunch> held;
    std::vector<Address> held_addresses;
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
  Result load(const std::string& ptx, Module_& module, std::string& log);
  Result find(Module_ module, const std::string& name, Function_& function) {
    return driver_.cuModuleGetFunction(&function, module, name.c_str());
  }
  static LoadedFunction& function_of(FunctionHandle handle) {
    return *reinterpret_cast<LoadedFunction*>(static_cast<std::uintptr_t>(handle));
  }
  void launch_held(StreamState& stream);
  bool replay(StreamState& stream, int index, PlanReplay& replay, const std::vector<HeldLaunch>& held,
              const std::vector<Address>& addresses);
  std::string load_by_table(ArrayView<HeldLaunch> launches);
  void launch(StreamState& stream, const HeldLaunch& launch, const Address* addresses);
  static void note_fallible(StreamState& stream, const HeldLaunch& launch, std::uint64_t number);

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
  std::deque<LoadedModule> modules_;
  std::deque<LoadedFunction> functions_;
  std::uint64_t graph_launches_ = std::uint64_t{1}
                                  << 62;  // numbers of launches in graphs; no others are as large
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
  facts_.has_replays = true;
  if (const std::string refusal = find_driver(); !refusal.empty()) {
    facts_.refusal = fmt::format("{} ({})", refusal, kUnproven);
    return;
  }
  facts_of_child_ = facts_;
  facts_of_child_.refusal = "this process was forked from one that had used the device";
  wire_runtime();  // the lists are those of ops that are registered
  [[maybe_unused]] static const bool is_registered = [this] {
    grid::register_kernels(DeviceType::Cuda, {facts_.has_f64, facts_.is_cpu});
    set_loop_compiler(DeviceType::Cuda, grid::compile_loops);
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

Result CudaDevice::load(const std::string& ptx, Module_& module, std::string& log) {
  constexpr std::size_t kLogBytes = 8192;
  log.assign(kLogBytes, '\0');
  int options[] = {kErrorLog, kErrorLogSize};
  void* values[] = {log.data(), reinterpret_cast<void*>(kLogBytes)};
  const Result status = driver_.cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values);
  log.resize(std::min(log.find('\0'), log.size()));
  return status;
}

ModuleHandle CudaDevice::build(const DeviceSource& source) {
  LoadedModule& made = modules_.emplace_back(LoadedModule{nullptr, ptx_of(source)});
  std::string log;
  const Result status = load(made.ptx, made.module, log);
  if (status == kSuccess) return ModuleHandle(reinterpret_cast<std::uintptr_t>(&made));
  modules_.pop_back();
  if (status != kOutOfMemory && !is_sticky(status))
    throw DeviceError(fmt::format("the driver of {} refused the kernel {}: {}:\n{}", facts_.name, source.name,
                                  error_text(driver_, status), log));
  fail(status, "cuModuleLoadDataEx");
}

FunctionHandle CudaDevice::function(ModuleHandle module, const char* name) {
  const auto* const of = reinterpret_cast<LoadedModule*>(static_cast<std::uintptr_t>(module));
  Function_ function = nullptr;
  check(find(of->module, name, function), "cuModuleGetFunction");
  return FunctionHandle(reinterpret_cast<std::uintptr_t>(
      &functions_.emplace_back(LoadedFunction{name, function, of, nullptr})));
}

void CudaDevice::launch(StreamHandle handle, FunctionHandle number, const LaunchShape& shape,
                        const LaunchArgs& args) {
  StreamState& stream = state(handle);
  const HeldLaunch launched{&function_of(number),  shape,          stream.held_addresses.size(),
                            args.addresses.size(), args.numbers,   args.may_report,
                            stream.launches,       stream.op_name, stream.site};
  const auto plain = [](const std::byte* address) {  // null: the tensor has no elements
    return address == nullptr ? 0 : from_device_address(address);
  };
  if (stream.run != nullptr) {
    for (const std::byte* const address : args.addresses) stream.held_addresses.push_back(plain(address));
    stream.held.push_back(launched);
    return;
  }
  SmallVector<Address, 8> addresses;
  for (const std::byte* const address : args.addresses) addresses.push_back(plain(address));
  launch(stream, launched, addresses.data());
}

void CudaDevice::launch(StreamState& stream, const HeldLaunch& launch, const Address* addresses) {
  SmallVector<Address, 9> all;
  for (std::size_t i = 0; i < launch.address_count; ++i) all.push_back(addresses[i]);
  all.push_back(stream.status);
  check(launch_kernel(driver_, stream.stream, launch.function->function, launch.shape,
                      {all.data(), all.size()}, launch.numbers, launch.launch),
        "cuLaunchKernel");
  note_fallible(stream, launch, launch.launch);
  note_added(stream);
}

void CudaDevice::note_fallible(StreamState& stream, const HeldLaunch& launch, std::uint64_t number) {
  if (!launch.may_report) return;
  // Without waits the list would grow for ever. An error of a launch that is dropped has no line.
  constexpr std::size_t kMaxFallible = 1 << 16;
  if (stream.fallible.size() >= kMaxFallible)
    stream.fallible.erase(stream.fallible.begin(), stream.fallible.begin() + kMaxFallible / 2);
  stream.fallible.push_back({number, launch.op_name, launch.site});
}

// ---- Replays of plans

// The graphs of a plan, by stream.
struct CudaGraphs final : PlanReplay::Captured {
  std::array<std::unique_ptr<CudaGraph>, kMaxStreams> graphs;
};

// Launches what is held, in front of another command: the run is not whole any more.
void CudaDevice::launch_held(StreamState& stream) {
  if (stream.run == nullptr) return;
  std::exchange(stream.run, nullptr)->is_whole = false;
  const std::vector<HeldLaunch> held = std::exchange(stream.held, {});
  const std::vector<Address> addresses = std::exchange(stream.held_addresses, {});
  for (const HeldLaunch& each : held) launch(stream, each, addresses.data() + each.first_address);
}

void CudaDevice::end_run(StreamHandle handle, ReplayRun& run) {
  const Current current(*this);
  StreamState& stream = state(handle);
  if (stream.run != &run) return;
  if (!run.is_whole) return launch_held(stream);
  const std::vector<HeldLaunch> held = std::exchange(stream.held, {});
  const std::vector<Address> addresses = std::exchange(stream.held_addresses, {});
  stream.run = nullptr;
  if (replay(stream, static_cast<int>(handle), *run.replay, held, addresses)) return;
  for (const HeldLaunch& each : held) launch(stream, each, addresses.data() + each.first_address);
}

// Returns why a kernel of a launch cannot find its addresses in a table; empty if all can.
std::string CudaDevice::load_by_table(ArrayView<HeldLaunch> launches) {
  for (const HeldLaunch& launch : launches) {
    LoadedFunction& function = *launch.function;
    if (function.by_table != nullptr) continue;
    const auto ptx = with_address_table(function.module->ptx, function.name, launch.address_count);
    if (!ptx)
      return fmt::format("the PTX of {} uses its addresses in a way that is not known", function.name);
    std::string log;
    Module_ module = nullptr;
    Result status = load(*ptx, module, log);
    if (status == kSuccess) status = find(module, function.name, function.by_table);
    if (status == kSuccess) continue;
    if (is_sticky(status)) lose(status, "cuModuleLoadDataEx");
    return fmt::format("cuModuleLoadDataEx returned {} for {}{}{}", error_text(driver_, status),
                       function.name, log.empty() ? "" : ": ", log);
  }
  return {};
}

// Queues the run as one command, if it can be one.
bool CudaDevice::replay(StreamState& stream, int index, PlanReplay& replay,
                        const std::vector<HeldLaunch>& held, const std::vector<Address>& addresses) {
  constexpr std::size_t kMinLaunches = 3;
  if (held.size() < kMinLaunches) {
    replay.refusal = fmt::format("it has {}, and a replay of a CUDA graph takes two calls of the driver",
                                 held.size() == 1 ? "1 launch" : fmt::format("{} launches", held.size()));
    return false;
  }
  if (replay.captured == nullptr) replay.captured = std::make_unique<CudaGraphs>();
  std::unique_ptr<CudaGraph>& graph =
      static_cast<CudaGraphs&>(*replay.captured).graphs[static_cast<std::size_t>(index)];
  if (graph == nullptr) {
    replay.refusal = load_by_table(held);
    if (!replay.refusal.empty()) return false;
    Result status = kSuccess;
    graph = CudaGraph::capture(driver_, stream.stream, stream.status, held, addresses.size(), graph_launches_,
                               replay.refusal, status);
    if (is_sticky(status)) lose(status, "a call while a graph was captured");
    if (graph == nullptr) return false;
    graph_launches_ += held.size();
    replay.state = fmt::format("a run copies {} bytes of addresses and launches a CUDA graph of {} kernels",
                               graph->table_bytes(), held.size());
  }
  PEL_ASSERT(
      graph->launch_count() == held.size() && graph->table_bytes() == addresses.size() * sizeof(Address),
      "a plan has the same launches in each run");
  Address* table = graph->unused_table(stream.ended.load(std::memory_order_acquire));
  if (table == nullptr) {
    poll(stream);
    table = graph->unused_table(stream.ended.load(std::memory_order_acquire));
  }
  if (table == nullptr) return false;  // the device is many runs late: it loses nothing by launches
  std::ranges::copy(addresses, table);
  const char* function = "";
  check(graph->replay(stream.stream, table, stream.added + 1, function), function);
  for (std::size_t i = 0; i < held.size(); ++i) note_fallible(stream, held[i], graph->first_launch() + i);
  note_added(stream);
  if (graph->is_half_used()) stream.marks.push_back({recorded(stream), 0, stream.added});
  return true;
}

}  // namespace

std::unique_ptr<AsyncDevice> make_cuda_device() { return std::make_unique<CudaDevice>(); }

}  // namespace pel::cuda
