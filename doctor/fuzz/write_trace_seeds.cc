// write_trace_seeds FOLDER: small valid traces to start fuzzing from. The first byte selects how the fuzzer
// reads the rest; see trace_fuzz.cc.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "doctor/tests/made_perfetto.h"
#include "doctor/tests/packed.h"
#include "doctor/tests/same_run.h"
#include "doctor/tests/trace_text.h"

namespace pel::test {
namespace {

// One event of each kind, in the spellings of several versions of PyTorch.
std::vector<std::string> reader_seeds() {
  const std::string op =
      R"({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 2, "ts": 12.345,
    "dur": 2, "args": {"External id": 7, "Input Dims": [[8, 16], []], "Input type": ["float", "Scalar"],
    "Concrete Inputs": ["", "1"], "Sequence number": 3, "Fwd thread id": 0, "unknown": {"a": [1, "]"]}}})";
  const std::string kernel =
      R"json({"ph": "X", "cat": "kernel", "name": "void k<(a)1>(\"x\", \u00b5)", "pid": 0,
    "tid": 7, "ts": 1621401187223005.123, "dur": 0.007, "args": {"correlation": 4099, "device": 0, "stream": 7,
    "grid": [1, 2, 3], "block": [256, 1, 1], "blocks per SM": 0.25, "est. achieved occupancy %": 31}})json";
  const std::string old = R"({"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":1,"dur":2,
    "args":{"external id":3,"Call stack":"a.py(3): f;b"}})";
  const std::string row =
      R"({"ph": "M", "name": "thread_name", "pid": "Spans", "tid": 7, "args": {"name": "s"}})";
  const std::string flow = R"({"ph": "s", "id": "0x1f", "cat": "ac2g", "pid": 0, "tid": 7, "ts": 1.5e3})";
  const std::string many = "{\"schemaVersion\": 1, \"traceEvents\": [\n" + op + ",\n" + kernel + ",\n" + row +
                           ",\n" + flow + "\n], \"baseTimeNanoseconds\": 1711964646000000000}";
  const std::string bare = "[" + old + "," + row + "," + old + "," + flow + "," + old + "]";
  return {many, bare, gzip_of(many), gzip_of(bare) + gzip_of(" "), zstd_of(many)};
}

constexpr const char* kH100 =
    R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}])";
constexpr const char* kAddShapes =
    R"("Input Dims": [[8, 512], [8, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [[512, 1], [512, 1]])";
constexpr const char* kMmShapes = R"("Input Dims": [[8, 512], [512, 511]], "Input type": ["float", "float"])";

// Steps with a GEMM, a chain of elementwise ops, a copy to the host and the wait for it.
std::string training_trace() {
  TraceText trace;
  trace.metadata(kH100);
  for (int step = 0; step < 2; ++step) {
    const double t = 1000 + 400 * step;
    const int id = 10 * step;
    trace.annotation(1, "ProfilerStep#" + std::to_string(step), t, 390)
        .op(1, "aten::mm", t + 10, 20, kMmShapes)
        .call(1, "cudaLaunchKernel", t + 15, 5, id + 1)
        .kernel(7, "ampere_sgemm_128x64_nn", t + 25, 30, id + 1,
                R"("grid": [4, 1, 1], "block": [128, 1, 1])");
    for (int i = 0; i < 3; ++i)
      trace.op(1, i == 1 ? "aten::mul" : "aten::add", t + 40 + 20 * i, 15, kAddShapes)
          .call(1, "cudaLaunchKernel", t + 45 + 20 * i, 5, id + 2 + i)
          .kernel(7,
                  "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >()",
                  t + 60 + 20 * i, 8, id + 2 + i);
    trace.op(1, "aten::item", t + 120, 100)
        .call(1, "cudaMemcpyAsync", t + 125, 5, id + 6)
        .copy(7, "Memcpy DtoH (Device -> Pageable)", t + 140, 3, id + 6, R"("bytes": 4)")
        .call(1, "cudaStreamSynchronize", t + 135, 60, id + 7);
  }
  return trace.text();
}

// A forward and a backward pass with modules, memory, a convolution, attention, and a receive.
std::string stage_trace() {
  constexpr const char* kConvolution =
      R"("Input Dims": [[2, 8, 32, 32], [16, 8, 3, 3], []], "Input type": ["float", "float", ""], "Concrete Inputs": ["", "", "", "[2, 1]", "[1]", "[1, 1]", "False", "[0, 0]", "1"])";
  constexpr const char* kAttention =
      R"("Input Dims": [[2, 4, 128, 64], [2, 4, 96, 64], [2, 4, 96, 64]], "Input type": ["c10::Half", "c10::Half", "c10::Half"])";
  return TraceText()
      .metadata(kH100)
      .annotation(1, "nccl:recv 1<-0", 5, 4)
      .call(1, "cudaLaunchKernelExC", 6, 2, 1)
      .kernel(
          9, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 10, 60, 1,
          R"("Collective name": "recv", "In msg nelems": 64, "dtype": "Half", "Src Rank": 0, "Dst Rank": 1)")
      .python(1, "nn.Module: Net_0", 10, 100)
      .op(1, "aten::convolution", 12, 20, kConvolution)
      .memory(1, 13, 4096, 512, 1024, 2048)
      .call(1, "cudaLaunchKernel", 14, 2, 2)
      .kernel(7, "k", 5, 3, 2)
      .op(1, "aten::scaled_dot_product_attention", 40, 20, kAttention)
      .call(1, "cudaLaunchKernel", 44, 2, 3)
      .kernel(7, "k", 80, 5, 3)
      .op(2, "autograd::engine::evaluate_function: X", 150, 20, R"("Sequence number": 1, "Fwd thread id": 1)")
      .memory(2, 155, 4096, -512, 512, 2048)
      .annotation(1, "Optimizer.step#SGD.step", 200, 20)
      .op(1, "aten::mul", 202, 10, R"("flops": 7)")
      .text();
}

