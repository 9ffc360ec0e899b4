// Methods of Tensor that call ops. Their arguments and defaults are those of the ops, by construction
// (scripts/write_methods.py), so a few of each form are enough.
#include <gtest/gtest.h>
#include <pellucid/pellucid.h>

namespace pel {
namespace {

TEST(Methods, AnAxisMayBeANumberOrAList) {
  const Tensor x = arange(6, kF32).view({2, 3});
  EXPECT_EQ(to_string(x.sum(-1)), to_string(sum(x, {-1})));
  EXPECT_EQ(to_string(x.sum({0, 1})), to_string(sum(x)));
  EXPECT_EQ(to_string(x.sum()), to_string(sum(x)));
  EXPECT_EQ(to_string(x.sum({}, KeepDims::Yes)), to_string(sum(x, {}, KeepDims::Yes)));
  EXPECT_EQ(to_string(x.mean(0, KeepDims::Yes)), to_string(mean(x, {0}, KeepDims::Yes)));
}

TEST(Methods, ChainAsInPyTorch) {
  const Tensor x = arange(6, kF32).view({2, 3});
  EXPECT_EQ(to_string(x.softmax(-1)), to_string(softmax(x, -1)));
  EXPECT_EQ(to_string(x.add(1).relu().sqrt()), to_string(sqrt(relu(add(x, 1)))));
  EXPECT_EQ(to_string(x.matmul(x.t())), to_string(matmul(x, x.t())));
  EXPECT_EQ(to_string(std::get<1>(x.max(1))), to_string(std::get<1>(max(x, 1))));
  EXPECT_EQ(to_string(std::get<0>(x.topk(2))), to_string(std::get<0>(topk(x, 2))));
}

TEST(Methods, WhereIsAMethodOfTheValues) {
  const Tensor x = arange(4, kF32);
  EXPECT_EQ(to_string(x.where(x.gt(1), 0)), to_string(where(x.gt(1), x, 0)));
}

TEST(Methods, InPlaceFormsWriteToTheTensor) {
  const Tensor x = ones({3});
  EXPECT_TRUE(x.add_(2).mul_(x).is_same(x));
  EXPECT_EQ(to_string(x), "tensor([9., 9., 9.], f32[3])");
}

TEST(Methods, ErrorsNameTheLineOfTheCall) {
  const Tensor x = ones({2, 3});
  std::string text;
  const int line = __LINE__ + 2;
  try {
    static_cast<void>(x.mm(x));
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("methods_test.cc:" + std::to_string(line)), std::string::npos) << text;
}

}  // namespace
}  // namespace pel
