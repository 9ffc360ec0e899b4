// In this order: memory, streams and events, commands, the facts of the device, kernels, errors.
//
// Memory. A segment is one cl_mem. Its addresses are our own: kAddressBit, the number of the segment, the
// offset in it. A kernel gets the cl_mem and the offset. Shared virtual memory would need OpenCL 2.
#include "backends/opencl/opencl_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <fmt/format.h>
#include <pthread.h>

#include "pellucid/cache.h"

#include "backends/grid/kernels.h"
#include "backends/grid/reports.h"
#include "backends/opencl/opencl_library.h"
#include "backends/opencl/opencl_times.h"
#include "base/check.h"
#include "codegen/cache/kernel_cache.h"
#include "device/prepared_kernel.h"
#include "dispatch/registry.h"

namespace pel::opencl {
namespace {

constexpr int kSegmentShift = 40;  // an offset has 40 bits
constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kSegmentShift) - 1;

// A point in a stream: the command after `count` others.
struct Point {
  cl_event event = nullptr;
  int stream = 0;
  std::uint64_t count = 0;
};
Point& point_of(EventHandle handle) { return *reinterpret_cast<Point*>(static_cast<std::uintptr_t>(handle)); }

struct Function {
  std::string name;
  cl_kernel kernel = nullptr;
  std::vector<cl_mem> memory;    // the arguments that were set last
  cl_program unsaved = nullptr;  // its program, until it is in the cache on disk
  bool has_run = false;
  // Of a copy, whose numbers stay set:
  Function* of = nullptr;
  bool has_numbers = false;
};

// Whether this process was forked from one that had streams: the driver's threads are not here.
std::atomic<bool> is_without_driver{false};

class OpenClDevice;
// The first device of the process, while it is there.
std::atomic<OpenClDevice*> in_use{nullptr};

class OpenClDevice final : public AsyncDevice {
 public:
  OpenClDevice() = default;
  OpenClDevice(const OpenClDevice&) = delete;
  OpenClDevice& operator=(const OpenClDevice&) = delete;
  ~OpenClDevice() override {
    OpenClDevice* self = this;
    in_use.compare_exchange_strong(self, nullptr);
  }

  // The library is loaded by the first question.
  const DeviceFacts& facts() const override {
    if (!is_asked_.load(std::memory_order_acquire)) [[unlikely]]
      const_cast<OpenClDevice*>(this)->ask();
    if (is_without_driver.load(std::memory_order_relaxed)) return facts_of_child_;
    return is_lost_.load(std::memory_order_acquire) ? lost_facts_ : facts_;
  }

  // ---- Memory
  std::byte* reserve(std::int64_t bytes) override {
    cl_int status = CL_SUCCESS;
    cl_mem const memory = library_.clCreateBuffer(context_, CL_MEM_READ_WRITE,
                                                  static_cast<std::size_t>(bytes), nullptr, &status);
    if (after_fault(status, "clCreateBuffer") != CL_SUCCESS) {
      if (status == CL_SUCCESS) library_.clReleaseMemObject(memory);
      return nullptr;
    }
    const auto unused = std::ranges::find(segments_, static_cast<cl_mem>(nullptr));
    const auto number = static_cast<std::uint64_t>(unused - segments_.begin());
    if (unused == segments_.end()) {
      segments_.push_back(memory);
    } else {
      *unused = memory;
    }
    return reinterpret_cast<std::byte*>(kAddressBit | (number << kSegmentShift));
  }
  void release(std::byte* segment, std::int64_t) noexcept override {
    cl_mem& memory = segments_[segment_of(segment)];
    for (Function& function : functions_) std::ranges::replace(function.memory, memory, cl_mem{});
    library_.clReleaseMemObject(memory);
    memory = nullptr;
  }
  void* host_address(std::byte*) const override { return nullptr; }
  void* pin(std::int64_t bytes) override { return std::aligned_alloc(4096, static_cast<std::size_t>(bytes)); }
  void unpin(void* memory, std::int64_t) noexcept override { std::free(memory); }