// Two streams, collectives with their arguments, and a wait of one stream for the other.
std::string communication_trace() {
  TraceText trace;
  trace.metadata(kH100).metadata(R"("distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2})");
  for (int i = 0; i < 3; ++i) {
    const double t = 500 + 100 * i;
    trace.call(1, "cudaLaunchKernel", t, 5, 10 * i + 1)
        .kernel(7, "triton_poi_fused_add_0", t + 10, 40, 10 * i + 1)
        .call(1, "cudaLaunchKernel", t + 8, 5, 10 * i + 2)
        .kernel(20, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", t + 30, 50,
                10 * i + 2,
                R"("Collective name": "allreduce", "Process Group Name": "0", "dtype": "Float", "Seq": )" +
                    std::to_string(i) + R"(, "In msg nelems": 1024, "Group size": 2)")
        .call(2, "cudaStreamWaitEvent", t + 15, 2, 10 * i + 3)
        .span("cuda_sync", 0, 7, "Stream Wait Event", t + 20, 5,
              R"("wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 2, "wait_on_cuda_event_id": 1)");
  }
  return trace.text();
}

// Compiled regions, a graph launch, a data loader, backward ops and Python frames.
std::string compiled_trace() {
  TraceText trace;
  trace.python(1, "train.py(3): main", 100, 900)
      .annotation(1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 110, 100)
      .annotation(1, "TorchDynamo Cache Lookup", 220, 20)
      .annotation(1, "Torch-Compiled Region: 0/0", 240, 200)
      .annotation(1, "Torch-Compiled Region: 0/1", 450, 100)
      .op(1, "CompiledFunction", 250, 100, R"("Sequence number": 5, "Fwd thread id": 0)")
      .op(2, "CompiledFunctionBackward", 600, 100, R"("Sequence number": 5, "Fwd thread id": 1)")
      .call(1, "cudaGraphLaunch", 260, 20, 1)
      .kernel(7, "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", 300, 40, 1,
              R"("graph id": 3, "graph node id": 1)")
      .kernel(7, "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4> >()", 345, 40, 1)
      .call(2, "hipExtModuleLaunchKernel", 610, 10, 2)
      .kernel(7, "Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x8x1", 630, 40, 2)
      .call(2, "cudaMalloc", 680, 100, 3)
      .call(2, "cudaLaunchKernel", 790, 10, 4)
      .kernel(7, "elementwise_kernel", 810, 5, 4);
  return trace.text();
}

// Times at the ends of their range.
std::string extreme_trace() {
  TraceText trace;
  for (int i = 0; i < 2; ++i)
    trace.call(1, "cudaStreamSynchronize", 1, 2.3e15, 1)
        .call(1, "cudaMemcpyAsync", -2.3e15, 4.6e15, 2)
        .copy(7, "Memcpy DtoH (Device -> Pageable)", -2.3e15, 2.3e15, 2, R"("bytes": 9223372036854775807)")
        .kernel(7, "ampere_sgemm_128x64_nn", 2.3e15, 2.3e15, 2,
                R"("grid": [2147483647, 2147483647, 2147483647], "block": [1024, 1024, 1024])");
  return trace.text();
}

}  // namespace
}  // namespace pel::test

int main(int count, char** words) {
  using namespace pel::test;
  if (count != 2) {
    std::cerr << "usage: write_trace_seeds FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = words[1];
  std::filesystem::create_directories(folder);
  int number = 0;
  const auto write = [&](char first, const std::string& trace) {
    std::ofstream(folder / std::to_string(number++), std::ios::binary) << first << trace;
  };
  for (const char first : {'\x01', '\x40', '\xff'}) {
    for (const std::string& trace : reader_seeds()) write(first, trace);
  }
  for (const std::string& trace :
       {training_trace(), stage_trace(), communication_trace(), compiled_trace(), extreme_trace()}) {
    for (const char first : {'\x02', '\x03', '\x80'}) write(first, trace);
  }
  const std::vector<RunEvent> run = events_of(mixed_run(1));
  for (const std::string& trace :
       {xla_of(run), perfetto_of(run, PerfettoStyle::Kineto), perfetto_of(run, PerfettoStyle::Rocprof)})
    write('\x02', trace);
}
