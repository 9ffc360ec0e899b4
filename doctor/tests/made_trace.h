// Traces as PyTorch's profiler would have written them, with truths that are known because they were planted:
// how long the host takes for an op, how long kernels run, where the host waits, which rank is late. Of any
// length, made step by step, and the same for the same plan.
//
//   const std::string text = made_trace({.steps = 3, .kernel_ns = 5000});
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "doctor/readers/byte_source.h"

namespace pel::test {

struct TracePlan {
  std::uint64_t seed = 1;
  std::int64_t steps = 3;
  std::int64_t ops_per_step = 40;   // of the forward pass, each with one launch; a backward pass has as many
  std::int64_t dispatch_ns = 8000;  // of the host, from one op to the next
  std::int64_t kernel_ns = 5000;
  int jitter_percent = 0;                 // kernels last up to so much more or less, by the seed
  std::int64_t launch_latency_ns = 2000;  // from the end of a launch to a kernel that finds its stream idle
  int streams = 1;                        // kernels take turns on them
  bool has_backward = true;               // on a thread of its own
  std::int64_t syncs_per_step = 1;  // aten::item: a copy to the host, and a wait until the stream is empty
  std::int64_t loader_ns = 0;       // at the beginning of a step
  std::int64_t pause_ns = 0;        // of the host at its end, with nothing in the trace
  std::int64_t graphs_per_step = 0, kernels_per_graph = 0;
  // Collectives start on all ranks when the last one comes: `late_rank` by so much in each step.
  std::int64_t collectives_per_step = 0, collective_ns = 100000, late_ns = 0;
  int rank = 0, world_size = 1, late_rank = -1;
  bool has_python = false, has_memory = false, has_shapes = false;
};

struct TraceTruth {
  std::int64_t steps = 0, ops = 0, kernels = 0, copies = 0, launches = 0, graph_launches = 0, syncs = 0;
  std::int64_t collectives = 0, python_functions = 0, memory_events = 0, flows = 0, events = 0;
  std::int64_t kernel_ns = 0;  // of all kernels together
  std::int64_t wait_ns = 0;    // of the host in its syncs
  std::int64_t loader_ns = 0;
  std::int64_t first_ns = 0, last_ns = 0;  // of the steps, on the host
  std::uint64_t bytes = 0;
};

class TraceGenerator {
 public:
  explicit TraceGenerator(const TracePlan& plan)
      : plan_(plan), random_(plan.seed), free_at_(static_cast<std::size_t>(plan.streams), 0) {
    truth_.first_ns = now_;
  }
  const TraceTruth& truth() const { return truth_; }

  std::string head() {
    add(R"({{
  "schemaVersion": 1,
  "deviceProperties": [
    {{
      "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 84942979072,
      "computeMajor": 9, "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 132
    }}
  ],
  "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1759208138000000000,
  "traceEvents": [
)",
        plan_.rank, plan_.world_size);
    const auto row = [&](std::string_view key, std::int64_t process, std::int64_t thread,
                         std::string_view label) {
      event(R"(    "name": "{}", "ph": "M", "ts": 0, "pid": {}, "tid": {},
    "args": {{
      "{}": "{}"
    }})",
            key, process, thread, key == "process_labels" ? "labels" : "name", label);
    };
    row("process_name", kHost, 0, "python");
    row("process_labels", kHost, 0, "CPU");
    row("process_name", 0, 0, "python");
    row("process_labels", 0, 0, "GPU 0");
    row("thread_name", kHost, kHost, "thread 4000 (python)");
    for (int i = 0; i < plan_.streams; ++i)
      row("thread_name", 0, stream(i), fmt::format("stream {} ", stream(i)));
    return take();
  }

