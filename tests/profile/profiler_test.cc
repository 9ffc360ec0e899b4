// The profiler: what it records, how spans nest, and what it leaves out.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"
#include "pellucid/threads.h"

#include "support/errors.h"

namespace pel {
namespace {

using Kind = ProfileEvent::Kind;

// An event that outlives Profile::each.
struct Recorded {
  explicit Recorded(const ProfileEvent& e)
      : event(e), name(e.name), line(e.site.line()), refusals(e.refusals.begin(), e.refusals.end()) {
    for (const ProfileEvent::Shape& s : e.shapes) {
      sizes.emplace_back(s.sizes.begin(), s.sizes.end());
      strides.emplace_back(s.strides.begin(), s.strides.end());
      dtypes.push_back(s.dtype);
    }
  }
  bool is_inside(const Recorded& outer) const {
    return event.begin_ns >= outer.event.begin_ns && event.end_ns <= outer.event.end_ns;
  }
  ProfileEvent event;
  std::string name;
  std::uint32_t line;
  std::vector<ProfileEvent::Refusal> refusals;
  std::vector<std::vector<std::int64_t>> sizes, strides;
  std::vector<DType> dtypes;
};

template <class F>
std::vector<Recorded> profiled(F&& f, const ProfileOptions& options = {}) {
  Profile profile(options);
  f();
  std::vector<Recorded> events;
  profile.each([&](const ProfileEvent& e) { events.emplace_back(e); });
  EXPECT_EQ(events.size(), profile.event_count());
  EXPECT_EQ(profile.dropped(), 0u);
  return events;
}

std::vector<Recorded> of(const std::vector<Recorded>& events, Kind kind) {
  std::vector<Recorded> found;
  std::copy_if(events.begin(), events.end(), std::back_inserter(found),
               [&](const Recorded& e) { return e.event.kind == kind; });
  return found;
}
std::vector<std::string> names(const std::vector<Recorded>& events, Kind kind) {
  std::vector<std::string> found;
  for (const Recorded& e : of(events, kind)) found.push_back(e.name);
  return found;
}

using Names = std::vector<std::string>;

TEST(Profile, AnOpAndItsKernelHaveShapesBytesAndSourceLocation) {
  const Tensor a = ones({4, 6}), b = ones({6});
  const std::uint32_t line = __LINE__ + 1;
  const auto events = profiled([&] { add(a, b); });
  ASSERT_EQ(events.size(), 2u);
  const Recorded &kernel = events[0], &op = events[1];  // what is inside comes first
  EXPECT_EQ(op.event.kind, Kind::Op);
  EXPECT_EQ(op.name, "add");
  EXPECT_EQ(op.line, line);
  EXPECT_EQ(op.event.depth, 0u);
  EXPECT_EQ(op.sizes, (std::vector<std::vector<std::int64_t>>{{4, 6}, {6}}));
  EXPECT_EQ(op.strides, (std::vector<std::vector<std::int64_t>>{{6, 1}, {1}}));
  EXPECT_EQ(op.dtypes, (std::vector<DType>{kF32, kF32}));
  EXPECT_EQ(kernel.event.kind, Kind::Kernel);
  EXPECT_EQ(kernel.line, line);
  EXPECT_EQ(kernel.event.id, op.event.id);
  EXPECT_EQ(kernel.event.depth, 1u);
  EXPECT_EQ(kernel.event.bytes_read, (24 + 6) * 4u);
  EXPECT_EQ(kernel.event.bytes_written, 24 * 4u);
  EXPECT_EQ(kernel.event.output_count, 1u);
  EXPECT_EQ(kernel.sizes.size(), 3u);
  EXPECT_EQ(kernel.event.device, kCpu);
  EXPECT_TRUE(kernel.is_inside(op));
  EXPECT_EQ(kernel.event.end_ns, op.event.end_ns);  // one stamp serves both
}

TEST(Profile, AnOpThatEndsWithItsKernelIsRecordedLikeOneThatDoesNot) {
  const Tensor a = ones({4, 6}), b = ones({4, 6}), row = ones({6});
  ProfileOptions plain, without_shapes, with_memory;
  without_shapes.shapes = false;
  with_memory.memory = true;
  for (const ProfileOptions& options : {plain, without_shapes, with_memory}) {
    for (const Tensor& other : {b, row, b.t().contiguous().t()}) {
      const auto events = profiled([&] { add(a, other); }, options);
      const auto kernels = of(events, Kind::Kernel), ops = of(events, Kind::Op);
      ASSERT_EQ(kernels.size(), 1u);
      ASSERT_EQ(ops.size(), 1u);
      const Recorded &kernel = kernels[0], &op = ops[0];
      EXPECT_EQ(op.name, "add");
      EXPECT_EQ(std::string(kernel.event.op), "add");
      EXPECT_TRUE(op.event.is_outermost);
      EXPECT_FALSE(kernel.event.is_outermost);
      EXPECT_EQ(op.event.depth, 0u);
      EXPECT_EQ(kernel.event.depth, 1u);
      EXPECT_EQ(kernel.event.id, op.event.id);
      EXPECT_EQ(kernel.event.bytes_written, 24 * 4u);
      EXPECT_EQ(kernel.event.bytes_read, static_cast<std::uint64_t>(24 + other.numel().value()) * 4);
      EXPECT_TRUE(kernel.is_inside(op));
      EXPECT_LE(op.event.begin_ns, kernel.event.begin_ns);
      EXPECT_EQ(kernel.event.end_ns, op.event.end_ns);
      const std::size_t shapes = options.shapes ? 2 : 0;
      ASSERT_EQ(op.sizes.size(), shapes);
      if (shapes == 0) continue;
      EXPECT_EQ(op.sizes[0], (std::vector<std::int64_t>{4, 6}));
      EXPECT_EQ(op.strides[1].front(), other.stride(0).value());
      EXPECT_EQ(op.sizes[1].size(), static_cast<std::size_t>(other.dim()));
    }
  }
}

TEST(Profile, RecordsThreeHundredTensorsWithoutTheirShapes) {
  const std::vector<Tensor> many(300, ones({}));
  const auto events = profiled([&] { stack(many); });
  const auto kernels = of(events, Kind::Kernel);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].event.bytes_read, 300 * 4u);
  EXPECT_EQ(kernels[0].event.bytes_written, 300 * 4u);
}

