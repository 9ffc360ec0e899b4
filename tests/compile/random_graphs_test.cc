// Random functions: captured at one size, they compute at others the bits that they compute without.
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/compiled_function.h"
#include "support/bytes.h"
#include "support/random.h"

namespace pel {
namespace {

// A step of a function: which op, on which of the tensors that there are so far.
struct Step {
  int kind, first, second, number;
};
using Program = std::vector<Step>;
constexpr int kKinds = 22;

Program random_program(test::Random& random) {
  Program program(static_cast<std::size_t>(random.between(1, 12)));
  for (Step& step : program) {
    step = {static_cast<int>(random.between(0, kKinds - 1)), static_cast<int>(random.between(0, 1000)),
            static_cast<int>(random.between(0, 1000)), static_cast<int>(random.between(-3, 3))};
  }
  return program;
}

// All tensors have the sizes of the inputs: rows by columns.
std::vector<Tensor> run(const Program& program, ArrayView<Tensor> inputs) {
  std::vector<Tensor> all(inputs.begin(), inputs.end());
  for (const Step& step : program) {
    const Tensor a = all[static_cast<std::size_t>(step.first) % all.size()];
    const Tensor b = all[static_cast<std::size_t>(step.second) % all.size()];
    const Dim rows = inputs[0].size(0), columns = inputs[0].size(1);
    const auto in_place = [&](auto&& write) {  // never to an input: the caller has it once
      const Tensor copy = a.clone();
      write(copy);
      return copy;
    };
    Tensor made;
    switch (step.kind) {
      case 0:
        made = add(a, b);
        break;
      case 1:
        made = mul(a, b);
        break;
      case 2:
        made = sub(a, step.number);
        break;
      case 3:
        made = div(a, 2);
        break;
      case 4:
        made = relu(a);
        break;
      case 5:
        made = gelu(a.to(kF32));
        break;
      case 6:
        made = where(lt(a, b), a, b);
        break;
      case 7:
        made = a.to(kBF16);
        break;
      case 8:
        made = a.to(kF64);
        break;
      case 9:
        made = add(a, sum(b, Axes{1}, KeepDims::Yes));
        break;
      case 10:
        made = mul(a, amax(b, Axes{0}, KeepDims::Yes));
        break;
      case 11:
        made = softmax(a.to(kF32), 1);
        break;
      case 12:
        made = a.t().contiguous().t();
        break;
      case 13:
        made = add(a, b.select(0, 0));
        break;
      case 14:
        made = in_place([&](const Tensor& t) { add_(t, 1); });
        break;
      case 15:
        made = in_place([&](const Tensor& t) { mul_(t.select(1, 0), 2); });
        break;
      case 16:
        made = in_place([&](const Tensor& t) { t.slice(0, 1).fill_(step.number); });
        break;
      case 17:
        made = add(a, rand_like(a.to(kF32)));
        break;
      case 18:
        made = a.reshape({rows * columns}).view({rows, columns});
        break;
      case 19:
        made = mul(a, columns);
        break;
      case 20:
        made = cat({{a, b}}, 0).slice(0, 0, rows);
        break;
      default:
        made = matmul(matmul(a.to(kF32), b.to(kF32).t()), a.to(kF32));
        break;
    }
    all.push_back(made);
  }
  return {all.begin() + static_cast<std::ptrdiff_t>(inputs.size()), all.end()};
}

std::vector<Tensor> random_inputs(std::int64_t rows, std::int64_t columns, int layouts) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < 3; ++i) {
    const Tensor plain = layouts >> i & 1 ? randn({columns, rows}).t() : randn({rows, columns});
    inputs.push_back(i == 2 ? plain.to(kF64) : plain);
  }
  return inputs;
}

TEST(RandomGraphs, GiveTheBitsOfTheFunctionAtEverySize) {
  test::Random random;
  const int programs = test::Random::share_of(500);
  std::size_t captures = 0;
  for (int i = 0; i < programs; ++i) {
    const Program program = random_program(random);
    const compile::TensorFunction f = [&](ArrayView<Tensor> in) { return run(program, in); };
    compile::CompiledFunction compiled(f);
    const int layouts = static_cast<int>(random.between(0, 7));
    for (int turn = 0; turn < 4; ++turn) {
      // A size of 1 leaves the order of strides open, and the first call decides it.
      const std::int64_t least = turn == 0 ? 2 : 1;
      const std::int64_t rows = random.between(least, 9), columns = random.between(least, 9);
      const std::vector<Tensor> inputs = random_inputs(rows, columns, layouts);
      manual_seed(static_cast<std::uint64_t>(turn));
      const std::vector<Tensor> wanted = f(inputs);
      manual_seed(static_cast<std::uint64_t>(turn));
      const std::vector<Tensor> given = compiled(inputs);
      ASSERT_EQ(wanted.size(), given.size());
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        ASSERT_EQ(wanted[k].dtype(), given[k].dtype());
        ASSERT_EQ(to_string(wanted[k].sizes()), to_string(given[k].sizes()));
        for (std::int64_t axis = 0; axis < wanted[k].dim(); ++axis) {  // those of size 1 say nothing
          if (wanted[k].size(axis) > 1) {
            ASSERT_EQ(wanted[k].stride(axis), given[k].stride(axis));
          }
        }
        ASSERT_TRUE(test::bytes_of(wanted[k]) == test::bytes_of(given[k]))
            << random.repro() << "\nprogram " << i << ", turn " << turn << ", value " << k << " of\n"
            << to_string(compiled.graphs().back()->graph);
      }
    }
    captures += compiled.captures();
  }
  EXPECT_EQ(captures, static_cast<std::size_t>(programs)) << "a size was fixed; " << random.repro();
}

}  // namespace
}  // namespace pel
