// A CUDA driver for tests, without a GPU: the functions that src/backends/cuda uses, over memory of the host.
//
// A stream is a queue of commands. They run when somebody waits or asks, one at a time, and chance decides
// which stream goes on: an order between streams that nobody asked for does not happen by luck. Kernels are
// interpreted (ptx_module.h). A command sees memory as it is when it runs, so pinned memory that is reused
// too early, or device memory that is freed too early, is a wrong result or a fault. PELLUCID_SEED decides
// the order.
//
// Graphs are captured from one stream, as a list of its launches. What a capture forbids makes it invalid.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/driver.h"
#include "support/cuda_driver/controls.h"
#include "support/cuda_driver/ptx_module.h"

namespace pel::test {
namespace {

using cuda::Address;
using cuda::Result;

constexpr Result kInvalidValue = 1, kInvalidContext = 201, kInvalidPtx = 218, kInvalidHandle = 400,
                 kNotFound = 500, kIllegalAddress = 700, kLaunchFailed = 719, kCaptureUnsupported = 900,
                 kCaptureInvalidated = 901, kIllegalState = 401;

// One record of an event; the handle is reused for the next.
struct Recorded {
  bool has_passed = false;
};
struct TestEvent {
  int number = 0;
  std::shared_ptr<Recorded> last;
};
struct Command {
  std::function<void()> run;        // empty: nothing
  std::shared_ptr<Recorded> waits;  // for this
};
// Kernels in their order: all are captured from one stream.
using Nodes = std::vector<std::function<void()>>;
struct TestGraph {
  int number = 0;
  Nodes nodes;
};
struct TestGraphExec {
  int number = 0;
  std::shared_ptr<const Nodes> nodes;  // launches that are queued hold them
};
struct TestStream {
  int number = 0;
  std::deque<Command> commands;
  std::unique_ptr<TestGraph> captures;  // what is launched becomes nodes of it
  bool is_capture_valid = true;
};
struct TestModule {
  std::unique_ptr<ptx::Module> module;
  std::deque<std::pair<std::string, const ptx::Function*>> functions;
};
using TestFunction = std::pair<std::string, const ptx::Function*>;

std::uint64_t seed() {
  const char* const text = std::getenv("PELLUCID_SEED");
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : 20240229;
}

struct Driver {
  std::mutex mutex;
  std::map<Address, std::size_t> memory;
  std::map<Address, int> names;  // of memory, for the log
  std::size_t memory_bytes = 0;
  std::vector<std::unique_ptr<TestStream>> streams;
  std::vector<std::unique_ptr<TestModule>> modules;
  int events = 0, allocations = 0, graphs = 0, graph_execs = 0;
  std::size_t capacity = std::size_t{8} << 30;
  std::mt19937_64 random{seed()};
  Result sticky = cuda::kSuccess;

