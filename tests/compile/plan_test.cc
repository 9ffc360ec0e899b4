// What the fuzzer found (random_graphs_test.cc), one small function each: compiled, it does what it does
// without.
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/compiled_function.h"
#include "support/bytes.h"

namespace pel {
namespace {

using TensorList = std::vector<Tensor>;

// Calls both with tensors of each of these lists. How often it was captured.
std::size_t expect_same(const compiler::TensorFunction& f, const std::vector<TensorList>& calls) {
  compiler::CompiledFunction compiled(f);
  for (const TensorList& inputs : calls) {
    TensorList copies;
    for (const Tensor& t : inputs) copies.push_back(t.clone());
    manual_seed(3);
    const TensorList wanted = f(inputs);
    manual_seed(3);
    const TensorList given = compiled(copies);
    EXPECT_EQ(wanted.size(), given.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(to_string(wanted[i].sizes()), to_string(given[i].sizes()));
      EXPECT_TRUE(test::bytes_of(wanted[i]) == test::bytes_of(given[i])) << "output " << i;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i)
      EXPECT_TRUE(test::bytes_of(inputs[i]) == test::bytes_of(copies[i])) << "input " << i;
  }
  return compiled.captures();
}

TEST(Plan, AnOutputThatIsGivenTwiceIsOneTensor) {
  compiler::CompiledFunction compiled([](ArrayView<Tensor> in) {
    const Tensor made = exp(in[0]), view = made.slice(0, 1);
    return TensorList{made, view, made, view};
  });
  const TensorList given = compiled(TensorList{randn({4})});
  EXPECT_TRUE(given[0].is_same(given[2]));
  EXPECT_TRUE(given[1].is_same(given[3]));
  EXPECT_TRUE(given[1].shares_storage(given[0]));
}

TEST(Plan, WritesToTheFunctionsOwnMemoryThatNothingReadsAreGone) {
  compiler::CompiledFunction compiled([](ArrayView<Tensor> in) {
    const Tensor own = exp(in[0]);
    acos_(add_(own, 1));
    return TensorList{in[1]};
  });
  const TensorList inputs = {randn({4}), randn({4})};
  EXPECT_TRUE(compiled(inputs)[0].is_same(inputs[1]));
  EXPECT_TRUE(compiled.plan_for(inputs)->kernels().empty());
}

TEST(Plan, ASizeAsAlphaMayBeOne) {
  const auto f = [](ArrayView<Tensor> in) {
    return TensorList{relu(sub(in[0], in[1], in[0].size(0) - 1)), neg(add(in[0], in[1], in[0].size(0)))};
  };
  expect_same(f, {{randn({33}), randn({33})}, {randn({2}), randn({2})}, {randn({1}), randn({1})}});
  expect_same(f, {{randn({2}), randn({2})}, {randn({33}), randn({33})}});
}

TEST(Plan, ASizeAsExponentMayBeTwo) {
  const auto f = [](ArrayView<Tensor> in) { return TensorList{neg(pow(in[0], in[0].size(0)))}; };
  expect_same(f, {{randn({34})}, {randn({2})}, {randn({3})}});
  expect_same(f, {{randn({2})}, {randn({34})}});
}

TEST(Plan, ANumberThatIsScatteredIsKept) {
  expect_same(
      [](ArrayView<Tensor> in) {
        const Tensor index = in[0].to(kI64);
        return TensorList{scatter_reduce(in[0], 0, index, in[0], ScatterReduce::Sum, IncludeSelf::No)};
      },
      {{tensor({1, 0, 1}).to(kI32)}, {tensor({0, 2, 1, 0}).to(kI32)}});
}

TEST(Plan, NoElementsHaveNoStrides) {
  const auto compiled = [](const compiler::TensorFunction& f, const Tensor& first, const Tensor& empty) {
    EXPECT_EQ(expect_same(f, {{first}, {empty}}), 1U);
  };
  compiled([](ArrayView<Tensor> in) { return TensorList{in[0].clone(Layout::RowMajor)}; },
           randn({4, 3, 5}).transpose(1, 2), zeros({2, 0, 2}).transpose(1, 2));
  compiled([](ArrayView<Tensor> in) { return TensorList{full({3, in[0].size(0)}, 2)}; }, randn({7}),
           zeros({0}));
}

TEST(Plan, AnEndBeyondAllSizesAsksNothing) {
  const auto compiled = [](const compiler::TensorFunction& f) {
    EXPECT_EQ(expect_same(f, {{randn({5})}, {randn({9})}}), 1U);
  };
  compiled([](ArrayView<Tensor> in) { return TensorList{randperm(in[0].size(0))}; });
  compiled([](ArrayView<Tensor> in) {
    return TensorList{in[0].slice(0, 1, std::numeric_limits<std::int64_t>::max())};
  });
}

TEST(Plan, AWindowBeyondTheMemoryIsRefused) {
  compiler::CompiledFunction compiled(
      [](ArrayView<Tensor> in) { return TensorList{mul(in[0].as_strided({4}, {in[0].size(0)}), 2)}; });
  EXPECT_THROW(compiled(TensorList{randn({3})}), ValueError);
  compiler::CompiledFunction offset(
      [](ArrayView<Tensor> in) { return TensorList{in[0].as_strided({2}, {1}, 1)}; });
  const Tensor base = randn({6});
  EXPECT_TRUE(test::bytes_of(offset(TensorList{base})[0]) == test::bytes_of(base.slice(0, 1, 3)));
  EXPECT_THROW(offset(TensorList{base.slice(0, 2)}), ValueError);
}

TEST(Plan, AnOpenSizeWithoutElementsIsAnError) {
  const auto f = [](ArrayView<Tensor> in) { return TensorList{in[0].reshape({in[0].size(0), -1})}; };
  compiler::CompiledFunction compiled(f);
  compiled(TensorList{randn({3, 4})});
  EXPECT_THROW(f(TensorList{zeros({0, 4})}), ValueError);
  EXPECT_THROW(compiled(TensorList{zeros({0, 4})}), ValueError);
}

TEST(Plan, AGuardThatDividesByZeroDoesNotHold) {
  compiler::CompiledFunction compiled(
      [](ArrayView<Tensor> in) { return TensorList{in[0].split(in[1].size(0))[0]}; });
  compiled(TensorList{randn({6}), randn({3})});
  const auto captured = compiled.graphs()[0];
  std::string reason;
  EXPECT_FALSE(captured->guards.match(captured->graph, TensorList{randn({6}), zeros({0})}, &reason));
  EXPECT_NE(reason.find(" must "), std::string::npos) << reason;
}

TEST(Plan, SizesOfOneBroadcastInEveryOp) {
  expect_same([](ArrayView<Tensor> in) { return TensorList{normal(in[0], abs(in[1]))}; },
              {{randn({1, 7}), randn({2, 7})}, {randn({1, 3}), randn({5, 3})}});
  expect_same([](ArrayView<Tensor> in) { return TensorList{einsum("ij,jk->ik", {{in[0], in[1]}})}; },
              {{randn({2, 5}), randn({1, 3})}, {randn({4, 2}), randn({1, 6})}});
}

TEST(Plan, AxesThatFollowEachOtherAreSeenAsOneInInputsWithGaps) {
  const auto f = [](ArrayView<Tensor> in) { return TensorList{in[0].flatten(0, 1)}; };
  compiler::CompiledFunction compiled(f);
  for (const std::int64_t rows : {3, 5}) {
    const Tensor x = randn({rows, 4, 9}).slice(2, 1, std::nullopt, 2);
    const Tensor given = compiled(TensorList{x})[0];
    EXPECT_TRUE(given.shares_storage(x));
    EXPECT_EQ(to_string(given.strides()), to_string(f(TensorList{x})[0].strides()));
  }
  EXPECT_EQ(compiled.captures(), 1U);
}

TEST(Plan, ASizeLessManyOthersIsStillASize) {
  expect_same(
      [](ArrayView<Tensor> in) {
        const Tensor last = in[0].split(3, 1).back(), made = exp(last);
        return TensorList{add(made, last)};
      },
      {{randn({2, 75})}, {randn({6, 75})}});
}

TEST(Plan, AxesThatOverlapAreOrderedByTheSizesOfTheCall) {
  expect_same(
      [](ArrayView<Tensor> in) {
        const Tensor odd = empty_strided({3, in[0].size(0), in[0].size(1)}, {3, 0, 3});
        return TensorList{odd.fill_(1).to(kF64)};
      },
      {{randn({2, 7})}, {randn({3, 3})}});
  // The step is a stride of its own.
  expect_same(
      [](ArrayView<Tensor> in) {
        return TensorList{maximum(in[0], in[1].slice(2, std::nullopt, std::nullopt, in[2].size(0)))};
      },
      {{randn({9}), randn({4, 2, 9}), randn({1})}, {randn({3}), randn({4, 2, 3}), randn({1})}});
}

}  // namespace
}  // namespace pel