  std::string step() {
    const std::int64_t begin = now_;
    const std::int64_t step_number = truth_.steps++;
    if (plan_.loader_ns != 0) {
      host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kHost, now_,
           plan_.loader_ns, ids());
      now_ += plan_.loader_ns;
      truth_.loader_ns += plan_.loader_ns;
    }
    const std::int64_t python = now_, first_sequence = sequence_;
    for (std::int64_t i = 0; i < plan_.ops_per_step; ++i)
      op(kForward[static_cast<std::size_t>(i) % 4], kHost, sequence_++);
    if (plan_.has_python) {
      python_function("train.py(42): step", python, now_ - python, 0);
      python_function("nn.Module: Linear_0", python, now_ - python, python_id_);
    }
    for (std::int64_t i = plan_.has_backward ? plan_.ops_per_step : 0; i-- > 0;)
      op(kBackward[static_cast<std::size_t>(i) % 4], kHost + 1, first_sequence + i);
    for (std::int64_t i = 0; i < plan_.collectives_per_step; ++i) collective();
    for (std::int64_t i = 0; i < plan_.graphs_per_step; ++i) graph();
    for (std::int64_t i = 0; i < plan_.syncs_per_step; ++i) item();
    now_ += plan_.pause_ns;
    host("user_annotation", fmt::format("ProfilerStep#{}", step_number), kHost, begin, now_ - begin, ids());
    truth_.last_ns = now_;
    return take();
  }

  std::string tail() {
    event(R"(    "ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": {})",
          time(now_));
    add("\n  ],\n  \"traceName\": \"made.json\"\n}}\n");
    return take();
  }

 private:
  struct OpKind {
    std::string_view outer, inner, kernel;
  };
  static constexpr std::int64_t kHost = 4000;
  static constexpr std::array<OpKind, 4> kForward = {{
      {"aten::linear", "aten::addmm", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas"},
      {"aten::add", "aten::add_out",
       "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
       "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"},
      {"aten::gelu", "aten::gelu_out",
       "void at::native::vectorized_elementwise_kernel<4, "
       "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
       "at::native::GeluType)::{lambda()#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)"},
      {"aten::layer_norm", "aten::native_layer_norm",
       "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, "
       "float)"},
  }};
  static constexpr std::array<OpKind, 4> kBackward = {{
      {"autograd::engine::evaluate_function: AddmmBackward0", "aten::mm",
       "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64_cublas"},
      {"autograd::engine::evaluate_function: AddBackward0", "aten::sum",
       "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
       "at::native::func_wrapper_t<float>>>(int)"},
      {"autograd::engine::evaluate_function: GeluBackward0", "aten::gelu_backward",
       "void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKernelImpl>(int)"},
      {"autograd::engine::evaluate_function: NativeLayerNormBackward0", "aten::native_layer_norm_backward",
       "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<c10::BFloat16, float>(int)"},
  }};

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    const std::string_view before = truth_.events++ == 0 ? "  {\n" : ",\n  {\n";
    text_.append(before.data(), before.data() + before.size());
    add(format, std::forward<Args>(args)...);
    add("\n  }}");
  }
  std::string take() {
    std::string text(text_.data(), text_.size());
    truth_.bytes += text.size();
    text_.clear();
    return text;
  }
  static std::string time(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }
  std::int64_t stream(int i) const { return 7 + 13 * i; }
  std::string ids() {
    ++external_;
    return fmt::format(R"("External id": {}, "Record function id": 0, "Ev Idx": {})", external_, external_);
  }
  std::int64_t jittered(std::int64_t ns) {
    if (plan_.jitter_percent == 0) return ns;
    const std::int64_t most = ns * plan_.jitter_percent / 100;
    return ns + std::uniform_int_distribution<std::int64_t>(-most, most)(random_);
  }

  void span(std::string_view category, std::string_view name, std::int64_t process, std::int64_t thread,
            std::int64_t begin, std::int64_t duration, std::string_view args) {
    event(R"(    "ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {},
    "ts": {}, "dur": {},
    "args": {{
      {}
    }})",
          category, name, process, thread, time(begin), time(duration), args);
  }
  void host(std::string_view category, std::string_view name, std::int64_t thread, std::int64_t begin,
            std::int64_t duration, std::string_view args) {
    span(category, name, kHost, thread, begin, duration, args);
  }
  void flow(char phase, std::string_view category, std::int64_t id, std::int64_t process, std::int64_t thread,
            std::int64_t at) {
    ++truth_.flows;
    event(R"(    "ph": "{}", "id": {}, "pid": {}, "tid": {}, "ts": {}, "cat": "{}", "name": "{}"{})", phase,
          id, process, thread, time(at), category, category, phase == 'f' ? R"(, "bp": "e")" : "");
  }
  void python_function(std::string_view name, std::int64_t begin, std::int64_t duration,
                       std::int64_t parent) {
    ++truth_.python_functions;
    host("python_function", name, kHost, begin, duration,
         fmt::format(R"("Python parent id": {}, "Python id": {}, "Ev Idx": {})",
                     parent == 0 ? "null" : std::to_string(parent), ++python_id_, ++external_));
  }
  void memory(std::int64_t bytes) {
    ++truth_.memory_events;
    allocated_ += bytes;
    event(R"(    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",
    "pid": {}, "tid": {}, "ts": {},
    "args": {{
      "Total Reserved": 33554432, "Total Allocated": {}, "Bytes": {}, "Addr": 140245, "Device Id": 0, "Device Type": 1
    }})",
          kHost, kHost, time(now_), allocated_, bytes);
  }

  // Activity of the device, in the order of its stream. Returns when it ends.
  std::int64_t device(std::string_view category, std::string_view name, int which, std::int64_t ready,
                      std::int64_t duration, std::int64_t correlation, std::string_view more) {
    std::int64_t& free = free_at_[static_cast<std::size_t>(which)];
    const std::int64_t begin = std::max(ready, free);
    free = begin + duration;
    span(category, name, 0, stream(which), begin, duration,
         fmt::format(R"("External id": {}, "device": 0, "context": 1, "stream": {}, "correlation": {}{})",
                     external_, stream(which), correlation, more));
    flow('f', "ac2g", correlation, 0, stream(which), begin);
    return free;
  }
  void kernel(std::string_view name, int which, std::int64_t ready, std::int64_t correlation) {
    const std::int64_t duration = jittered(plan_.kernel_ns);
    ++truth_.kernels;
    truth_.kernel_ns += duration;
    device("kernel", name, which, ready, duration, correlation,
           R"(,
      "registers per thread": 32, "shared memory": 0, "blocks per SM": 1.939394, "warps per SM": 7.757576,
      "grid": [256, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 12)");
  }
  // A call of the runtime; returns its correlation.
  std::int64_t call(std::string_view name, std::int64_t thread, std::int64_t begin, std::int64_t duration) {
    ++correlation_;
    host("cuda_runtime", name, thread, begin, duration,
         fmt::format(R"("External id": {}, "cbid": 211, "correlation": {})", external_, correlation_));
    flow('s', "ac2g", correlation_, kHost, thread, begin);
    return correlation_;
  }

  void op(const OpKind& kind, std::int64_t thread, std::int64_t sequence) {
    // The parts of an op: a quarter before the op inside it, and a quarter of that before its launch.
    const std::int64_t all = plan_.dispatch_ns * 7 / 8, inner_begin = now_ + all / 4, inner = all / 2;
    const std::int64_t launch_begin = inner_begin + inner / 4, launch = inner / 2;
    std::string args = ids();
    if (thread == kHost) {
      args += fmt::format(R"(, "Sequence number": {}, "Fwd thread id": 0)", sequence);
      if (plan_.has_backward) flow('s', "fwdbwd", sequence + 1, kHost, thread, now_);
    } else {
      args += fmt::format(R"(, "Sequence number": {}, "Fwd thread id": 1)", sequence);
      flow('f', "fwdbwd", sequence + 1, kHost, thread, now_);
    }
    if (plan_.has_shapes) {
      args += R"(,
      "Concrete Inputs": ["", "", "1"], "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"],
      "Input Strides": [[1024, 1], [1024, 1], []], "Input Dims": [[512, 1024], [512, 1024], []])";
    }
    host("cpu_op", kind.outer, thread, now_, all, args);
    host("cpu_op", kind.inner, thread, inner_begin, inner, ids());
    truth_.ops += 2;
    if (plan_.has_memory) memory(thread == kHost ? 1048576 : -1048576);
    const std::int64_t id = call("cudaLaunchKernel", thread, launch_begin, launch);
    ++truth_.launches;
    kernel(kind.kernel, static_cast<int>(truth_.kernels % plan_.streams),
           launch_begin + launch + plan_.launch_latency_ns, id);
    now_ += plan_.dispatch_ns;
  }
  void graph() {
    ids();
    const std::int64_t launch = plan_.dispatch_ns / 2, id = call("cudaGraphLaunch", kHost, now_, launch);
    ++truth_.graph_launches;
    for (std::int64_t i = 0; i < plan_.kernels_per_graph; ++i)
      kernel(kForward[static_cast<std::size_t>(i) % 4].kernel, 0, now_ + launch + plan_.launch_latency_ns,
             id);
    now_ += plan_.dispatch_ns;
  }
  void collective() {
    const std::string args = ids();
    const std::string about = fmt::format(
        R"(,
      "Collective name": "allreduce", "In msg nelems": 1048576, "Out msg nelems": 1048576, "Group size": {},
      "dtype": "BFloat16", "Process Group Name": "0", "Seq": {})",
        plan_.world_size, truth_.collectives);
    // The rank that is late comes later and waits for none; the others wait for it inside of the kernel.
    const bool is_late = plan_.rank == plan_.late_rank;
    if (is_late) now_ += plan_.late_ns;
    host("cpu_op", "record_param_comms", kHost, now_, plan_.dispatch_ns * 3 / 4, args + about);
    ++truth_.ops;
    const std::int64_t launch = plan_.dispatch_ns / 4;
    const std::int64_t id = call("cudaLaunchKernelExC", kHost, now_ + launch, launch);
    ++truth_.launches;
    ++truth_.kernels;
    ++truth_.collectives;
    const std::int64_t waits = plan_.late_rank < 0 || is_late ? 0 : plan_.late_ns;
    const std::int64_t duration = plan_.collective_ns + waits;
    truth_.kernel_ns += duration;
    const std::int64_t end =
        device("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 0,
               now_ + 2 * launch + plan_.launch_latency_ns, duration, id, about);
    now_ = std::max(now_ + plan_.dispatch_ns, is_late || waits == 0 ? now_ : end);
  }
  void item() {
    const std::int64_t begin = now_;
    const std::string outer = ids(), inner = ids();
    const std::int64_t copy = call("cudaMemcpyAsync", kHost, now_ + 1000, 3000);
    ++truth_.copies;
    std::int64_t end = 0;
    for (const std::int64_t free : free_at_) end = std::max(end, free);
    free_at_[0] = end;
    end = device("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, now_ + 4000 + plan_.launch_latency_ns,
                 1500, copy, R"json(, "bytes": 4, "memory bandwidth (GB/s)": 0.002666)json");
    const std::int64_t wait_begin = now_ + 5000, wait = std::max<std::int64_t>(end - wait_begin, 500);
    call("cudaStreamSynchronize", kHost, wait_begin, wait);
    ++truth_.syncs;
    truth_.wait_ns += wait;
    now_ = wait_begin + wait + 1000;
    host("cpu_op", "aten::item", kHost, begin, now_ - begin, outer);
    host("cpu_op", "aten::_local_scalar_dense", kHost, begin + 500, now_ - begin - 1000, inner);
    truth_.ops += 2;
    now_ += 500;
  }

  TracePlan plan_;
  std::mt19937_64 random_;
  TraceTruth truth_;
  fmt::memory_buffer text_;
  std::int64_t now_ = std::int64_t{1428625731} * 1000;
  std::vector<std::int64_t> free_at_;  // by stream
  std::int64_t external_ = 0, correlation_ = 0, sequence_ = 0, python_id_ = 0, allocated_ = 0;
};