  bool logs = false, refuses_module = false, ignores_waits = false;
  int allocations_until_failure = 0, kernels_until_failure = 0;
  CaptureFault capture_fault = CaptureFault::None;
  // A planted fault for programs that do not call the controls: one kernel in eight is not run.
  bool omits_kernels = std::getenv("PELLUCID_TEST_DRIVER_OMITS") != nullptr;
  std::uint64_t kernels = 0;
  std::string log, returned_log;
};
// Never destroyed: the library is never unloaded.
Driver& driver() {
  static auto* const instance = new Driver;
  return *instance;
}
thread_local std::vector<cuda::Context> contexts;  // the stack of this thread
thread_local TestStream* captured_here =
    nullptr;  // of this thread, which may not do what a graph cannot hold

cuda::Context the_context() { return reinterpret_cast<cuda::Context>(&driver()); }
bool has_context() { return !contexts.empty() && contexts.back() == the_context(); }

bool is_allocated(std::uint64_t address, std::size_t size) {
  const auto after = driver().memory.upper_bound(address);
  if (after == driver().memory.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return address + size <= begin + bytes;
}
std::string name_of(Address address) {
  if (address == 0) return "0";
  const auto after = driver().names.upper_bound(address);
  if (after == driver().names.begin()) return "unknown";
  const auto& [begin, number] = *std::prev(after);
  return "m" + std::to_string(number) + (address == begin ? "" : "+" + std::to_string(address - begin));
}
template <class... Parts>
void write_down(const Parts&... parts) {
  if (!driver().logs) return;
  const auto text = [](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) {
      return std::to_string(part);
    } else {
      return std::string(part);
    }
  };
  ((driver().log += text(parts)), ...);
  driver().log += '\n';
}

TestStream& stream_of(cuda::Stream_ handle) { return *reinterpret_cast<TestStream*>(handle); }
TestEvent& event_of(cuda::Event_ handle) { return *reinterpret_cast<TestEvent*>(handle); }
bool may_run(const TestStream& stream) {
  if (stream.commands.empty()) return false;
  const Command& next = stream.commands.front();
  return next.waits == nullptr || next.waits->has_passed || driver().ignores_waits;
}
// Runs one command of some stream; false: none can run.
bool run_one() {
  std::vector<TestStream*> ready;
  for (const auto& stream : driver().streams)
    if (may_run(*stream)) ready.push_back(stream.get());
  if (ready.empty()) return false;
  TestStream& stream = *ready[driver().random() % ready.size()];
  const Command command = std::move(stream.commands.front());
  stream.commands.pop_front();
  if (command.run && driver().sticky == cuda::kSuccess) command.run();
  return true;
}
template <class Done>
Result run_until(const Done& done) {
  while (!done())
    if (!run_one()) return kLaunchFailed;  // streams wait for each other
  return driver().sticky;
}
void add(TestStream& stream, std::function<void()> run) {
  stream.commands.push_back({std::move(run), nullptr});
}

void run_kernel(const TestFunction& function, const ptx::Dim3& grid, const ptx::Dim3& block,
                const std::vector<std::vector<char>>& values) {
  Driver& d = driver();
  if (d.kernels_until_failure > 0 && --d.kernels_until_failure == 0) {
    d.sticky = kIllegalAddress;
    return;
  }
  if (d.omits_kernels && ++d.kernels % 8 == 0) return;
  std::vector<const void*> parameters;
  for (const std::vector<char>& value : values) parameters.push_back(value.data());
  const std::uint64_t order = d.random();
  try {
    ptx::run(*function.second, grid, block, parameters.data(), is_allocated, order);
  } catch (const ptx::MemoryFault& fault) {
    std::fprintf(stderr, "test driver, PELLUCID_SEED=%llu: %s\n", static_cast<unsigned long long>(seed()),
                 fault.what());
    d.sticky = kIllegalAddress;
  } catch (const ptx::PtxError& error) {
    std::fprintf(stderr, "test driver, PELLUCID_SEED=%llu: %s\n", static_cast<unsigned long long>(seed()),
                 error.what());
    d.sticky = kLaunchFailed;
  }
}

}  // namespace
}  // namespace pel::test

using namespace pel::test;
using namespace pel::cuda;

// Of all functions that need a context: the lock, and the errors that any call returns.
#define PEL_ENTER                                        \
  pel::test::Driver& d = driver();                       \
  const std::lock_guard lock(d.mutex);                   \
  if (!has_context()) return pel::test::kInvalidContext; \
  if (d.sticky != kSuccess) return d.sticky;

// Of those among them that a capture of this thread forbids: they make it invalid.
#define PEL_ENTER_UNCAPTURED                 \
  PEL_ENTER                                  \
  if (captured_here != nullptr) {            \
    captured_here->is_capture_valid = false; \
    return pel::test::kCaptureUnsupported;   \
  }

