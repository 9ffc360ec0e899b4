// Scalar expressions: construction rules, printing, and the semantics of each operation.
#include "ir/scalar.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pellucid/error.h"

#include "ir/math.h"
#include "support/errors.h"
#include "tensor/convert.h"

namespace pel::scalar {
namespace {

std::string message_of(const auto& f) { return test::thrown_by<InternalError>(f).what(); }

ScalarExpr finish(ScalarBuilder& builder, Term result) { return builder.finish({&result, 1}); }

template <class To, class... From>
To evaluated(const ScalarExpr& expr, From... inputs) {
  const void* pointers[] = {&inputs...};
  To result{};
  void* outputs[] = {&result};
  EXPECT_TRUE(evaluate(expr, 1, pointers, nullptr, outputs));
  return result;
}

TEST(Scalar, EqualNodesAreCreatedOnceAndUnusedOnesDropped) {
  ScalarBuilder builder;
  const Term x = builder.input(kF32);
  const Term unused = sqrt(x);
  EXPECT_EQ((x * x).id(), (x * x).id());
  EXPECT_NE(unused.id(), x.id());
  const ScalarExpr expr = finish(builder, x * x + x * x);
  EXPECT_EQ(to_string(expr),
            "%0 = input f32 0\n"
            "%1 = mul f32 %0, %0\n"
            "%2 = add f32 %1, %1\n"
            "result %2\n");
}

TEST(Scalar, PrintsEveryKindOfLeaf) {
  ScalarBuilder builder;
  const Term x = builder.input(kI32), p = builder.param(kF32);
  const double table[] = {0.5, 2.0};
  const Term loaded = builder.lookup(kF32, {table, 2}, x);
  EXPECT_EQ(to_string(finish(builder, fma(loaded, 0.25, p))),
            "%0 = input i32 0\n"
            "%1 = param f32 0\n"
            "%2 = lookup f32 %0 in table 0\n"
            "%3 = constant f32 0.25\n"
            "%4 = fma f32 %2, %3, %1\n"
            "result %4\n");
}

TEST(Scalar, RefusesWhatNoEmitterComputes) {
  ScalarBuilder builder;
  const Term f = builder.input(kF32), half = builder.input(kBF16), i = builder.input(kI32),
             b = builder.input(kBool);
  const auto refused = [](auto make) { return message_of(make); };
  EXPECT_NE(refused([&] { half + half; }).find("have no arithmetic"), std::string::npos);
  EXPECT_NE(refused([&] { f + cast(f, kF64); }).find("type of the result"), std::string::npos);
  EXPECT_NE(refused([&] { f & f; }).find("only integers and bool"), std::string::npos);
  EXPECT_NE(refused([&] { sqrt(i); }).find("only floating point"), std::string::npos);
  EXPECT_NE(refused([&] { b + b; }).find("bool has no arithmetic"), std::string::npos);
  EXPECT_NE(refused([&] { select(f, f, f); }).find("select takes bool"), std::string::npos);
  EXPECT_NE(refused([&] { bitcast(f, kF64); }).find("must not change the width"), std::string::npos);
}

TEST(Scalar, TheVerifierFindsABrokenExpression) {
  ScalarBuilder builder;
  const Term x = builder.input(kF32);
  const ScalarExpr good = finish(builder, x + 1);
  verify(good);
  ScalarExpr backward = good;
  backward.nodes.back().args[0] = 2;
  EXPECT_NE(message_of([&] { verify(backward); }).find("arguments must be earlier nodes"), std::string::npos);
  ScalarExpr unneeded = good;
  unneeded.nodes.push_back({ScalarOp::Neg, kF32, {2, -1, -1}, 0});
  EXPECT_NE(message_of([&] { verify(unneeded); }).find("every node must be needed"), std::string::npos);
}

TEST(Scalar, MinAndMaxReturnTheSecondOperandForNaNAndTies) {
  const auto make = [](auto f) {
    ScalarBuilder builder;
    const Term a = builder.input(kF32), b = builder.input(kF32);
    return finish(builder, f(a, b));
  };
  const ScalarExpr smallest = make([](Term a, Term b) { return min(a, b); });
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(evaluated<float>(smallest, 1.0f, 2.0f), 1.0f);
  EXPECT_EQ(evaluated<float>(smallest, nan, 2.0f), 2.0f);
  EXPECT_TRUE(std::isnan(evaluated<float>(smallest, 2.0f, nan)));
  EXPECT_TRUE(std::signbit(evaluated<float>(smallest, 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(evaluated<float>(smallest, -0.0f, 0.0f)));
}

TEST(Scalar, IntegersWrapAndDivisionByZeroIsReported) {
  ScalarBuilder builder;
  const Term a = builder.input(kI32), b = builder.input(kI32);
  const ScalarExpr quotient = finish(builder, a / b);
  const std::int32_t smallest = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(evaluated<std::int32_t>(quotient, -7, 2), -3);
  EXPECT_EQ(evaluated<std::int32_t>(quotient, smallest, -1), smallest);
  const std::int32_t one = 1, zero = 0;
  std::int32_t result = 0;
  const void* inputs[] = {&one, &zero};
  void* outputs[] = {&result};
  EXPECT_FALSE(evaluate(quotient, 1, inputs, nullptr, outputs));
}

TEST(Scalar, CastsAreThoseOfTensors) {
  ScalarBuilder builder;
  const ScalarExpr to_byte = finish(builder, cast(builder.input(kF32), kI8));
  for (const float value : {0.9f, -0.9f, 127.5f, 300.0f, -300.0f, std::nanf("")}) {
    EXPECT_EQ(evaluated<std::int8_t>(to_byte, value), convert<std::int8_t>(value)) << value;
  }
}

TEST(Scalar, SignAgnosticExpressionsShareCode) {
  const auto agnostic = [](auto f) {
    ScalarBuilder builder;
    const Term a = builder.input(kU8), b = builder.input(kU8);
    return is_sign_agnostic(finish(builder, f(a, b)));
  };
  EXPECT_TRUE(agnostic([](Term a, Term b) { return a * b + (a ^ b); }));
  EXPECT_FALSE(agnostic([](Term a, Term b) { return a / b; }));
  EXPECT_FALSE(agnostic([](Term a, Term b) { return max(a, b); }));
  EXPECT_FALSE(agnostic([](Term a, Term) { return a >> 1; }));
}

}  // namespace
}  // namespace pel::scalar
