// Row reductions with elementwise calls before, between and after them: which are fused, and their bits.
#include <functional>

#include <gtest/gtest.h>

#include "pellucid/ops/internal.h"
#include "pellucid/pellucid.h"

#include "compile/equal_bits.h"
#include "support/random.h"

namespace pel {
namespace {

bool have_equal_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, test::equal_bits_or_nans);
}

using Tensors = std::vector<Tensor>;
using RowFunction = std::function<Tensors(const Tensor&, const Tensor&)>;

struct RowCase {
  const char* name;
  RowFunction f;
  std::size_t kernels;
};

TEST(FuseRows, ARowWithItsLoopsIsOneKernelAtAllSizes) {
  const NoGrad no_grad;
  const RowCase cases[] = {
      {"layer_norm and residual",
       [](const Tensor& x, const Tensor& y) {
         const Tensor h = x + y;
         return Tensors{h, layer_norm(h, {h.size(-1)})};
       },
       1},
      {"rms_norm of a gated row",
       [](const Tensor& x, const Tensor& y) { return Tensors{rms_norm(gelu(x) * y, {x.size(-1)}) * 2}; }, 1},
      {"softmax with mask",
       [](const Tensor& x, const Tensor& y) { return Tensors{softmax(x * 0.125 + y, -1)}; }, 1},
      {"gelu, mul, sum",
       [](const Tensor& x, const Tensor& y) {
         return Tensors{sum(gelu(x, GeluApproximate::Tanh) * y, {-1})};
       },
       1},
      {"sum of all", [](const Tensor& x, const Tensor& y) { return Tensors{sum(x * y)}; }, 1},
      {"layer_norm by hand",
       [](const Tensor& x, const Tensor& y) {
         const Tensor centred = x - mean(x, {-1}, KeepDims::Yes);
         const Tensor deviation = sqrt(mean(centred * centred, {-1}, KeepDims::Yes) + 1e-5);
         return Tensors{centred / deviation * y};
       },
       1},
      {"softmax and what it gives back",
       [](const Tensor& x, const Tensor& y) {
         const Tensor p = softmax(x, -1);
         return Tensors{p, p * (y - sum(p * y, {-1}, KeepDims::Yes))};
       },
       1},
      {"two folds of one row",
       [](const Tensor& x, const Tensor& y) { return Tensors{sum(x, {-1}), amax(x, {-1}), x + y}; }, 1},
      {"columns", [](const Tensor& x, const Tensor& y) { return Tensors{sum(relu(x) * y, {0})}; }, 1},
      {"columns, and their elements too",
       [](const Tensor& x, const Tensor& y) {
         const Tensor h = relu(x) * y;
         return Tensors{h, sum(h, {0})};
       },
       2},
  };
  for (const RowCase& each : cases) {
    for (const DType dtype : {kF32, kBF16, kF64}) {
      const auto fast = compile(each.f);
      for (const auto& [rows, columns] : {std::pair(5, 33), std::pair(64, 768), std::pair(1, 1),
                                          std::pair(2, 5000), std::pair(300, 17), std::pair(1, 70000)}) {
        const Tensor x = randn({rows, columns}).to(dtype), y = randn({rows, columns}).to(dtype);
        ASSERT_TRUE(have_equal_bits(fast(x, y), each.f(x, y)))
            << each.name << ", " << name(dtype) << " [" << rows << ", " << columns << "]\n"
            << fast.graph();
        EXPECT_EQ(fast.kernels(x, y).size(), each.kernels)
            << each.name << ", " << name(dtype) << " [" << rows << ", " << columns << "]\n"
            << fast.graph() << fast.explain().text();
      }
      EXPECT_EQ(fast.compiles(), 1u) << each.name;
    }
  }
}

// The operands of a loss broadcast: its rows are those of the larger one.
TEST(FuseRows, RowsAreWhatAllOperandsBroadcastTo) {
  const NoGrad no_grad;
  const RowFunction functions[] = {
      [](const Tensor& x, const Tensor& y) {
        const Tensor h = exp(x.select(0, 0));
        return Tensors{h, l1_loss(h, y, Reduction::Mean)};
      },
      [](const Tensor& x, const Tensor&) {
        const Tensor least = amin(x, {-1}, KeepDims::Yes);
        return Tensors{rms_norm(least, {least.size(0), least.size(1)}), l1_loss(least, x, Reduction::Mean)};
      },
      [](const Tensor& x, const Tensor&) {
        const Tensor h = x.slice(0, 0, 1).clone();
        return Tensors{h, internal::_cdist_forward(h, x.slice(0, 0, 1), 0, {})};
      },
      [](const Tensor& x, const Tensor& y) {  // weights are read with a gradient of the loss, which is none
        const Tensor grad = sum(x, {0}, KeepDims::Yes), weights = cat({y.select(0, 0), y.select(0, 0)}, 0);
        return Tensors{erfinv(internal::cross_entropy_rows_backward(grad, {}, x, 0, {}, weights, 0))};
      },
  };
  for (const RowFunction& f : functions) {
    const auto fast = compile(f);
    for (const auto& [rows, columns] : {std::pair(25, 31), std::pair(1, 9), std::pair(4, 1)}) {
      const Tensor x = randn({rows, columns}), y = randn({rows, columns});
      EXPECT_TRUE(have_equal_bits(fast(x, y), f(x, y))) << rows << " by " << columns << "\n" << fast.graph();
    }
  }
}