extern "C" {

Result cuInit(unsigned flags) {
  const std::lock_guard lock(driver().mutex);
  write_down("cuInit()");
  return flags == 0 ? kSuccess : pel::test::kInvalidValue;
}
Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
Result cuGetErrorName(Result status, const char** name) {
  static const std::map<Result, const char*> names = {
      {kSuccess, "CUDA_SUCCESS"},
      {pel::test::kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {pel::test::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {pel::test::kInvalidPtx, "CUDA_ERROR_INVALID_PTX"},
      {pel::test::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {pel::test::kNotFound, "CUDA_ERROR_NOT_FOUND"},
      {kNotReady, "CUDA_ERROR_NOT_READY"},
      {pel::test::kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {pel::test::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {pel::test::kIllegalState, "CUDA_ERROR_ILLEGAL_STATE"},
      {pel::test::kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {pel::test::kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}};
  const auto found = names.find(status);
  if (found == names.end()) return pel::test::kInvalidValue;
  *name = found->second;
  return kSuccess;
}
Result cuDeviceGetCount(int* count) {
  *count = 1;
  return kSuccess;
}
Result cuDeviceGet(int* device, int ordinal) {
  *device = 0;
  return ordinal == 0 ? kSuccess : 101;
}
Result cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "test driver");
  return kSuccess;
}
Result cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == kProcessorCount ? 1 : attribute == kCapabilityMajor ? 9 : 0;
  return kSuccess;
}
Result cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = driver().capacity;
  return kSuccess;
}
Result cuDevicePrimaryCtxRetain(Context* context, int) {
  const std::lock_guard lock(driver().mutex);
  write_down("cuDevicePrimaryCtxRetain()");
  *context = the_context();
  return kSuccess;
}
Result cuCtxPushCurrent_v2(Context context) {
  contexts.push_back(context);
  return kSuccess;
}
Result cuCtxPopCurrent_v2(Context* context) {
  if (contexts.empty()) return pel::test::kInvalidContext;
  *context = contexts.back();
  contexts.pop_back();
  return kSuccess;
}

Result cuMemAlloc_v2(Address* address, std::size_t bytes) {
  PEL_ENTER_UNCAPTURED
  const bool fails = d.allocations_until_failure == 1;
  if (d.allocations_until_failure > 1) --d.allocations_until_failure;
  if (bytes == 0) return pel::test::kInvalidValue;
  if (fails || d.memory_bytes + bytes > d.capacity) {
    write_down("cuMemAlloc(", bytes, ") = out of memory");
    return kOutOfMemory;
  }
  void* const memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (memory == nullptr) return kOutOfMemory;
  std::memset(memory, 0xa5, std::min<std::size_t>(bytes, 1 << 20));  // nothing relies on zeros
  *address = reinterpret_cast<Address>(memory);
  d.memory[*address] = bytes;
  d.names[*address] = ++d.allocations;
  d.memory_bytes += bytes;
  write_down("cuMemAlloc(", bytes, ") = ", name_of(*address));
  return kSuccess;
}
Result cuMemFree_v2(Address address) {
  PEL_ENTER_UNCAPTURED
  const auto found = d.memory.find(address);
  if (found == d.memory.end()) return pel::test::kInvalidValue;
  write_down("cuMemFree(", name_of(address), ")");
  d.memory_bytes -= found->second;
  d.memory.erase(found);
  d.names.erase(address);
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
Result cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  PEL_ENTER_UNCAPTURED
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  write_down("cuMemAllocHost(", bytes, ")");
  return *memory == nullptr ? kOutOfMemory : kSuccess;
}
Result cuMemFreeHost(void* memory) {
  PEL_ENTER_UNCAPTURED
  std::free(memory);
  write_down("cuMemFreeHost()");
  return kSuccess;
}
Result cuMemcpyHtoDAsync_v2(Address dst, const void* src, std::size_t bytes, Stream_ stream) {
  PEL_ENTER_UNCAPTURED
  write_down("cuMemcpyHtoDAsync(", name_of(dst), ", ", bytes, ", s", stream_of(stream).number, ")");
  if (!is_allocated(dst, bytes)) return pel::test::kInvalidValue;
  add(stream_of(stream), [=] {
    if (!is_allocated(dst, bytes)) {
      driver().sticky = pel::test::kIllegalAddress;
      return;
    }
    std::memcpy(reinterpret_cast<void*>(dst), src, bytes);
  });
  return kSuccess;
}
Result cuMemcpyDtoHAsync_v2(void* dst, Address src, std::size_t bytes, Stream_ stream) {
  PEL_ENTER_UNCAPTURED
  write_down("cuMemcpyDtoHAsync(", name_of(src), ", ", bytes, ", s", stream_of(stream).number, ")");
  if (!is_allocated(src, bytes)) return pel::test::kInvalidValue;
  add(stream_of(stream), [=] {
    if (!is_allocated(src, bytes)) {
      driver().sticky = pel::test::kIllegalAddress;
      return;
    }
    std::memcpy(dst, reinterpret_cast<const void*>(src), bytes);
  });
  return kSuccess;
}
Result cuMemsetD8Async(Address dst, unsigned char value, std::size_t bytes, Stream_ stream) {
  PEL_ENTER_UNCAPTURED
  write_down("cuMemsetD8Async(", name_of(dst), ", ", bytes, ", s", stream_of(stream).number, ")");
  if (!is_allocated(dst, bytes)) return pel::test::kInvalidValue;
  add(stream_of(stream), [=] { std::memset(reinterpret_cast<void*>(dst), value, bytes); });
  return kSuccess;
}

Result cuStreamCreate(Stream_* stream, unsigned) {
  PEL_ENTER
  d.streams.push_back(std::make_unique<TestStream>());
  d.streams.back()->number = static_cast<int>(d.streams.size());
  *stream = reinterpret_cast<Stream_>(d.streams.back().get());
  write_down("cuStreamCreate() = s", d.streams.back()->number);
  return kSuccess;
}
Result cuStreamWaitEvent(Stream_ stream, Event_ event, unsigned) {
  PEL_ENTER_UNCAPTURED
  write_down("cuStreamWaitEvent(s", stream_of(stream).number, ", e", event_of(event).number, ")");
  if (event_of(event).last != nullptr) stream_of(stream).commands.push_back({{}, event_of(event).last});
  return kSuccess;
}
Result cuStreamSynchronize(Stream_ stream) {
  PEL_ENTER_UNCAPTURED
  write_down("cuStreamSynchronize(s", stream_of(stream).number, ")");
  return run_until([&] { return stream_of(stream).commands.empty(); });
}
Result cuEventCreate(Event_* event, unsigned) {
  PEL_ENTER
  *event = reinterpret_cast<Event_>(new TestEvent{++d.events, nullptr});
  return kSuccess;
}
Result cuEventRecord(Event_ event, Stream_ stream) {
  PEL_ENTER_UNCAPTURED
  write_down("cuEventRecord(e", event_of(event).number, ", s", stream_of(stream).number, ")");
  const auto recorded = std::make_shared<Recorded>();
  event_of(event).last = recorded;
  // Passes after an error, too, so that nobody waits for ever.
  stream_of(stream).commands.push_back({[recorded] { recorded->has_passed = true; }, nullptr});
  return kSuccess;
}
Result cuEventQuery(Event_ event) {
  PEL_ENTER_UNCAPTURED
  const std::shared_ptr<Recorded> recorded = event_of(event).last;
  if (recorded == nullptr || recorded->has_passed) return kSuccess;
  run_one();
  if (d.sticky != kSuccess) return d.sticky;
  return recorded->has_passed ? kSuccess : kNotReady;
}
Result cuEventSynchronize(Event_ event) {
  PEL_ENTER_UNCAPTURED
  write_down("cuEventSynchronize(e", event_of(event).number, ")");
  const std::shared_ptr<Recorded> recorded = event_of(event).last;
  return run_until(
      [&] { return recorded == nullptr || recorded->has_passed || driver().sticky != kSuccess; });
}
Result cuEventDestroy_v2(Event_ event) {
  PEL_ENTER
  delete &event_of(event);
  return kSuccess;
}

Result cuModuleLoadDataEx(Module_* module, const void* image, unsigned count, int* options, void** values) {
  PEL_ENTER_UNCAPTURED
  auto made = std::make_unique<TestModule>();
  try {
    if (std::exchange(d.refuses_module, false)) throw ptx::PtxError("refused by the test");
    made->module = std::make_unique<ptx::Module>(static_cast<const char*>(image));
  } catch (const std::exception& error) {
    std::size_t size = 0;
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == kErrorLogSize) size = reinterpret_cast<std::size_t>(values[i]);
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == kErrorLog) std::snprintf(static_cast<char*>(values[i]), size, "%s", error.what());
    write_down("cuModuleLoadDataEx() = invalid PTX");
    return pel::test::kInvalidPtx;
  }
  write_down("cuModuleLoadDataEx()");
  *module = reinterpret_cast<Module_>(d.modules.emplace_back(std::move(made)).get());
  return kSuccess;
}
Result cuModuleGetFunction(Function_* function, Module_ module, const char* name) {
  PEL_ENTER
  auto& from = *reinterpret_cast<TestModule*>(module);
  const ptx::Function* const found = from.module->find(name);
  if (found == nullptr) return pel::test::kNotFound;
  *function = reinterpret_cast<Function_>(&from.functions.emplace_back(name, found));
  write_down("cuModuleGetFunction(", name, ")");
  return kSuccess;
}
Result cuLaunchKernel(Function_ handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned, Stream_ stream, void** parameters,
                      void**) {
  PEL_ENTER
  const TestFunction& function = *reinterpret_cast<TestFunction*>(handle);
  const ptx::Dim3 grid = {grid_x, grid_y, grid_z}, block = {block_x, block_y, block_z};
  const auto is_wrong = [](unsigned n, unsigned most) { return n == 0 || n > most; };
  if (is_wrong(grid_x, 0x7fffffff) || is_wrong(grid_y, 65535) || is_wrong(grid_z, 65535) ||
      is_wrong(block_x, 1024) || is_wrong(block_y, 1024) || is_wrong(block_z, 64) ||
      std::uint64_t{block_x} * block_y * block_z > 1024)
    return pel::test::kInvalidValue;
  std::vector<std::vector<char>> values;
  std::string memory;
  const std::vector<std::size_t> sizes = ptx::parameter_sizes(*function.second);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const char* const from = static_cast<const char*>(parameters[i]);
    values.emplace_back(from, from + sizes[i]);
    if (!d.logs || i + 1 == sizes.size()) continue;
    Address address = 0;
    std::memcpy(&address, from, sizeof address);
    memory += ", " + name_of(address);
  }
  const auto shape = [](const ptx::Dim3& of) {
    return std::to_string(of[0]) + "x" + std::to_string(of[1]) + "x" + std::to_string(of[2]);
  };
  write_down("cuLaunchKernel(", function.first, ", ", shape(grid), ", ", shape(block), ", s",
             stream_of(stream).number, memory, ", ", sizes.back(), " bytes)");
  auto run = [&function, grid, block, values = std::move(values)] {
    run_kernel(function, grid, block, values);
  };
  if (TestGraph* const graph = stream_of(stream).captures.get(); graph != nullptr) {
    if (d.capture_fault == CaptureFault::Launch) {
      stream_of(stream).is_capture_valid = false;
      return pel::test::kInvalidValue;
    }
    graph->nodes.push_back(std::move(run));
  } else {
    add(stream_of(stream), std::move(run));
  }
  return kSuccess;
}