TEST(Profile, ViewsLaunchNothingAndSyncsAreMarked) {
  const Tensor x = ones({4, 6});
  const auto events = profiled([&] {
    x.t();
    static_cast<void>(x.select(0, 0).select(0, 0).item());
  });
  EXPECT_EQ(names(events, Kind::Kernel), Names{});
  for (const Recorded& e : events) EXPECT_EQ(e.event.is_sync, e.name == "item") << e.name;
  EXPECT_EQ(std::count_if(events.begin(), events.end(), [](const Recorded& e) { return e.event.is_sync; }),
            1);
}

TEST(Profile, TheCallsOfACompositeOpLieInsideItAndHaveItsSourceLocation) {
  const Tensor x = ones({4, 6}), w = ones({5, 6}), bias = ones({5});
  const std::uint32_t line = __LINE__ + 1;
  const auto events = profiled([&] { linear(x, w, bias); });
  const Recorded& outer = events.back();
  EXPECT_EQ(outer.name, "linear");
  EXPECT_TRUE(outer.event.is_composite);
  ASSERT_GE(events.size(), 3u);
  for (const Recorded& e : events) {
    EXPECT_TRUE(e.is_inside(outer)) << e.name;
    EXPECT_EQ(e.line, line) << e.name;
  }
  const auto kernels = of(events, Kind::Kernel);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].event.flops, 2u * 4 * 5 * 6);
  EXPECT_EQ(kernels[0].event.bytes_read, (4 * 6 + 5 * 6 + 5) * 4u);
  EXPECT_EQ(kernels[0].event.bytes_written, 4 * 5 * 4u);
}

