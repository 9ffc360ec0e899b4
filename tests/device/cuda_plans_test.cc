// Compiled functions on kCuda: a transformer block and its training, and plans that are replayed as graphs.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cuda/cuda_device.h"
#include "device/on_cuda.h"
#include "device/plan_replay.h"
#include "device/prepared_kernel.h"
#include "support/errors.h"
#include "support/random.h"

namespace pel {
namespace {

using test::names_of_calls;

class CudaPlans : public test::OnCuda {
 protected:
  // What the test driver was asked for by `f`; none: the driver is another one.
  template <class F>
  std::optional<std::string> calls_of(const F& f) const {
    const auto log = control<decltype(&::pel_test_driver_log)>("pel_test_driver_log");
    if (log != nullptr) log(1);
    f();
    return log == nullptr ? std::nullopt : std::optional<std::string>(log(0));
  }
};

auto bits_of(const Tensor& t) { return test::bytes_of(t.to(kCpu)); }

// ---- A transformer block

constexpr std::int64_t kWidth = 32, kHeads = 2, kHidden = 48;

struct Block {
  explicit Block(Device device) {
    manual_seed(7);
    const auto made = [&](std::vector<Dim> sizes) { return (randn(sizes) * 0.3).to(device); };
    norm1 = made({kWidth});
    norm2 = made({kWidth});
    for (Tensor* const t : {&query, &key, &value, &out}) *t = made({kWidth, kWidth});
    gate = made({kHidden, kWidth});
    up = made({kHidden, kWidth});
    down = made({kWidth, kHidden});
  }
  // Attention by its parts: it has no kernel of its own.
  Tensor operator()(const Tensor& x) const {
    const Tensor h = rms_norm(x, {kWidth}, norm1);
    const auto heads = [&](const Tensor& weight) {
      return linear(h, weight).view({x.size(0), kHeads, kWidth / kHeads}).transpose(0, 1);
    };
    const Tensor scores = matmul(heads(query), heads(key).transpose(1, 2)) * 0.25;
    const Tensor mixed = matmul(softmax(scores, -1), heads(value));
    const Tensor y = x + linear(mixed.transpose(0, 1).reshape({x.size(0), kWidth}), out);
    const Tensor g = rms_norm(y, {kWidth}, norm2);
    return y + linear(gelu(linear(g, gate)) * linear(g, up), down);
  }
  std::vector<Tensor*> weights() { return {&norm1, &norm2, &query, &key, &value, &out, &gate, &up, &down}; }
  Tensor norm1, norm2, query, key, value, out, gate, up, down;
};

TEST_F(CudaPlans, ATransformerBlockHasTheBitsOfTheCpu) {
  const test::Random random;
  const NoGrad no_grad;
  const Block here(kCpu), there(kCuda);
  const auto fast = compile([&](const Tensor& x) { return there(x); });
  const auto fast_here = compile([&](const Tensor& x) { return here(x); });
  for (const std::int64_t rows : {9, 9, 9, 4, 4, 4, 9}) {
    const Tensor x = randn({rows, kWidth}), on_device = x.to(kCuda);
    const Tensor wanted = here(x);
    if (rows == 4) {
      EXPECT_EQ(difference(wanted, there(on_device)), "");
    }
    EXPECT_EQ(difference(wanted, fast(on_device)), "") << rows;
    fast_here(x);
    EXPECT_EQ(fast.kernels(on_device).size(), fast_here.kernels(x).size());
  }
  EXPECT_EQ(fast.compiles(), 1U);
}

TEST_F(CudaPlans, TrainingATransformerBlockHasTheBitsOfTheCpu) {
  const test::Random random;
  enum class How { Eager, Compiled };
  const auto trained = [](Device device, How how) {
    Block block(device);
    for (Tensor* const weight : block.weights()) *weight = weight->detach().requires_grad_();
    const auto f = [&](const Tensor& x, const Tensor& y) {
      for (Tensor* const weight : block.weights()) weight->set_grad(Tensor());
      const Tensor loss = mse_loss(block(x), y);
      loss.backward();
      const NoGrad no_grad;
      for (Tensor* const weight : block.weights()) weight->sub_(weight->grad() * 1e-2);
      return loss.detach();
    };
    const auto fast = compile(f);
    manual_seed(3);
    const Tensor x = randn({6, kWidth}).to(device), y = randn({6, kWidth}).to(device);
    std::vector<std::vector<char>> bits;
    for (int i = 0; i < 4; ++i) bits.push_back(bits_of(how == How::Eager ? f(x, y) : fast(x, y)));
    for (Tensor* const weight : block.weights()) bits.push_back(bits_of(weight->detach()));
    return bits;
  };
  const auto wanted = trained(kCpu, How::Eager);
  EXPECT_EQ(trained(kCuda, How::Eager), wanted);
  EXPECT_EQ(trained(kCuda, How::Compiled), wanted);
}

// ---- Graphs

// Four kernels.
struct Layers {
  explicit Layers(Device device) {
    manual_seed(2);
    first = randn({24, 16}).to(device);
    second = randn({16, 24}).to(device);
  }
  Tensor operator()(const Tensor& x) const {
    return softmax(linear(gelu(softmax(linear(x, first), -1)), second), -1);
  }
  Tensor first, second;
};

std::int64_t count_of(const std::string& calls, std::string_view name) {
  std::int64_t count = 0;
  for (std::size_t at = calls.find(name); at != std::string::npos; at = calls.find(name, at + 1)) ++count;
  return count;
}
// The decision of explain() about replays: what, and why.
template <class Fast>
std::pair<std::string, std::string> replay_of(const Fast& fast, const Tensor& x) {
  for (const auto& graph : fast.explain(x).graphs)
    for (const auto& decision : graph.decisions)
      if (decision.pass == "replay") return {decision.what, decision.reason};
  return {"nothing is said", ""};
}

TEST_F(CudaPlans, AReplayIsOneCopyAndOneLaunchWithTheSameBits) {
  const test::Random random;
  const NoGrad no_grad;
  const Layers here(kCpu), there(kCuda);
  const auto fast = compile([&](const Tensor& x) { return there(x); });
  const Tensor x = randn({5, 16});
  const std::size_t kernels = fast.kernels(x.to(kCuda)).size();
  ASSERT_EQ(kernels, 4U);
  for (int run = 1; run <= 5; ++run) {
    const Tensor given = randn({5, 16}), on_device = given.to(kCuda);
    synchronize(kCuda);
    Tensor result;
    const std::optional<std::string> logged = calls_of([&] { result = fast(on_device); });
    EXPECT_EQ(difference(here(given), result), "") << run;
    if (!logged) continue;
    const std::string& calls = *logged;
    if (run == 1) {
      EXPECT_EQ(count_of(calls, "cuLaunchKernel("), 4) << calls;
      EXPECT_EQ(replay_of(fast, on_device).second,
                "they are captured in a later run: the first prepares them");
    } else if (run == 2) {
      EXPECT_TRUE(names_of_calls(calls).ends_with(
          "cuMemAlloc cuMemAllocHost cuStreamBeginCapture cuLaunchKernel cuLaunchKernel cuLaunchKernel "
          "cuLaunchKernel cuStreamEndCapture cuGraphInstantiate cuMemcpyHtoDAsync cuGraphLaunch"))
          << calls;
      EXPECT_LE(count_of(calls, "cuModuleLoadDataEx("), 3) << calls;  // both matmuls have one text
    } else {
      EXPECT_EQ(names_of_calls(calls), "cuMemcpyHtoDAsync cuGraphLaunch") << calls;
    }
  }
  EXPECT_EQ(replay_of(fast, x.to(kCuda)).first.find("a run copies "), 0U)
      << replay_of(fast, x.to(kCuda)).first;
}

TEST_F(CudaPlans, OtherSizesAreCapturedAgain) {
  const test::Random random;
  const NoGrad no_grad;
  const Layers here(kCpu), there(kCuda);
  const auto fast = compile([&](const Tensor& x) { return there(x); });
  std::map<std::int64_t, int> runs;
  for (const std::int64_t rows : {3, 3, 3, 70, 70, 3, 70, 70}) {
    const Tensor x = randn({rows, 16}), on_device = x.to(kCuda);
    Tensor result;
    const std::optional<std::string> calls = calls_of([&] { result = fast(on_device); });
    const int run = ++runs[rows];
    EXPECT_EQ(difference(here(x), result), "") << rows << " " << run;
    if (!calls) continue;
    EXPECT_EQ(count_of(*calls, "cuStreamBeginCapture("), run == 2 ? 1 : 0) << rows << " " << run;
    EXPECT_EQ(count_of(*calls, "cuGraphLaunch("), run == 1 ? 0 : 1) << rows << " " << run;
  }
  EXPECT_EQ(fast.compiles(), 1U);
}

TEST_F(CudaPlans, AFaultWhileAGraphIsCapturedLeavesLaunches) {
  PEL_CONTROL(fail_capture);
  PEL_CONTROL(fail_allocation);
  PEL_CONTROL(refuse_module);
  const test::Random random;
  const NoGrad no_grad;
  const Layers here(kCpu), there(kCuda);
  const Tensor x = randn({5, 16}), on_device = x.to(kCuda), wanted = here(x);
  using test::CaptureFault;
  struct Case {
    std::string reason;
    std::function<void()> begin, end;
  };
  std::vector<Case> cases;
  const auto at = [&](CaptureFault fault, std::string reason) {
    cases.push_back({std::move(reason), [=] { fail_capture(static_cast<int>(fault)); },
                     [=] { fail_capture(static_cast<int>(CaptureFault::None)); }});
  };
  at(CaptureFault::Begin, "cuStreamBeginCapture returned CUDA_ERROR_INVALID_VALUE (1)");
  at(CaptureFault::Launch, "cuLaunchKernel returned CUDA_ERROR_INVALID_VALUE (1)");
  at(CaptureFault::End, "cuStreamEndCapture returned CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)");
  at(CaptureFault::Instantiate, "cuGraphInstantiate returned CUDA_ERROR_OUT_OF_MEMORY (2)");
  cases.push_back({"cuMemAlloc returned CUDA_ERROR_OUT_OF_MEMORY (2)", [=] { fail_allocation(1); },
                   [=] { fail_allocation(0); }});
  for (const Case& each : cases) {
    const auto fast = compile([&](const Tensor& y) { return there(y); });
    EXPECT_EQ(difference(wanted, fast(on_device)), "");
    each.begin();
    const Tensor second = fast(on_device);
    each.end();
    EXPECT_EQ(difference(wanted, second), "") << each.reason;
    EXPECT_EQ(difference(wanted, fast(on_device)), "") << each.reason;
    EXPECT_EQ(replay_of(fast, on_device),
              std::pair(std::string("its kernels are launched one by one"), each.reason));
  }
  // A kernel whose form for graphs the driver refuses; no graph has asked for this one.
  const auto fast = compile([](const Tensor& y) { return softmax(softmax(softmax(y * 3 - 7, -1), 0), -1); });
  const Tensor first = fast(on_device);
  refuse_module();
  EXPECT_EQ(bits_of(fast(on_device)), bits_of(first));
  EXPECT_EQ(
      replay_of(fast, on_device).second.find("cuModuleLoadDataEx returned CUDA_ERROR_INVALID_PTX (218)"), 0U)
      << replay_of(fast, on_device).second;
}

TEST_F(CudaPlans, APlanThatIsNotReplayedSaysWhy) {
  const NoGrad no_grad;
  const Tensor x = randn({5, 16}).to(kCuda);
  const auto small = compile([](const Tensor& y) { return gelu(y) * 2; });
  const auto random =
      compile([](const Tensor& y) { return softmax(dropout(softmax(y, -1), 0.5, Training::Yes), 0); });
  for (int i = 0; i < 3; ++i) {
    small(x);
    random(x);
  }
  EXPECT_EQ(replay_of(small, x).second,
            "it has 1 launch, and a replay of a CUDA graph takes two calls of the driver");
  EXPECT_EQ(replay_of(random, x).second, "native_dropout draws random numbers, which are others in each run");
  EXPECT_EQ(replay_of(compile([](const Tensor& y) { return y + 1; }), x.to(kCpu)).first, "nothing is said");
}

// The driver copies tables when their turn comes: one that is used again too early has other addresses then.
TEST_F(CudaPlans, ManyReplaysMayBeQueued) {
  const test::Random random;
  const NoGrad no_grad;
  const Layers here(kCpu), there(kCuda);
  const auto fast = compile([&](const Tensor& x) { return there(x); });
  std::vector<Tensor> wanted, inputs, results;
  for (int i = 0; i < 100; ++i) {
    wanted.push_back(randn({3, 16}));
    inputs.push_back(wanted.back().to(kCuda));
    wanted.back() = here(wanted.back());
  }
  const std::optional<std::string> calls = calls_of([&] {
    const ForbidSync forbid;
    for (const Tensor& input : inputs) results.push_back(fast(input));
  });
  if (calls) {  // those for which no table is free are launches
    EXPECT_GE(count_of(*calls, "cuGraphLaunch("), 32);
    EXPECT_LT(count_of(*calls, "cuGraphLaunch("), 99);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(difference(wanted[i], results[i]), "") << i;
}

TEST_F(CudaPlans, AReplayIsOrderedWithOtherStreams) {
  const test::Random random;
  const NoGrad no_grad;
  const Layers here(kCpu), there(kCuda);
  const auto fast = compile([&](const Tensor& x) { return there(x); });
  const Tensor x = zeros({4, 16}, {kF32, kCuda});
  std::vector<Tensor> results;
  for (int i = 0; i < 12; ++i) {
    {
      const StreamScope other(Stream(kCuda, 3));
      x.add_(0.25);
    }
    const StreamScope mine(Stream(kCuda, i % 2));
    results.push_back(fast(x));  // reads x before the next addition
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(difference(here(full({4, 16}, 0.25 * static_cast<double>(i + 1))), results[i]), "") << i;
}

// Runs of several threads on one stream come between each other's launches.
TEST_F(CudaPlans, ThreadsMayRunOnePlanOnOneStream) {
  const test::Random random;
  const Layers here(kCpu), there(kCuda);
  const auto fast = compile([&](const Tensor& x) { return there(x); });
  std::vector<std::thread> threads;
  std::array<std::string, 3> differences;
  std::array<Tensor, 3> inputs;
  for (std::size_t t = 0; t < inputs.size(); ++t) inputs[t] = randn({5, 16});
  for (std::size_t t = 0; t < inputs.size(); ++t) {
    threads.emplace_back([&, t] {
      const NoGrad no_grad;
      const Tensor wanted = here(inputs[t]), on_device = inputs[t].to(kCuda);
      for (int i = 0; i < 20; ++i) {
        const Tensor first = fast(on_device), second = fast(on_device);
        static_cast<void>(on_device + 1);
        differences[t] += difference(wanted, first) + difference(wanted, second);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& difference : differences) EXPECT_EQ(difference, "");
}

// Each command of a stream comes after the launches that a run holds back there, and ends its replay. In a
// process of its own: kernels are built for a device that ends before it.
TEST_F(CudaPlans, AloneWithAHeldLaunch) {
  if (!test::is_alone()) GTEST_SKIP() << "ACommandComesAfterLaunchesThatAreHeld runs it";
  PEL_CONTROL(log);
  const auto device = cuda::make_cuda_device();
  ASSERT_EQ(device->facts().refusal, "");
  const StreamHandle stream = device->make_stream(0);
  std::byte* const memory = device->reserve(4096);
  const std::int64_t size = 8, stride = 1;
  Operand operands[3];
  for (int i = 0; i < 3; ++i)
    operands[i] = {memory + 64 * i, &size, &stride, 1, static_cast<std::uint8_t>(kF32), 0, {}};
  KernelArgs args{};
  args.output_count = 1;
  args.input_count = 2;
  args.operands = operands;
  const auto& kernels = find_op("add")->kernels(DeviceType::Cuda);
  const Kernel& kernel =
      *std::ranges::find_if(kernels, [](const Kernel& each) { return each.computes.contains(kF32); });
  args.context = kernel.context;
  std::array<std::byte, 64> host{};
  const std::pair<const char*, std::function<void()>> commands[] = {
      {"cuEventRecord",
       [&] {
         const EventHandle event = device->record(stream);
         device->wait(event);
         device->drop(event);
         EXPECT_EQ(device->queued(stream), 0U);
       }},
      {"cuMemcpyHtoDAsync", [&] { device->copy_in(stream, memory, host.data(), 64); }},
      {"cuMemcpyDtoHAsync", [&] { device->copy_out(stream, host.data(), memory, 64); }},
      {"cuLaunchKernel", [&] { device->launch(stream, {&kernel, &args, "add", {}, nullptr, nullptr}); }}};
  for (const auto& [name, command] : commands) {
    PreparedKernel prepared;
    PlanReplay replay;
    ReplayRun run{&replay, 0, true};
    log(1);
    ASSERT_TRUE(device->launch(stream, {&kernel, &args, "add", {}, &prepared, &run}));
    EXPECT_EQ(count_of(log(1), "cuLaunchKernel("), 0) << name;
    command();
    EXPECT_EQ(names_of_calls(log(0)).find(std::string("cuLaunchKernel ") + name), 0U) << name;
    EXPECT_FALSE(run.is_whole) << name;
    device->end_run(stream, run);
    prepared.drop(*device);
  }
}
TEST_F(CudaPlans, ACommandComesAfterLaunchesThatAreHeld) {
  PEL_CONTROL(log);
  EXPECT_EQ(test::in_own_process("", "CudaPlans.AloneWithAHeldLaunch"), 0);
}

TEST_F(CudaPlans, ALateErrorOfAReplayNamesItsLine) {
  const test::Random random;
  const NoGrad no_grad;
  std::uint32_t line = 0;
  const auto fast = compile([&](const Tensor& a, const Tensor& indices) {
    const Tensor b = softmax(softmax(a, -1), 0);
    line = __LINE__ + 1;
    return index_select(b, 0, indices) + 1;
  });
  const Tensor a = rand({4, 3}).to(kCuda), good = arange(2, kI64).to(kCuda);
  for (int i = 0; i < 3; ++i) fast(a, good);
  synchronize(kCuda);
  const Tensor bad = full({2}, 9, kI64).to(kCuda);
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(fast(a, bad));
    const IndexError error = test::thrown_by<IndexError>([&] { synchronize(kCuda); });
    EXPECT_TRUE(error.is_late());
    EXPECT_NE(std::string(error.what()).find(fmt::format("cuda_plans_test.cc:{}", line)), std::string::npos)
        << error.what();
    fast(a, good);
    synchronize(kCuda);
  }
}

TEST_F(CudaPlans, AGraphIsFreedWithItsFunction) {
  PEL_CONTROL(log);
  PEL_CONTROL(bytes);
  const NoGrad no_grad;
  const Tensor x = randn({5, 16}).to(kCuda);
  const Layers there(kCuda);
  const auto f = [&](const Tensor& y) { return there(y); };
  // What is freed when commands have ended is freed by the next function that is.
  const auto run = [&] {
    {
      const auto fast = compile(f);
      for (int i = 0; i < 3; ++i) fast(x);
    }
    synchronize(kCuda);
    compile([](const Tensor& y) { return y * 2; })(x);
    synchronize(kCuda);
  };
  run();
  const long long before = bytes();
  log(1);
  run();
  EXPECT_EQ(count_of(log(0), "cuGraphExecDestroy("), 1);
  EXPECT_EQ(bytes(), before);
}

}  // namespace
}  // namespace pel