// The document in parts, so that it may be longer than memory. It has the steps of the plan, and more until
// it has `min_bytes`.
class MadeSource : public doctor::ByteSource {
 public:
  explicit MadeSource(const TracePlan& plan, std::uint64_t min_bytes = 0)
      : generator_(plan), steps_(plan.steps), min_bytes_(min_bytes), part_(generator_.head()) {}
  std::size_t read(char* to, std::size_t most) override {
    while (at_ == part_.size()) {
      if (is_done_) return 0;
      is_done_ = generator_.truth().steps >= steps_ && generator_.truth().bytes >= min_bytes_;
      part_ = is_done_ ? generator_.tail() : generator_.step();
      at_ = 0;
    }
    const std::size_t count = std::min(most, part_.size() - at_);
    std::memcpy(to, part_.data() + at_, count);
    at_ += count;
    return count;
  }
  const std::string& name() const override { return name_; }
  const TraceTruth& truth() const { return generator_.truth(); }

 private:
  TraceGenerator generator_;
  std::int64_t steps_;
  std::uint64_t min_bytes_;
  std::string part_, name_ = "made trace";
  std::size_t at_ = 0;
  bool is_done_ = false;
};

inline std::string made_trace(const TracePlan& plan, TraceTruth* truth = nullptr) {
  TraceGenerator generator(plan);
  std::string text = generator.head();
  for (std::int64_t i = 0; i < plan.steps; ++i) text += generator.step();
  text += generator.tail();
  if (truth != nullptr) *truth = generator.truth();
  return text;
}

}  // namespace pel::test