TEST(Profile, NothingIsRecordedBeforeAndAfter) {
  const Tensor x = ones({3});
  EXPECT_FALSE(is_profiling());
  Profile profile;
  EXPECT_TRUE(is_profiling());
  neg(x);
  profile.stop();
  EXPECT_FALSE(is_profiling());
  neg(x);
  const Range range("after");
  EXPECT_EQ(profile.event_count(), 2u);
  profile.stop();
  EXPECT_EQ(profile.event_count(), 2u);
}

TEST(Profile, OneAtATime) {
  const Profile profile;
  EXPECT_THROW(Profile(), ValueError);
}

TEST(Profile, RangesAndModulesAreSpansAroundWhatTheyCall) {
  const nn::GEGLU mlp(8, 16);
  const Tensor x = ones({2, 8});
  const NoGrad no_grad;
  const auto events = profiled([&] {
    const Range range("mine");
    mlp(x);
  });
  EXPECT_EQ(names(events, Kind::Range), Names{"mine"});
  EXPECT_EQ(names(events, Kind::Module), (Names{"gate", "up", "down", "model"}));
  EXPECT_EQ(names(events, Kind::Kernel).size(), 5u);
  EXPECT_EQ(events.back().name, "mine");
  for (const Recorded& e : events) EXPECT_TRUE(e.is_inside(events.back())) << e.name;
}

TEST(Profile, ASpanThatEndsByAnErrorIsRecorded) {
  const Tensor a = ones({2}), b = ones({3});
  const auto events = profiled([&] { EXPECT_THROW(add(a, b), ShapeError); });
  EXPECT_EQ(names(events, Kind::Op), Names{"add"});
  EXPECT_EQ(names(events, Kind::Kernel), Names{});
}

TEST(Profile, AGradientHasTheSequenceNumberOfItsCall) {
  Tensor x = ones({3});
  x.requires_grad_();
  const std::uint32_t line = __LINE__ + 2;
  const auto events = profiled([&] {
    const Tensor y = mul(x, 2.0);
    sum(y).backward();
  });
  std::map<std::uint64_t, std::string> calls;
  for (const Recorded& e : of(events, Kind::Op)) {
    if (e.event.sequence != 0) calls[e.event.sequence] = e.name;
  }
  int joined = 0;
  for (const Recorded& e : of(events, Kind::Backward)) {
    if (e.event.sequence == 0) continue;  // a leaf takes its gradient up
    ++joined;
    EXPECT_EQ(calls.at(e.event.sequence), e.name);
    for (const Recorded& inner : of(events, Kind::Kernel)) {
      if (!inner.is_inside(e)) continue;
      EXPECT_EQ(inner.line, e.name == "mul" ? line : line + 1);
    }
  }
  EXPECT_EQ(joined, 2);
}

TEST(Profile, LayersAreSpansOnRequest) {
  Tensor x = ones({3});
  x.requires_grad_();
  EXPECT_EQ(names(profiled([&] { neg(x); }), Kind::Layer), Names{});
  ProfileOptions options;
  options.layers = true;
  const auto events = profiled([&] { neg(x); }, options);
  EXPECT_EQ(names(events, Kind::Layer), (Names{"Backend", "Autograd"}));
  EXPECT_EQ(names(events, Kind::Kernel).size(), 1u);
  EXPECT_EQ(names(events, Kind::Op), Names{"neg"});
  EXPECT_NE(of(events, Kind::Op)[0].event.sequence, 0u);
}

TEST(Profile, MemoryIsRecordedOnRequest) {
  ProfileOptions options;
  options.memory = true;
  const auto events = profiled([] { empty({1000}); }, options);
  const auto memory = of(events, Kind::Memory);
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_EQ(memory[0].event.bytes, 4000);
  EXPECT_EQ(memory[1].event.bytes, -4000);
  EXPECT_EQ(memory[0].event.bytes_in_use - memory[1].event.bytes_in_use, 4000);
}

// Takes the memory that was freed last, so that a dangling pointer to a name reads other bytes.
void overwrite_freed_memory() {
  std::vector<std::string> strings;
  for (std::size_t size = 16; size <= 4096; size += 16) {
    for (int i = 0; i < 32; ++i) strings.emplace_back(size, 'x');
  }
}

