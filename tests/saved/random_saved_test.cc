// Random functions over all ops of the registry, saved after their first call: at other sizes the file
// computes the bits of the compiled function. PELLUCID_PROGRAMS=N draws N.
#include <filesystem>
#include <iostream>

#include <gtest/gtest.h>

#include "compile/draw_program.h"
#include "compile/equal_bits.h"
#include "support/random.h"

namespace pel {
namespace {

struct Counts {
  std::size_t files = 0, calls = 0, loops = 0, with_gradients = 0, not_captured = 0;
};

struct Called {
  std::vector<Tensor> outputs;
  std::string error;
};
template <class F>
Called call_with_seed(const F& f, const fuzz::Inputs& inputs, std::uint64_t seed) {
  Called called;
  manual_seed(seed);
  try {
    called.outputs = f(inputs.tensors);
  } catch (const Error& error) {
    called.error = error.message();
  }
  return called;
}

void check(const fuzz::Program& program, const std::string& path, Counts& counts) {
  const detail::CompiledTensors compiled([&](ArrayView<Tensor> in) { return fuzz::run(program, in); }, {});
  if (!call_with_seed(compiled, fuzz::make_inputs(program, 0), 0).error.empty()) {
    ++counts.not_captured;
    return;
  }
  try {
    compiled.save(path, {.instruction_sets = {InstructionSet::Avx2}}, Site::current());
  } catch (const ValueError& error) {
    ASSERT_NE(error.message().find("gradients of leaves"), std::string::npos) << error.what();
    ++counts.with_gradients;
    return;
  }
  ++counts.files;
  const LoadedFunction loaded = load_compiled(path);
  EXPECT_EQ(loaded.graph(), compiled.graph());
  for (std::size_t turn = 0; turn < program.turns.size(); ++turn) {
    const fuzz::Inputs left = fuzz::make_inputs(program, turn), right = fuzz::make_inputs(program, turn);
    const std::size_t graphs = compiled.compiles();
    const Called wanted = call_with_seed(compiled, left, turn);
    const Called given = call_with_seed(loaded, right, turn);
    const bool is_refused = given.error.find("has no graph for") != std::string::npos;
    if (compiled.compiles() > graphs || is_refused) {  // captured again, or tried in vain
      EXPECT_TRUE(is_refused) << given.error;
      EXPECT_TRUE(compiled.compiles() > graphs || !wanted.error.empty());
      return;  // tensors that the function holds may differ from now on
    }
    ++counts.calls;
    EXPECT_EQ(given.error, wanted.error);
    ASSERT_EQ(given.outputs.size(), wanted.outputs.size());
    for (std::size_t i = 0; i < wanted.outputs.size(); ++i)
      EXPECT_TRUE(test::equal_bits_or_nans(given.outputs[i], wanted.outputs[i])) << "output " << i;
    for (std::size_t i = 0; i < left.bases.size(); ++i)
      EXPECT_TRUE(test::equal_bits_or_nans(right.bases[i], left.bases[i])) << "the memory of input " << i;
    if (!wanted.error.empty()) continue;
    std::vector<std::string> names = loaded.kernels(right.tensors);
    counts.loops += static_cast<std::size_t>(std::ranges::count_if(
        names, [](const std::string& name) { return name.find("_fused_") != std::string::npos; }));
  }
}

TEST(RandomSavedPlans, HaveTheBitsOfTheCompiledFunction) {
  const NoGrad no_grad;
  const test::Random random;
  const auto programs = test::Random::share_of(static_cast<int>(test::number_from("PELLUCID_PROGRAMS", 200)));
  const char* only = std::getenv("PELLUCID_CASE");
  const int first = only != nullptr ? std::atoi(only) : 0, last = only != nullptr ? first : programs - 1;
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / fmt::format("random_saved_{}.pel", ::getpid())).string();
  Counts counts;
  for (int i = first; i <= last && !testing::Test::HasFailure(); ++i) {
    test::Random of_case = random.of_case(static_cast<std::uint64_t>(i));
    const fuzz::Program program = fuzz::Drawing(of_case).draw();
    check(program, path, counts);
    if (testing::Test::HasFailure()) ADD_FAILURE() << of_case.repro() << "\n" << to_string(program);
  }
  std::filesystem::remove(path);
  std::cout << fmt::format(
      "{} files, {} calls, {} fused loops; {} with gradients of leaves, {} not captured\n", counts.files,
      counts.calls, counts.loops, counts.with_gradients, counts.not_captured);
  EXPECT_GT(counts.files, static_cast<std::size_t>(programs) / 4);
}

}  // namespace
}  // namespace pel
