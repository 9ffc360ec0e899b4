// Recording and walking: leaves, graphs, hooks, views, writes in place, functions, checkpoints.
#include "pellucid/autograd.h"

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

namespace pel {
namespace {

double value(const Tensor& t) { return t.item().to_double(); }

TEST(Autograd, AccumulatesAtLeaves) {
  const Tensor x = tensor({1., 2., 3.}, kF64).requires_grad_();
  const Tensor y = sum(x * x);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(y.is_leaf());
  y.backward();
  EXPECT_EQ(to_string(x.grad()), to_string(tensor({2., 4., 6.}, kF64)));
  sum(x * x).backward();
  EXPECT_EQ(to_string(x.grad()), to_string(tensor({4., 8., 12.}, kF64)));
}

TEST(Autograd, RecordsOnlyCallsThatRequireAGradient) {
  const Tensor x = ones({2}).requires_grad_();
  {
    const NoGrad off;
    EXPECT_FALSE((x * 2).requires_grad());
    const EnableGrad on;
    EXPECT_TRUE((x * 2).requires_grad());
  }
  {
    const InferenceMode off;
    const EnableGrad on;
    EXPECT_FALSE((x * 2).requires_grad());
  }
  EXPECT_FALSE((x.detach() * 2).requires_grad());
  EXPECT_FALSE((ones({2}) * 2).requires_grad());
  EXPECT_FALSE(gt(x, 0).requires_grad());
}

TEST(Autograd, WritesThroughViews) {
  // A view of a buffer that requires nothing, written with a value that does.
  const Tensor x = tensor({3., 5.}, kF64).requires_grad_();
  const Tensor buffer = ones({2, 2}, kF64);
  const Tensor row = buffer.select(0, 1), other = buffer.select(0, 0), whole = buffer.view({4});
  row.copy_(x);
  EXPECT_TRUE(buffer.requires_grad());
  EXPECT_TRUE(whole.requires_grad());
  sum(whole * whole).backward();
  EXPECT_EQ(to_string(x.grad()), to_string(tensor({6., 10.}, kF64)));
  EXPECT_TRUE(other.requires_grad());  // of a value that flows nowhere
}

TEST(Autograd, WritesInPlaceInTheMiddle) {
  const Tensor x = tensor({{1., 2.}, {3., 4.}}, kF64).requires_grad_();
  const Tensor y = x * 2;
  const Tensor row = y.select(0, 0);
  mul_(row, 10);  // of y
  sum(y * y).backward();
  // y = [20x, 20x; 2x, 2x]
  EXPECT_EQ(to_string(x.grad()), to_string(tensor({{800., 1600.}, {24., 32.}}, kF64)));
}

TEST(Autograd, DetectsAWriteToASavedTensor) {
  const Tensor x = ones({2, 3}).requires_grad_();
  const Tensor y = x * 3;
  const Tensor z = y * y;
  add_(y, 1);
  try {
    sum(z).backward();
    FAIL() << "a write went unseen";
  } catch (const VersionError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("mul"), std::string::npos) << text;
    EXPECT_NE(text.find("f32[2, 3]"), std::string::npos) << text;
    EXPECT_NE(text.find("version 0"), std::string::npos) << text;
    EXPECT_NE(text.find("version 1"), std::string::npos) << text;
    EXPECT_NE(text.find("add_ at"), std::string::npos) << text;
    EXPECT_NE(text.find("autograd_test.cc"), std::string::npos) << text;
  }
}

TEST(Autograd, GradientsOfGradients) {
  const Tensor x = tensor({2.}, kF64).requires_grad_();
  const Tensor y = sum(x * x * x);
  BackwardOptions options;
  options.create_graph = true;
  const Tensor first = grad({y}, {x}, options)[0];
  EXPECT_EQ(value(first), 12);
  const Tensor second = grad({first}, {x}, options)[0];
  EXPECT_EQ(value(second), 12);
  EXPECT_EQ(value(grad({second}, {x})[0]), 6);
  EXPECT_FALSE(x.grad().defined());
}

TEST(Autograd, HooksSeeAndChangeGradients) {
  const Tensor x = tensor({2.}, kF64).requires_grad_();
  const Tensor y = x * 3;
  y.retain_grad();
  int calls = 0;
  const auto id = register_hook(y, [&](const Tensor& g) {
    ++calls;
    return g * 10;
  });
  BackwardOptions retain;
  retain.retain_graph = true;
  const Tensor z = sum(y * y);
  z.backward(retain);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(value(y.grad()), 12);
  EXPECT_EQ(value(x.grad()), 360);
  remove_hook(y, id);
  x.set_grad(Tensor());
  z.backward();
  EXPECT_EQ(value(x.grad()), 36);
  EXPECT_THROW(z.backward(), ValueError);  // released
}

TEST(Autograd, CustomFunctionsHaveGradients) {
  Function cube;
  cube.name = "cube";
  cube.forward = [](FunctionContext& c, ArrayView<Tensor> in) {
    c.save_for_backward({in[0]});
    return std::vector<Tensor>{in[0] * in[0] * in[0]};
  };
  cube.backward = [](FunctionContext& c, ArrayView<Tensor> grads) {
    return std::vector<Tensor>{grads[0] * c.saved_tensors()[0] * c.saved_tensors()[0] * 3};
  };
  const Tensor x = tensor({2., -1.}, kF64).requires_grad_();
  const TensorFunction f = [&](ArrayView<Tensor> in) { return apply(cube, in); };
  EXPECT_EQ(gradcheck(f, {x}), "");
  EXPECT_EQ(gradgradcheck(f, {x}), "");
}

TEST(Autograd, CheckpointsComputeTheSameGradient) {
  const auto region = [](ArrayView<Tensor> in) {
    return exp(dropout(in[0], 0.5, Training::Yes) * in[1]) * in[0];
  };
  const Tensor x = rand({64}, kF64).requires_grad_(), w = rand({64}, kF64).requires_grad_();
  manual_seed(3);
  sum(region(std::vector<Tensor>{x, w})).backward();
  const std::string plain = to_string(x.grad()) + to_string(w.grad());
  x.set_grad(Tensor());
  w.set_grad(Tensor());
  manual_seed(3);
  const Tensor y = sum(checkpoint(region, {x, w}));
  const auto after = default_generator().state();
  y.backward();
  EXPECT_EQ(default_generator().state(), after);
  EXPECT_EQ(to_string(x.grad()) + to_string(w.grad()), plain);
}

TEST(Autograd, ACheckpointThatThrowsInBackwardRestoresTheGenerator) {
  bool throws = false;
  const auto region = [&](ArrayView<Tensor> in) {
    const Tensor dropped = dropout(in[0], 0.5, Training::Yes);
    if (throws) throw ValueError("the second run fails");
    return exp(dropped);
  };
  const Tensor x = rand({64}, kF64).requires_grad_();
  const Tensor y = sum(checkpoint(region, {x}));
  rand({1});  // other draws follow before backward
  const auto after = default_generator().state();
  throws = true;
  EXPECT_THROW(y.backward({.retain_graph = true}), ValueError);
  EXPECT_EQ(default_generator().state(), after);
  throws = false;
  y.backward();
  EXPECT_TRUE(x.grad().defined());
  EXPECT_EQ(default_generator().state(), after);
}

TEST(Autograd, ACheckpointWhoseInputWasWrittenToRestoresTheGenerator) {
  const Tensor w = rand({8}, kF64), x = rand({8}, kF64).requires_grad_();
  const Tensor y = sum(checkpoint(
      [](ArrayView<Tensor> in) { return exp(dropout(in[0], 0.5, Training::Yes)) * in[1]; }, {x, w}));
  rand({1});
  const auto after = default_generator().state();
  w.zero_();
  EXPECT_THROW(y.backward(), VersionError);
  EXPECT_EQ(default_generator().state(), after);
}

TEST(Autograd, AWriteWhoseGradientNeedsTheOldValueSavesACopy) {
  const Tensor x = tensor({0.5, -1.5}, kF64).requires_grad_(), w = tensor({2., 3.}, kF64).requires_grad_();
  const TensorFunction f = [](ArrayView<Tensor> in) {
    const Tensor y = in[0] * 2;
    mul_(sin_(y), in[1]);
    return std::vector<Tensor>{mul_(y, y)};
  };
  EXPECT_EQ(gradcheck(f, {x, w}), "");
  EXPECT_EQ(gradgradcheck(f, {x, w}), "");
}

TEST(Autograd, AWriteThatSavesItsTargetDoesNotLeak) {
  const auto live = [] { return std::pair(memory_stats().data_bytes, memory_stats().small_blocks); };
  const Tensor w = ones({1024, 64}).requires_grad_();
  const auto before = live();
  {
    const Tensor y = w * 1;
    mul_(y, w);
    mul_(y, y);
    mul_(y.select(0, 0), w.select(0, 1));
  }
  EXPECT_EQ(live(), before);
}

TEST(Autograd, LongChainsAreReleasedWithoutRecursion) {
  Tensor y = ones({1}).requires_grad_();
  for (int i = 0; i < 200'000; ++i) y = y * 1;
  y.backward();
}

}  // namespace
}  // namespace pel