TEST(Profile, NamesOfACompiledFunctionOutliveIt) {
  const Tensor x = ones({8, 16});
  Profile profile;
  const Recording recording;
  std::vector<std::string> ops, kernels;
  {
    const auto fast =
        compile([](const Tensor& t) { return std::vector<Tensor>{mul(gelu(add(t, 1)), t), softmax(t, 1)}; });
    fast(x);
    for (const Event& e : recording.events()) {
      ops.emplace_back(e.op);
      kernels.emplace_back(e.name);
    }
  }
  ASSERT_FALSE(ops.empty());
  overwrite_freed_memory();
  std::vector<std::string> recorded_ops, recorded_kernels, profiled_ops, profiled_kernels;
  for (const Event& e : recording.events()) {
    recorded_ops.emplace_back(e.op);
    recorded_kernels.emplace_back(e.name);
  }
  profile.each([&](const ProfileEvent& e) {
    if (e.kind != Kind::Kernel) return;
    profiled_ops.emplace_back(e.op);
    profiled_kernels.emplace_back(e.name);
  });
  EXPECT_EQ(recorded_ops, ops);
  EXPECT_EQ(recorded_kernels, kernels);
  EXPECT_EQ(profiled_ops, ops);
  EXPECT_EQ(profiled_kernels, kernels);
}

TEST(Profile, TheNameOfACustomFunctionOutlivesIt) {
  const std::string name = "a_function_with_a_name_on_the_heap";
  const Tensor x = ones({3}).requires_grad_();
  Profile profile;
  {
    Function twice;
    twice.name = name;
    twice.forward = [](FunctionContext&, ArrayView<Tensor> in) { return std::vector<Tensor>{in[0] * 2}; };
    twice.backward = [](FunctionContext&, ArrayView<Tensor> grads) {
      return std::vector<Tensor>{grads[0] * 2};
    };
    sum(apply(twice, {x})[0]).backward();
  }
  overwrite_freed_memory();
  std::vector<std::string> found;
  profile.each([&](const ProfileEvent& e) {
    if (e.kind == Kind::Backward) found.emplace_back(e.name);
  });
  EXPECT_EQ(found, (Names{"sum", name, "leaf"}));
}

TEST(Profile, KernelsThatRefusedTheCallAreRecorded) {
  const Tensor x = ones({64, 64});
  const auto kernels = of(profiled([&] { x.t().contiguous(); }), Kind::Kernel);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "cpu_copy_strided");
  ASSERT_FALSE(kernels[0].refusals.empty());
  EXPECT_STREQ(kernels[0].refusals[0].kernel, "cpu_copy_dense");
  EXPECT_NE(std::string(kernels[0].refusals[0].reason), "");
}

TEST(Profile, WideSizesSurvive) {
  const Tensor x = empty({std::int64_t{1} << 33}, {kF32, kMeta});
  const auto ops = of(profiled([&] { x.view({1, std::int64_t{1} << 33}); }), Kind::Op);
  ASSERT_FALSE(ops.empty());
  EXPECT_EQ(ops[0].sizes, (std::vector<std::vector<std::int64_t>>{{std::int64_t{1} << 33}}));
}

TEST(Profile, ThreadsHaveRowsOfTheirOwn) {
  const Tensor x = ones({3});
  Profile profile;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) neg(x);
    });
  }
  threads.clear();
  std::map<std::uint32_t, int> ops;
  std::map<std::uint32_t, std::uint64_t> last;
  profile.each([&](const ProfileEvent& e) {
    if (e.kind == Kind::Op) ++ops[e.thread];
    EXPECT_GE(e.end_ns, last[e.thread]);
    last[e.thread] = e.end_ns;
  });
  EXPECT_EQ(ops.size(), 4u);
  for (const auto& [thread, count] : ops) EXPECT_EQ(count, 1000);
}