// Tensors of rows, and of one element a row, in calls drawn at random.
class DrawnRows {
 public:
  explicit DrawnRows(test::Random random) : random_(std::move(random)) {}

  Tensors operator()(const Tensor& x, const Tensor& y, const Tensor& column, const Tensor& row) const {
    test::Random draws = random_;
    Tensors all = {x, y, column, row};
    const std::int64_t axis = draws.between(0, 3) == 0 ? 0 : -1;
    Tensors given;
    const std::int64_t steps = draws.between(2, 9);
    for (std::int64_t i = 0; i < steps; ++i) {
      const auto any = [&] {
        return all[static_cast<std::size_t>(draws.between(0, static_cast<std::int64_t>(all.size()) - 1))];
      };
      const Tensor a = any(), b = any();
      all.push_back(step(draws.between(0, 17), a, b, axis));
      if (draws.one_in(3)) given.push_back(all.back());
    }
    given.push_back(all.back());
    return given;
  }

 private:
  static Tensor step(std::int64_t kind, const Tensor& a, const Tensor& b, std::int64_t axis) {
    const Dim last = a.size(-1);
    switch (kind) {
      case 0:
        return a + b;
      case 1:
        return a * b;
      case 2:
        return a - b;
      case 3:
        return gelu(a, GeluApproximate::Tanh);
      case 4:
        return sigmoid(a) * 0.5;
      case 5:
        return relu(a) + 1;
      case 6:
        return sum(a, {axis}, KeepDims::Yes);
      case 7:
        return mean(a, {axis}, KeepDims::Yes);
      case 8:
        return amax(a, {axis}, KeepDims::Yes);
      case 9:
        return softmax(a, axis);
      case 10:
        return log_softmax(a, axis);
      case 11:
        return layer_norm(a, {last});
      case 12:
        return rms_norm(a, {last});
      case 13:
        return where(gt(a, b), a, b);
      case 14:
        return var(a, {axis}, 0, KeepDims::Yes);
      case 15:
        return logsumexp(a, {axis}, KeepDims::Yes);
      case 16:
        return tanh(a - b);
      default:
        return a.to(kBF16).to(a.dtype()) * b;
    }
  }
  test::Random random_;
};

TEST(FuseRows, RandomProgramsHaveTheirBits) {
  const NoGrad no_grad;
  const test::Random random;
  const char* only = std::getenv("PELLUCID_CASE");
  const int programs = test::Random::share_of(static_cast<int>(test::number_from("PELLUCID_PROGRAMS", 300)));
  const int first = only != nullptr ? std::atoi(only) : 0, last = only != nullptr ? first : programs - 1;
  std::size_t fused = 0;
  for (int i = first; i <= last; ++i) {
    test::Random of_case = random.of_case(static_cast<std::uint64_t>(i));
    const DrawnRows program(of_case);
    const DType dtype = of_case.one_in(3) ? kBF16 : of_case.one_in(3) ? kF64 : kF32;
    const auto fast = compile(program);
    for (int turn = 0; turn < 3; ++turn) {
      const std::int64_t rows = of_case.between(1, 40), columns = of_case.between(1, turn == 2 ? 3000 : 70);
      const Tensor x = randn({rows, columns}).to(dtype), y = randn({rows, columns}).to(dtype);
      const Tensor column = randn({rows, 1}).to(dtype), row = randn({columns}).to(dtype);
      const Tensors wanted = program(x, y, column, row), result = fast(x, y, column, row);
      for (std::size_t o = 0; o < wanted.size(); ++o) {
        ASSERT_TRUE(test::equal_bits_or_nans(wanted[o], result[o]))
            << of_case.repro() << " [" << rows << ", " << columns << "] " << name(dtype) << ", output " << o
            << "\n"
            << fast.graph();
      }
    }
    for (std::size_t at = 0; (at = fast.graph().find("= red_fused_", at)) != std::string::npos; ++at) ++fused;
  }
  std::cout << fused << " fused row kernels\n";
  EXPECT_TRUE(only != nullptr || fused > static_cast<std::size_t>(programs) / 3);
}

}  // namespace
}  // namespace pel