  // ---- Order
  StreamHandle make_stream(int index) override {
    [[maybe_unused]] static const int registered =
        pthread_atfork(nullptr, nullptr, [] { is_without_driver.store(true); });
    StreamState& stream = streams_[static_cast<std::size_t>(index)];
    cl_int status = CL_SUCCESS;
    stream.queue = stream.plain = library_.clCreateCommandQueue(context_, device_, 0, &status);
    check(status, "clCreateCommandQueue");
    stream.status = library_.clCreateBuffer(context_, CL_MEM_READ_WRITE, sizeof(Report), nullptr, &status);
    check(status, "clCreateBuffer");
    clear_report(stream);
    return StreamHandle(static_cast<std::uint64_t>(index));
  }
  EventHandle record(StreamHandle handle) override {
    StreamState& stream = state(handle);
    auto* const point = new Point{marker(stream), static_cast<int>(handle), stream.added};
    library_.clFlush(stream.queue);
    return EventHandle(reinterpret_cast<std::uintptr_t>(point));
  }
  void wait(StreamHandle handle, EventHandle event) override {
    check(library_.clEnqueueBarrierWithWaitList(state(handle).queue, 1, &point_of(event).event, nullptr),
          "clEnqueueBarrierWithWaitList");
  }
  bool has_passed(EventHandle event) override {
    const Point& point = point_of(event);
    if (!has_ended(library_, point.event)) return false;
    note_ended(streams_[static_cast<std::size_t>(point.stream)], point.count);
    return true;
  }
  void wait(EventHandle event) override {
    const Point& point = point_of(event);
    StreamState& stream = streams_[static_cast<std::size_t>(point.stream)];
    if (const cl_int status = after_fault(library_.clWaitForEvents(1, &point.event), "clWaitForEvents");
        status != CL_SUCCESS)
      stream.failure.store(status, std::memory_order_release);
    note_ended(stream, point.count);
  }
  void drop(EventHandle event) noexcept override {
    library_.clReleaseEvent(point_of(event).event);
    delete &point_of(event);
  }
  std::uint64_t queued(StreamHandle handle) override {
    StreamState& stream = state(handle);
    poll(stream);
    return stream.added - stream.ended.load(std::memory_order_acquire);
  }

  // ---- Commands
  bool launch(StreamHandle handle, const DeviceLaunch& launch) override {
    StreamState& stream = state(handle);
    if (is_full(stream)) return false;
    follow_profile(stream);
    ++stream.launches;
    stream.op_name = launch.op_name;
    stream.site = launch.site;
    const LaunchTarget before = launch_target();
    launch_target() = {this, handle, nullptr};
    Stream of_kernel(kOpenClDevice, static_cast<int>(handle));
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
    if (stream.times.are_on()) [[unlikely]]
      stream.times.end_command(profile::deferred_kernel(
          launch.op_name, *launch.kernel, Stream(kOpenClDevice, static_cast<int>(handle)), *launch.args,
          profile::launch_under_way(), launch.site));
    return true;
  }
  bool copy_in(StreamHandle handle, std::byte* dst, const void* pinned, std::int64_t bytes) override {
    StreamState& stream = state(handle);
    if (is_full(stream)) return false;
    follow_profile(stream);
    check(library_.clEnqueueWriteBuffer(stream.queue, segments_[segment_of(dst)], CL_FALSE, offset_of(dst),
                                        static_cast<std::size_t>(bytes), pinned, 0, nullptr,
                                        stream.times.next()),
          "clEnqueueWriteBuffer");
    end_copy(stream, handle, "Memcpy HtoD (Pinned -> Device)", bytes);
    note_added(stream);
    return true;
  }
  bool copy_out(StreamHandle handle, void* pinned, const std::byte* src, std::int64_t bytes) override {
    StreamState& stream = state(handle);
    if (is_full(stream)) return false;
    follow_profile(stream);
    check(library_.clEnqueueReadBuffer(stream.queue, segments_[segment_of(src)], CL_FALSE, offset_of(src),
                                       static_cast<std::size_t>(bytes), pinned, 0, nullptr,
                                       stream.times.next()),
          "clEnqueueReadBuffer");
    end_copy(stream, handle, "Memcpy DtoH (Device -> Pinned)", bytes);
    note_added(stream);
    return true;
  }
  void wait_for_space(StreamHandle handle) override {
    StreamState& stream = state(handle);
    if (!stream.marks.empty()) library_.clWaitForEvents(1, &stream.marks.front().event);
    poll(stream);
  }
  std::optional<LateError> take_error(StreamHandle handle) override;