TEST(Profile, PiecesOfParallelLoopsAreOnTheThreadsThatRanThem) {
  const Tensor x = ones({1 << 20});
  const int before = thread_count();
  set_thread_count(2);
  const auto events = profiled([&] { relu(x); });
  set_thread_count(1);
  const auto alone = profiled([&] { relu(x); });
  set_thread_count(before);
  EXPECT_EQ(of(alone, Kind::Piece).size(), 0u);

  const auto kernels = of(events, Kind::Kernel);
  auto pieces = of(events, Kind::Piece);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(pieces.size(), 8u);
  const auto first = [](const Recorded& e) { return e.event.first_element; };
  std::ranges::sort(pieces, {}, first);
  std::int64_t covered = 0;
  for (const Recorded& piece : pieces) {
    EXPECT_EQ(piece.event.first_element, covered);
    EXPECT_GT(piece.event.end_element, covered);
    covered = piece.event.end_element;
    EXPECT_EQ(piece.name, kernels[0].name);
    EXPECT_EQ(piece.line, kernels[0].line);
    EXPECT_EQ(piece.event.caller_thread, kernels[0].event.thread);
    // The counters of two cores may differ a little.
    EXPECT_GE(piece.event.begin_ns + 1000, kernels[0].event.begin_ns);
    EXPECT_LE(piece.event.end_ns, kernels[0].event.end_ns + 1000);
  }
  EXPECT_EQ(covered, 1 << 20);
}

TEST(Profile, PiecesDoNotCountInTables) {
  const Tensor x = ones({1 << 20});
  const int before = thread_count();
  const auto relu_of = [&](int threads, ProfileBy by) {
    set_thread_count(threads);
    Profile profile;
    relu(x);
    return profile.rows(by);
  };
  for (const ProfileBy by : {ProfileBy::Op, ProfileBy::Kernel, ProfileBy::Site}) {
    const std::vector<ProfileRow> one = relu_of(1, by), two = relu_of(2, by);
    ASSERT_EQ(one.size(), two.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(two[i].name, one[i].name);
      EXPECT_EQ(two[i].calls, one[i].calls);
      EXPECT_EQ(two[i].kernels, one[i].kernels);
      EXPECT_EQ(two[i].bytes, one[i].bytes);
    }
  }
  set_thread_count(before);
}

TEST(Profile, IsBoundedAndCountsWhatItDrops) {
  const Tensor x = ones({3});
  ProfileOptions options;
  options.max_bytes = 64 << 10;
  Profile profile(options);
  constexpr int kCalls = 5000;
  for (int i = 0; i < kCalls; ++i) neg(x);
  EXPECT_EQ(profile.event_count() + profile.dropped(), 2u * kCalls);
  EXPECT_GT(profile.dropped(), 0u);
  EXPECT_GT(profile.event_count(), 100u);
  EXPECT_LE(profile.bytes_used(), options.max_bytes);
}

TEST(Profile, TimesAreThoseOfTheClock) {
  Profile profile;
  const auto begin = std::chrono::steady_clock::now();
  {
    const Range range("wait");
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  const double waited =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  profile.each([&](const ProfileEvent& e) {
    const auto ns = static_cast<double>(e.end_ns - e.begin_ns);
    EXPECT_GE(ns, 29.9e6);
    EXPECT_LE(ns, waited + 0.1e6);
  });
}

TEST(Profile, ATraceOfAllKindsIsWritten) {
  Tensor x = ones({40, 40});
  x.requires_grad_();
  ProfileOptions options;
  options.memory = options.layers = true;
  Profile profile(options);
  {
    const Range range("a \"quoted\"\n name");
    sum(mm(x, x)).backward();
  }
  const std::string path = testing::TempDir() + "pellucid_trace.json";
  profile.write_trace(path);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  for (const char* part :
       {"\"cat\": \"cpu_op\"", "\"cat\": \"kernel\"", "\"cat\": \"cuda_runtime\"", "\"cat\": \"ac2g\"",
        "\"cat\": \"fwdbwd\"", "\"Input Dims\": [[40, 40], [40, 40]]", "\"Input type\": [\"float\"",
        "a \\\"quoted\\\"\\u000a name", "\"flops\": 128000", "[memory]", "profiler_test.cc:"})
    EXPECT_NE(text.str().find(part), std::string::npos) << part;
  EXPECT_THROW(profile.write_trace("/nowhere/trace.json"), FileError);
}

}  // namespace
}  // namespace pel