Result cuStreamBeginCapture_v2(Stream_ handle, int mode) {
  PEL_ENTER
  TestStream& stream = stream_of(handle);
  if (mode != kCaptureOfThread || d.capture_fault == CaptureFault::Begin) return pel::test::kInvalidValue;
  if (stream.captures != nullptr) return pel::test::kIllegalState;
  write_down("cuStreamBeginCapture(s", stream.number, ")");
  stream.captures = std::make_unique<TestGraph>();
  stream.is_capture_valid = true;
  captured_here = &stream;
  return kSuccess;
}
Result cuStreamEndCapture(Stream_ handle, Graph_* graph) {
  PEL_ENTER
  TestStream& stream = stream_of(handle);
  *graph = nullptr;
  if (stream.captures == nullptr || captured_here != &stream) return pel::test::kIllegalState;
  captured_here = nullptr;
  const std::unique_ptr<TestGraph> made = std::move(stream.captures);
  if (!stream.is_capture_valid || d.capture_fault == CaptureFault::End) {
    write_down("cuStreamEndCapture(s", stream.number, ") = invalidated");
    return pel::test::kCaptureInvalidated;
  }
  auto* const kept = new TestGraph(std::move(*made));
  kept->number = ++d.graphs;
  write_down("cuStreamEndCapture(s", stream.number, ") = g", kept->number);
  *graph = reinterpret_cast<Graph_>(kept);
  return kSuccess;
}
Result cuGraphInstantiateWithFlags(GraphExec_* exec, Graph_ handle, unsigned long long) {
  PEL_ENTER
  const auto& graph = *reinterpret_cast<TestGraph*>(handle);
  if (d.capture_fault == CaptureFault::Instantiate) {
    write_down("cuGraphInstantiate(g", graph.number, ") = out of memory");
    return kOutOfMemory;
  }
  auto* const made = new TestGraphExec{++d.graph_execs, std::make_shared<const Nodes>(graph.nodes)};
  write_down("cuGraphInstantiate(g", graph.number, ", ", graph.nodes.size(), " nodes) = x", made->number);
  *exec = reinterpret_cast<GraphExec_>(made);
  return kSuccess;
}
Result cuGraphLaunch(GraphExec_ handle, Stream_ stream) {
  PEL_ENTER_UNCAPTURED
  const auto& exec = *reinterpret_cast<TestGraphExec*>(handle);
  write_down("cuGraphLaunch(x", exec.number, ", s", stream_of(stream).number, ")");
  // A command each: other streams may run between the kernels of a graph.
  for (std::size_t i = 0; i < exec.nodes->size(); ++i)
    add(stream_of(stream), [nodes = exec.nodes, i] { (*nodes)[i](); });
  return kSuccess;
}
Result cuGraphExecDestroy(GraphExec_ handle) {
  PEL_ENTER
  auto* const exec = reinterpret_cast<TestGraphExec*>(handle);
  write_down("cuGraphExecDestroy(x", exec->number, ")");
  delete exec;
  return kSuccess;
}
Result cuGraphDestroy(Graph_ handle) {
  PEL_ENTER
  delete reinterpret_cast<TestGraph*>(handle);
  return kSuccess;
}