  void write_times() override {
    for (StreamState& stream : streams_) stream.times.write();
  }

  // ---- Kernels
  ModuleHandle build(const DeviceSource& source) override;
  FunctionHandle function(ModuleHandle module, const char* name) override;
  FunctionHandle copy(FunctionHandle function) override;
  void drop(FunctionHandle copy) noexcept override;
  void launch(StreamHandle stream, FunctionHandle function, const LaunchShape& shape,
              const LaunchArgs& args) override;

 private:
  static constexpr Device kOpenClDevice{DeviceType::OpenCl, 0};
  static constexpr std::uint64_t kMaxQueued = 4096, kMarkEach = 256;

  // What pel_report writes.
  struct Report {
    cl_int is_set, unused;
    cl_long launch, code, value, bound;
  };
  struct Fallible {
    std::uint64_t launch;
    const char* op_name;
    Site site;
  };
  struct StreamState {
    cl_command_queue queue = nullptr;  // the plain one, or the one with time stamps while a Profile records
    cl_command_queue plain = nullptr, timed = nullptr;
    StreamTimes times;
    cl_mem status = nullptr;
    std::uint64_t added = 0;               // commands
    std::atomic<std::uint64_t> ended = 0;  // that are known to have ended
    std::deque<Point> marks;               // one for kMarkEach commands
    std::uint64_t launches = 0;
    const char* op_name = "";  // of the last launch
    Site site{};
    std::vector<Fallible> fallible;  // launches since the report was read
    std::atomic<cl_int> failure = CL_SUCCESS;
  };

