// Errors name the line of the user's code that made the call.
#include <string>

#include <gtest/gtest.h>

#include "pellucid/ops.h"
#include "pellucid/tensor.h"

#include "support/errors.h"

namespace pel {
namespace {

// Runs one statement that throws E; its line is that of the macro.
#define EXPECT_NAMES_THIS_LINE(E, ...)                                                        \
  do {                                                                                        \
    const unsigned line = Site::current().line();                                             \
    const auto error = test::thrown_by<E>([&] { static_cast<void>(__VA_ARGS__); });           \
    EXPECT_EQ(test::file_of(error.site()), "source_location_test.cc") << error.what();        \
    EXPECT_EQ(error.site().line(), line) << error.what();                                     \
    EXPECT_NE(std::string(error.what()).find("source_location_test.cc:"), std::string::npos); \
  } while (false)

class SourceLocation : public testing::Test {
 protected:
  const Tensor x_ = zeros({2, 3});
};

TEST_F(SourceLocation, OfFreeFunctions) {
  EXPECT_NAMES_THIS_LINE(ValueError, empty({-1}));
  EXPECT_NAMES_THIS_LINE(ShapeError, view(x_, {7}));
  EXPECT_NAMES_THIS_LINE(IndexError, select(x_, 0, 5));
  EXPECT_NAMES_THIS_LINE(ShapeError, copy_(x_, ones({4})));
  EXPECT_NAMES_THIS_LINE(ValueError, item(x_));
  EXPECT_NAMES_THIS_LINE(ValueError, arange(0, 5, 0));
}

TEST_F(SourceLocation, OfMethods) {
  EXPECT_NAMES_THIS_LINE(ShapeError, x_.view({7}));
  EXPECT_NAMES_THIS_LINE(IndexError, x_.transpose(0, 9));
  EXPECT_NAMES_THIS_LINE(ShapeError, x_.expand({3}));
  EXPECT_NAMES_THIS_LINE(ValueError, x_.slice(0, 0, 1, 0));
  EXPECT_NAMES_THIS_LINE(ValueError, x_.chunk(0));
  EXPECT_NAMES_THIS_LINE(ValueError, x_.item());
  EXPECT_NAMES_THIS_LINE(IndexError, x_.size(4));
  EXPECT_NAMES_THIS_LINE(IndexError, x_.stride(4));
  EXPECT_NAMES_THIS_LINE(DTypeError, x_.data<double>());
  EXPECT_NAMES_THIS_LINE(AliasError, x_.expand({2, 2, 3}).copy_(x_));
}

TEST_F(SourceLocation, OfBrackets) {
  EXPECT_NAMES_THIS_LINE(IndexError, x_[2]);
  EXPECT_NAMES_THIS_LINE(IndexError, x_[{0, 3}]);
  EXPECT_NAMES_THIS_LINE(IndexError, x_[{0, 0, 0}]);
  EXPECT_NAMES_THIS_LINE(ValueError, x_[Slice(0, 1, 0)]);
  EXPECT_NAMES_THIS_LINE(IndexError, x_[Dim(7)]);
}

TEST_F(SourceLocation, OfValuesAndMemory) {
  EXPECT_NAMES_THIS_LINE(ShapeError, tensor({{1, 2}, {3}}));
  EXPECT_NAMES_THIS_LINE(ValueError, from_data<float>({1, 2}, {3}));
  EXPECT_NAMES_THIS_LINE(ValueError, from_external({nullptr, kF32, {2}, {}, kCpu, false, {}}));
}

TEST_F(SourceLocation, IsTheOutermostCallsWhereOpsCallOps) {
  const auto line = Site::current().line() + 1;
  const auto error = test::thrown_by<ShapeError>([&] { x_.t().reshape({7}); });
  EXPECT_EQ(error.site().line(), line);
  EXPECT_EQ(error.op(), "reshape");
  const auto deep = test::thrown_by<IndexError>([&] { x_.movedim({0}, {5}); });
  EXPECT_EQ(deep.op(), "movedim");
  const auto inner =
      test::thrown_by<ShapeError>([&] { x_.t().unflatten(0, {3, 1}).unflatten(2, {1, 2}).view({6}); });
  EXPECT_EQ(inner.op(), "view");
}

TEST_F(SourceLocation, OfAnErrorInsideAnotherOpShowsThePath) {
  const unsigned line = Site::current().line() + 1;
  const auto error = test::thrown_by<ValueError>([&] { zeros({-2}); });
  EXPECT_EQ(error.op(), "zeros > full");
  EXPECT_EQ(error.site().line(), line);
}

}  // namespace
}  // namespace pel