const char* pel_test_driver_log(int is_on) {
  pel::test::Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  d.returned_log = std::exchange(d.log, {});
  d.logs = is_on != 0;
  return d.returned_log.c_str();
}
void pel_test_driver_fail_allocation(int n) {
  const std::lock_guard lock(driver().mutex);
  driver().allocations_until_failure = n;
}
void pel_test_driver_refuse_module() {
  const std::lock_guard lock(driver().mutex);
  driver().refuses_module = true;
}
void pel_test_driver_fail_kernel(int n) {
  const std::lock_guard lock(driver().mutex);
  driver().kernels_until_failure = n;
}
void pel_test_driver_ignore_waits(int is_on) {
  const std::lock_guard lock(driver().mutex);
  driver().ignores_waits = is_on != 0;
}
void pel_test_driver_fail_capture(int at) {
  const std::lock_guard lock(driver().mutex);
  driver().capture_fault = static_cast<CaptureFault>(at);
}
void pel_test_driver_set_memory(long long bytes) {
  const std::lock_guard lock(driver().mutex);
  driver().capacity = static_cast<std::size_t>(bytes);
}
long long pel_test_driver_bytes() {
  const std::lock_guard lock(driver().mutex);
  return static_cast<long long>(driver().memory_bytes);
}

}  // extern "C"