  void ask();
  void find();
  void finish_at_exit();
  cl_program program_from_cache(const std::string& content);
  void store_in_cache(const Function& function);
  StreamState& state(StreamHandle handle) { return streams_[static_cast<std::size_t>(handle)]; }
  static std::size_t segment_of(const std::byte* address) {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(address) & ~kAddressBit) >>
                                    kSegmentShift);
  }
  static std::size_t offset_of(const std::byte* address) {
    return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(address) & kOffsetMask);
  }

  cl_event marker(const StreamState& stream) {
    cl_event event = nullptr;
    check(library_.clEnqueueMarkerWithWaitList(stream.queue, 0, nullptr, &event),
          "clEnqueueMarkerWithWaitList");
    return event;
  }
  static void note_ended(StreamState& stream, std::uint64_t count) {
    std::uint64_t known = stream.ended.load(std::memory_order_relaxed);
    while (known < count && !stream.ended.compare_exchange_weak(known, count)) {
    }
  }
  void note_added(StreamState& stream) {
    if (++stream.added % kMarkEach != 0) return;
    stream.marks.push_back({marker(stream), 0, stream.added});
    library_.clFlush(stream.queue);
  }
  void poll(StreamState& stream) {
    while (!stream.marks.empty() && has_ended(library_, stream.marks.front().event)) {
      note_ended(stream, stream.marks.front().count);
      library_.clReleaseEvent(stream.marks.front().event);
      stream.marks.pop_front();
    }
  }
  bool is_full(StreamState& stream) {
    if (stream.added - stream.ended.load(std::memory_order_relaxed) < kMaxQueued) return false;
    poll(stream);
    return stream.added - stream.ended.load(std::memory_order_relaxed) >= kMaxQueued;
  }
  void clear_report(StreamState& stream) {
    static constexpr Report kClear{};
    check(library_.clEnqueueWriteBuffer(stream.queue, stream.status, CL_FALSE, 0, sizeof kClear, &kClear, 0,
                                        nullptr, nullptr),
          "clEnqueueWriteBuffer");
  }

  // Commands go to a queue with time stamps while a Profile records: they cost time on some drivers.
  void follow_profile(StreamState& stream) {
    const std::uint32_t session = profile::settings().session();
    if (session != stream.times.session()) [[unlikely]]
      switch_queue(stream, session);
  }
  void switch_queue(StreamState& stream, std::uint32_t session) {
    cl_int status = CL_SUCCESS;
    if (session != 0 && stream.timed == nullptr)
      stream.timed = library_.clCreateCommandQueue(context_, device_, CL_QUEUE_PROFILING_ENABLE, &status);
    check(status, "clCreateCommandQueue");
    cl_command_queue const to = session == 0 ? stream.plain : stream.timed;
    if (to != stream.queue) {
      cl_event end = marker(stream);
      library_.clFlush(stream.queue);
      check(library_.clEnqueueBarrierWithWaitList(to, 1, &end, nullptr), "clEnqueueBarrierWithWaitList");
      library_.clReleaseEvent(end);
      stream.queue = to;
    }
    stream.times.start(library_, stream.queue, session);
  }
  void end_copy(StreamState& stream, StreamHandle handle, const char* name, std::int64_t bytes) {
    if (stream.times.are_on()) [[unlikely]]
      stream.times.end_command(profile::deferred_copy(Stream(kOpenClDevice, static_cast<int>(handle)), name,
                                                      bytes, profile::launch_under_way(),
                                                      profile::thread_state.site));
  }

  // Throws an error of the kind that a status is.
  void check(cl_int status, const char* function) {
    status = after_fault(status, function);
    if (status != CL_SUCCESS) [[unlikely]]
      fail(status, function);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void fail(cl_int status, const char* function) {
    if (status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
        status == CL_OUT_OF_HOST_MEMORY)
      throw MemoryError(
          fmt::format("{} found no memory on {} (OpenCL status {}); free tensors, or pass smaller ones",
                      function, facts_.name, status));
    if (status == CL_DEVICE_NOT_AVAILABLE || status == CL_INVALID_COMMAND_QUEUE ||
        status == CL_INVALID_CONTEXT)
      lose(status, function);
    throw DeviceError(fmt::format("{} failed on {} with OpenCL status {}", function, facts_.name, status));
  }
  void lose(cl_int status, const char* function) {
    if (is_lost_.load()) return;
    lost_facts_ = facts_;
    lost_facts_.refusal = fmt::format("the device was lost: {} returned OpenCL status {}", function, status);
    is_lost_.store(true, std::memory_order_release);
  }

  // Not std::call_once: see wire_runtime().
  std::mutex asking_;
  std::atomic<bool> is_asked_ = false;
  Library library_;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  DeviceFacts facts_, lost_facts_, facts_of_child_;
  std::atomic<bool> is_lost_ = false;
  std::vector<cl_mem> segments_;
  std::array<StreamState, kMaxStreams> streams_;
  std::list<Function> functions_;
  std::map<cl_program, std::string> unsaved_;  // all that the binary of a program depends on
};

void OpenClDevice::ask() {
  const std::lock_guard lock(asking_);
  if (is_asked_.load(std::memory_order_relaxed)) return;
  find();
  is_asked_.store(true, std::memory_order_release);
}

