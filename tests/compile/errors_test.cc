// Errors of a compiled function read like those of the function itself: code, op path, rule and line.
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

namespace pel {
namespace {

template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// `good` are inputs that the function accepts: it is captured and planned with them first, so that the error
// comes from a run of the plan.
template <class F, class... T>
void expect_same_error(const F& f, const Tensor& good, const Tensor& bad, const T&... rest) {
  const NoGrad no_grad;
  const auto fast = compile(f);
  fast(good, rest...);
  const std::string eager = error_of([&] { f(bad, rest...); });
  EXPECT_NE(eager, "no error");
  EXPECT_NE(eager.find("errors_test.cc:"), std::string::npos) << eager;
  EXPECT_EQ(error_of([&] { fast(bad, rest...); }), eager);
  fast(good, rest...);  // it can still be called
  const auto new_plan = compile(f);
  EXPECT_EQ(error_of([&] { new_plan(bad, rest...); }), eager) << "at the first call";
}

Tensor ints(std::int64_t a, std::int64_t b) { return tensor({a, b}); }

TEST(CompiledErrors, AnIntegerDividedByZeroInAKernelOfItsOwn) {
  expect_same_error([](const Tensor& x, const Tensor& y) { return floor_divide(y, x); }, ints(1, 2),
                    ints(1, 0), ints(7, 8));
}

TEST(CompiledErrors, AnIntegerDividedByZeroInAFusedLoop) {
  const auto f = [](const Tensor& x, const Tensor& y) { return mul(add(remainder(mul(y, 3), x), 1), y); };
  expect_same_error(f, ints(1, 2), ints(1, 0), ints(7, 8));
}

TEST(CompiledErrors, TheFirstOfSeveralDivisionsThatFails) {
  const auto f = [](const Tensor& x, const Tensor& y) {
    const Tensor whole = floor_divide(y, add(x, 1));
    const Tensor rest = remainder(whole, sub(x, 1));
    return add(mul(whole, 2), rest);
  };
  expect_same_error(f, ints(2, 3), ints(2, -1), ints(7, 8));  // floor_divide fails
  expect_same_error(f, ints(2, 3), ints(2, 1), ints(7, 8));   // remainder fails
}

TEST(CompiledErrors, AnIndexOutOfRange) {
  const Tensor table = randn({5, 3});
  expect_same_error([&](const Tensor& x) { return relu(embedding(table, x)); }, ints(0, 4), ints(0, 5));
  expect_same_error([&](const Tensor& x) { return mul(index_select(table, 0, x), 2); }, ints(0, 4),
                    ints(0, 9));
  expect_same_error([&](const Tensor& x) { return gather(table, 0, x); }, ints(0, 4).view({2, 1}),
                    ints(0, -7).view({2, 1}));
}

TEST(CompiledErrors, TheTargetOfALossOutOfRange) {
  const Tensor logits = randn({2, 5});
  expect_same_error([&](const Tensor& x) { return cross_entropy(logits, x); }, ints(0, 4), ints(0, 5));
}

TEST(CompiledErrors, InsideAModule) {
  const nn::Embedding embed(5, 3);
  expect_same_error([&](const Tensor& x) { return relu(embed(x)); }, ints(0, 4), ints(0, 5));
}

TEST(CompiledErrors, InsideAModelOfTheLibrary) {
  const nn::GPT gpt({.vocabulary = 11, .context = 8, .layers = 1, .heads = 2, .width = 8});
  expect_same_error([&](const Tensor& x) { return gpt(x); }, ints(0, 4).view({1, 2}),
                    ints(0, 11).view({1, 2}));
}

TEST(CompiledErrors, ReadOnlyMemory) {
  float values[2] = {1, 2};
  const Tensor read_only = from_external({.data = values, .sizes = {2}, .read_only = true});
  expect_same_error(
      [](const Tensor& x) {
        add_(x, 1);
        return mul(x, 2);
      },
      randn({2}), read_only);
}

TEST(CompiledErrors, OutOfMemory) {
  const auto f = [](const Tensor& x) { return add(x.expand({std::int64_t{1} << 45, 4}), 1); };
  const NoGrad no_grad;
  const Tensor x = randn({4});
  const std::string eager = error_of([&] { f(x); });
  EXPECT_TRUE(eager.starts_with("E09 memory: add: ")) << eager;
  EXPECT_EQ(error_of([&] { compile(f)(x); }), eager);
}

TEST(CompiledErrors, OfATrainingStep) {
  const Tensor table = randn({5, 3}).requires_grad_();
  const auto step = [&](const Tensor& x) {
    table.set_grad({});
    const Tensor loss = sum(embedding(table, x));
    loss.backward();
    return loss.detach();
  };
  const auto fast = compile(step);
  fast(ints(0, 4));
  const std::string eager = error_of([&] { step(ints(0, 5)); });
  EXPECT_EQ(error_of([&] { fast(ints(0, 5)); }), eager);
}

}  // namespace
}  // namespace pel