// What is queued ends before the process does. Functions of atexit run before the destructors of what existed
// when they were registered, so this comes after the driver has compiled a kernel.
void OpenClDevice::finish_at_exit() {
  [[maybe_unused]] static const int registered = std::atexit([] {
    OpenClDevice* const device = in_use.load();
    if (device == nullptr || is_without_driver.load()) return;
    for (const StreamState& stream : device->streams_)
      if (stream.queue != nullptr) device->library_.clFinish(stream.queue);
  });
  OpenClDevice* none = nullptr;
  in_use.compare_exchange_strong(none, this);
}

void OpenClDevice::find() {
  facts_.name = "OpenCL";
  facts_.kernels = DeviceType::OpenCl;
  facts_.refusal = load_library(library_);
  if (!facts_.refusal.empty()) return;
  device_ = find_device(library_, facts_.refusal);
  if (device_ == nullptr) return;
  facts_.name = text(library_, device_, CL_DEVICE_NAME);
  facts_.driver =
      text(library_, device_, CL_DEVICE_VERSION) + ", driver " + text(library_, device_, CL_DRIVER_VERSION);
  facts_.memory_bytes =
      static_cast<std::int64_t>(info<cl_ulong>(library_, device_, CL_DEVICE_GLOBAL_MEM_SIZE));
  facts_.max_segment_bytes =
      std::min(static_cast<std::int64_t>(info<cl_ulong>(library_, device_, CL_DEVICE_MAX_MEM_ALLOC_SIZE)),
               std::int64_t{1} << kSegmentShift);
  facts_.processors = static_cast<int>(info<cl_uint>(library_, device_, CL_DEVICE_MAX_COMPUTE_UNITS));
  facts_.is_cpu = (info<cl_device_type>(library_, device_, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  facts_.has_f64 = info<cl_device_fp_config>(library_, device_, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  facts_.refusal = refusal_of(library_, device_);
  if (!facts_.refusal.empty()) return;
  cl_int status = CL_SUCCESS;
  context_ = library_.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
  if (status != CL_SUCCESS) {
    facts_.refusal = fmt::format("clCreateContext returned OpenCL status {}", status);
    return;
  }
  facts_of_child_ = facts_;
  facts_of_child_.refusal = "this process was forked from one that had used the device";
  wire_runtime();  // the lists are those of ops that are registered
  [[maybe_unused]] static const bool is_registered = [this] {
    grid::register_kernels(DeviceType::OpenCl, {facts_.has_f64, facts_.is_cpu});
    set_loop_compiler(DeviceType::OpenCl, grid::compile_loops);
    return true;
  }();
}

constexpr const char* kBuildOptions = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";

// A program that an earlier process has built, from the cache on disk; null if there is none.
cl_program OpenClDevice::program_from_cache(const std::string& content) {
  const std::optional<codegen::CachedBinary> found = codegen::find_cached_binary(content);
  if (!found) return nullptr;
  const std::size_t size = found->bytes.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(found->bytes.data());
  cl_int status = CL_SUCCESS, of_binary = CL_SUCCESS;
  cl_program const program =
      library_.clCreateProgramWithBinary(context_, 1, &device_, &size, &bytes, &of_binary, &status);
  if (status == CL_SUCCESS &&
      after_fault(library_.clBuildProgram(program, 1, &device_, kBuildOptions, nullptr, nullptr),
                  "clBuildProgram") == CL_SUCCESS)
    return program;
  if (status == CL_SUCCESS) library_.clReleaseProgram(program);
  return nullptr;
}

// Called after the first launch of a function: a driver may finish its code for the size of the group then.
void OpenClDevice::store_in_cache(const Function& function) {
  codegen::CachedBinary binary{{function.name}, {}};
  std::size_t size = 0;
  library_.clGetProgramInfo(function.unsaved, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  binary.bytes.resize(size);
  auto* bytes = reinterpret_cast<unsigned char*>(binary.bytes.data());
  if (size != 0 && library_.clGetProgramInfo(function.unsaved, CL_PROGRAM_BINARIES, sizeof bytes,
                                             static_cast<void*>(&bytes), nullptr) == CL_SUCCESS)
    codegen::store_cached_binary(unsaved_[function.unsaved], binary);
}

ModuleHandle OpenClDevice::build(const DeviceSource& source) {
  // All that the binary depends on.
  const std::string content =
      fmt::format("opencl\n{}\n{}\n{}\n{}", facts_.name, facts_.driver, kBuildOptions, source.text);
  if (cl_program const cached = program_from_cache(content); cached != nullptr)
    return ModuleHandle(reinterpret_cast<std::uintptr_t>(cached));
  const char* text = source.text.c_str();
  cl_int status = CL_SUCCESS;
  cl_program const program = library_.clCreateProgramWithSource(context_, 1, &text, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  status = after_fault(library_.clBuildProgram(program, 1, &device_, kBuildOptions, nullptr, nullptr),
                       "clBuildProgram");
  if (status == CL_BUILD_PROGRAM_FAILURE) {
    std::size_t size = 0;
    library_.clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    library_.clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    library_.clReleaseProgram(program);
    throw DeviceError(
        fmt::format("the compiler of {} refused the kernel {}:\n{}", facts_.name, source.name, log.c_str()));
  }
  if (status != CL_SUCCESS) library_.clReleaseProgram(program);
  check(status, "clBuildProgram");
  if (KernelCache::directory()) unsaved_[program] = content;
  return ModuleHandle(reinterpret_cast<std::uintptr_t>(program));
}

FunctionHandle OpenClDevice::function(ModuleHandle module, const char* name) {
  cl_int status = CL_SUCCESS;
  auto* const program = reinterpret_cast<cl_program>(static_cast<std::uintptr_t>(module));
  cl_kernel const kernel = library_.clCreateKernel(program, name, &status);
  check(status, "clCreateKernel");
  Function& function = functions_.emplace_back(Function{name, kernel, {}, nullptr, false, nullptr, false});
  if (unsaved_.contains(program)) function.unsaved = program;
  return FunctionHandle(reinterpret_cast<std::uintptr_t>(&function));
}

FunctionHandle OpenClDevice::copy(FunctionHandle handle) {
  Function& of = *reinterpret_cast<Function*>(static_cast<std::uintptr_t>(handle));
  cl_program program = nullptr;
  check(library_.clGetKernelInfo(of.kernel, CL_KERNEL_PROGRAM, sizeof(cl_program),
                                 static_cast<void*>(&program), nullptr),
        "clGetKernelInfo");
  cl_int status = CL_SUCCESS;
  cl_kernel const kernel = library_.clCreateKernel(program, of.name.c_str(), &status);
  check(status, "clCreateKernel");
  Function& made = functions_.emplace_back(Function{of.name, kernel, {}, nullptr, false, &of, false});
  return FunctionHandle(reinterpret_cast<std::uintptr_t>(&made));
}

void OpenClDevice::drop(FunctionHandle handle) noexcept {
  auto* const dropped = reinterpret_cast<Function*>(static_cast<std::uintptr_t>(handle));
  library_.clReleaseKernel(dropped->kernel);  // commands that are queued hold it
  functions_.remove_if([&](const Function& function) { return &function == dropped; });
}

void OpenClDevice::launch(StreamHandle handle, FunctionHandle number, const LaunchShape& shape,
                          const LaunchArgs& args) {
  StreamState& stream = state(handle);
  Function& function = *reinterpret_cast<Function*>(static_cast<std::uintptr_t>(number));
  const std::size_t count = args.addresses.size();
  function.memory.resize(count + 1);
  const auto set_memory = [&](std::size_t i, cl_mem memory) {
    if (function.memory[i] == memory) return;
    check(library_.clSetKernelArg(function.kernel, static_cast<cl_uint>(i), sizeof(cl_mem), &memory),
          "clSetKernelArg");
    function.memory[i] = memory;
  };
  bool has_changed = !function.has_numbers;
  const auto set_number = [&](std::size_t i, std::int64_t value) {
    has_changed = has_changed || args.numbers[i] != value;
    args.numbers[i] = value;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* const address = args.addresses[i];  // null: the tensor has no elements
    set_memory(i, address == nullptr ? stream.status : segments_[segment_of(address)]);
    set_number(i, address == nullptr ? 0 : static_cast<std::int64_t>(offset_of(address)));
  }
  set_memory(count, stream.status);
  // Only a report has the number of the launch.
  set_number(count, args.may_report ? static_cast<std::int64_t>(stream.launches) : 0);
  if (has_changed) {
    check(library_.clSetKernelArg(function.kernel, static_cast<cl_uint>(count + 1),
                                  args.number_count * sizeof(std::int64_t), args.numbers),
          "clSetKernelArg");
    function.has_numbers = args.is_repeated;
  }
  const std::size_t items[3] = {shape.items[0], shape.items[1], shape.items[2]};
  const std::size_t group[3] = {shape.group[0], shape.group[1], shape.group[2]};
  const cl_uint axes = items[2] > 1 ? 3 : items[1] > 1 ? 2 : 1;
  check(library_.clEnqueueNDRangeKernel(stream.queue, function.kernel, axes, nullptr, items, group, 0,
                                        nullptr, stream.times.next()),
        "clEnqueueNDRangeKernel");
  if (args.may_report) {
    // Without waits the list would grow for ever. An error of a launch that is dropped has no line.
    constexpr std::size_t kMaxFallible = 1 << 16;
    if (stream.fallible.size() >= kMaxFallible)
      stream.fallible.erase(stream.fallible.begin(), stream.fallible.begin() + kMaxFallible / 2);
    stream.fallible.push_back({stream.launches, stream.op_name, stream.site});
  }
  note_added(stream);
  Function& first = function.of == nullptr ? function : *function.of;
  if (first.has_run) [[likely]]
    return;
  // A driver may compile a kernel when it is launched first. That must not go on while the process ends.
  library_.clFinish(stream.queue);
  first.has_run = true;
  finish_at_exit();
  if (first.unsaved == nullptr) return;
  store_in_cache(first);
  unsaved_.erase(first.unsaved);
  first.unsaved = nullptr;
}

std::optional<LateError> OpenClDevice::take_error(StreamHandle handle) {
  StreamState& stream = state(handle);
  if (const cl_int status = stream.failure.exchange(CL_SUCCESS); status != CL_SUCCESS) {
    lose(status, "clWaitForEvents");
    return LateError{
        std::make_exception_ptr(DeviceError(fmt::format(
            "a kernel failed on {}: clWaitForEvents returned OpenCL status {}", facts_.name, status))),
        stream.op_name, stream.site};
  }
  if (stream.times.are_on()) stream.times.collect();
  if (stream.fallible.empty()) return std::nullopt;
  std::vector<Fallible> launches;
  launches.swap(stream.fallible);
  Report report{};
  check(library_.clEnqueueReadBuffer(stream.queue, stream.status, CL_TRUE, 0, sizeof report, &report, 0,
                                     nullptr, nullptr),
        "clEnqueueReadBuffer");
  if (report.is_set == 0) return std::nullopt;
  clear_report(stream);
  LateError late{nullptr, "", {}};
  for (const Fallible& each : launches) {
    if (static_cast<cl_long>(each.launch) != report.launch) continue;
    late.op_name = each.op_name;
    late.site = each.site;
  }
  late.error = grid::error_of_report(report.code, report.value, report.bound);
  return late;
}

}  // namespace

std::unique_ptr<AsyncDevice> make_opencl_device() { return std::make_unique<OpenClDevice>(); }

}  // namespace pel::opencl
