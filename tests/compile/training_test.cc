// Whole training steps compiled: gradients, optimisers and what they keep, against the same step without.
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/equal_bits.h"

namespace pel {
namespace {

// Parameters of two modules of one kind, and their gradients.
void expect_same(const nn::Module& a, const nn::Module& b, int step) {
  const std::vector<NamedTensor> left = a.named_parameters(), right = b.named_parameters();
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_TRUE(test::equal_bits(left[i].tensor, right[i].tensor)) << left[i].path << " at step " << step;
    EXPECT_TRUE(test::equal_bits(left[i].tensor.grad(), right[i].tensor.grad()))
        << "gradient of " << left[i].path << " at step " << step;
  }
}
nn::GPTConfig small_gpt() {
  nn::GPTConfig config;
  config.context = 64, config.layers = 4, config.heads = 4, config.width = 32, config.vocabulary = 67;
  return config;
}
Tensor tokens(int batch, int length) { return randint(0, 67, {batch, length}); }
Tensor loss_of(const Tensor& logits, const Tensor& y) {
  return cross_entropy(logits.flatten(0, 1), y.reshape({-1}));
}

struct Turn {
  int batch, length;
};
constexpr Turn kTurns[] = {{2, 9}, {3, 16}, {1, 1}, {2, 1}, {1, 33}, {5, 7}};

// Loops that depend on each other through scans between them.
TEST(Training, TheGradientOfCumprodIsThatOfTheFunction) {
  const auto f = [](const Tensor& x) {
    const Tensor products = cumprod(x, -1);
    return std::pair(products.detach(), grad({sum(products)}, {x})[0]);
  };
  const auto fast = compile(f);
  for (const int size : {4, 1, 30}) {
    const Tensor x = randn({size}).requires_grad_();
    const auto wanted = f(x), given = fast(x);
    EXPECT_TRUE(test::equal_bits(wanted.first, given.first)) << size;
    EXPECT_TRUE(test::equal_bits(wanted.second, given.second)) << size;
  }
}

TEST(Training, AGptWithAdamWAndClippingIsOneCompileForAllBatchesAndLengths) {
  manual_seed(3);
  nn::GPT eager(small_gpt()), captured(small_gpt());
  eager.load(captured.named_parameters());
  optim::AdamW plain(eager, {.lr = 1e-3}), fast(captured, {.lr = 1e-3});
  const auto step = [](nn::GPT& model, optim::AdamW& optimizer, const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = loss_of(model(x), y);
    loss.backward();
    optim::clip_grad_norm_(model, 1.0);
    optimizer.step();
    return loss;
  };
  const auto compiled = compile([&](const Tensor& x, const Tensor& y) { return step(captured, fast, x, y); });
  for (int i = 0; i < 50; ++i) {
    const Turn turn = kTurns[i % 6];
    const Tensor x = tokens(turn.batch, turn.length), y = tokens(turn.batch, turn.length);
    if (i % 10 == 5) plain.set_lr(1e-3 / i), fast.set_lr(1e-3 / i);
    const Tensor wanted = step(eager, plain, x, y), given = compiled(x, y);
    EXPECT_TRUE(test::equal_bits(wanted, given)) << "loss of step " << i;
    EXPECT_FALSE(given.requires_grad());
    expect_same(eager, captured, i);
    if (HasFailure()) break;
  }
  EXPECT_EQ(plain.steps(), fast.steps());
  EXPECT_EQ(compiled.compiles(), 1u);
  EXPECT_EQ(compiled.plans(), 6u);
}

TEST(Training, ALlamaIsOneCompile) {
  manual_seed(4);
  nn::LlamaConfig config;
  config.vocabulary = 67, config.layers = 2, config.heads = 4, config.kv_heads = 2, config.width = 32,
  config.hidden = 48;
  nn::Llama eager(config), captured(config);
  eager.load(captured.named_parameters());
  optim::AdamW plain(eager), fast(captured);
  const auto step = [](nn::Llama& model, optim::AdamW& optimizer, const Tensor& x, const Tensor& y) {
    const Tensor loss = loss_of(model(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss;
  };
  const auto compiled = compile([&](const Tensor& x, const Tensor& y) { return step(captured, fast, x, y); });
  for (int i = 0; i < 12; ++i) {
    const Turn turn = kTurns[i % 6];
    const Tensor x = tokens(turn.batch, turn.length), y = tokens(turn.batch, turn.length);
    EXPECT_TRUE(test::equal_bits(step(eager, plain, x, y), compiled(x, y))) << i;
    expect_same(eager, captured, i);
    EXPECT_FALSE(captured.parameters()[0].grad().defined());
  }
  EXPECT_EQ(compiled.compiles(), 1u);
}

class Mlp final : public nn::Module {
 public:
  Mlp() : first(6, 16), second(16, 3) { add("first", first), add("second", second); }
  Tensor operator()(const Tensor& x) const { return second(relu(first(x))); }
  nn::Linear first, second;
};
// Two modules with the same values.
struct Pair {
  Pair() { eager.load(captured.named_parameters()); }
  Mlp eager, captured;
};

TEST(Training, SgdWithMomentumKeepsItsStateAcrossCalls) {
  Pair pair;
  optim::SGD plain(pair.eager, {.lr = 0.1, .momentum = 0.9}),
      fast(pair.captured, {.lr = 0.1, .momentum = 0.9});
  const auto step = [](const Mlp& model, optim::Optimizer& optimizer, const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = mse_loss(model(x), y);
    loss.backward();
    optimizer.step();
    return loss;
  };
  const auto compiled =
      compile([&](const Tensor& x, const Tensor& y) { return step(pair.captured, fast, x, y); });
  for (int i = 0; i < 10; ++i) {
    const Tensor x = randn({1 + i % 4, 6}), y = randn({1 + i % 4, 3});
    EXPECT_TRUE(test::equal_bits(step(pair.eager, plain, x, y), compiled(x, y))) << i;
    expect_same(pair.eager, pair.captured, i);
  }
  EXPECT_EQ(compiled.compiles(), 1u);
  const std::vector<NamedTensor> wanted = plain.state(), given = fast.state();
  ASSERT_EQ(wanted.size(), given.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_TRUE(test::equal_bits(wanted[i].tensor, given[i].tensor)) << wanted[i].path;
}

TEST(Training, GradientsAddUpInsideOfACallAndOverCalls) {
  Pair pair;
  const auto step = [](const Mlp& model, const Tensor& x, const Tensor& other) {
    const Tensor loss = sum(square(model(x)));
    loss.backward();
    sum(model(other)).backward();
    return loss;
  };
  const auto compiled =
      compile([&](const Tensor& x, const Tensor& other) { return step(pair.captured, x, other); });
  for (int i = 0; i < 4; ++i) {
    const Tensor x = randn({2 + i, 6}), other = randn({3, 6});
    EXPECT_TRUE(test::equal_bits(step(pair.eager, x, other), compiled(x, other))) << i;
    expect_same(pair.eager, pair.captured, i);
  }
  EXPECT_EQ(compiled.compiles(), 2u);  // without gradients, and with
  pair.eager.zero_grad(), pair.captured.zero_grad();
  const Tensor x = randn({7, 6});
  step(pair.eager, x, x), compiled(x, x);
  expect_same(pair.eager, pair.captured, 5);
}

TEST(Training, AnAccumulatedGradientIsTheTensorThatWasThere) {
  Pair pair;
  const auto compiled = compile([&](const Tensor& x) {
    const Tensor loss = sum(pair.captured(x));
    loss.backward();
    return loss;
  });
  const Tensor x = randn({2, 6});
  compiled(x);
  const Tensor before = pair.captured.first.weight.grad();
  const std::uint32_t version = before.version();
  compiled(x);
  EXPECT_TRUE(pair.captured.first.weight.grad().is_same(before));
  EXPECT_GT(before.version(), version);
}

TEST(Training, InputsHaveGradientsToo) {
  const Tensor w = randn({5}).requires_grad_();
  const auto f = [&](const Tensor& x) {
    const Tensor loss = sum(square(x) * w);
    loss.backward();
    return loss;
  };
  const auto compiled = compile(f);
  for (const int rows : {3, 1, 8}) {
    const Tensor x = randn({rows, 5}), same = x.clone();
    x.requires_grad_(), same.requires_grad_();
    w.set_grad(Tensor());
    const Tensor wanted = f(x), of_w = w.grad();
    w.set_grad(Tensor());
    EXPECT_TRUE(test::equal_bits(wanted, compiled(same)));
    EXPECT_TRUE(test::equal_bits(x.grad(), same.grad()));
    EXPECT_TRUE(test::equal_bits(of_w, w.grad()));
  }
  EXPECT_EQ(compiled.compiles(), 1u);
  w.set_grad(Tensor());
  compiled(randn({3, 5}));  // one that requires none is another graph
  EXPECT_EQ(compiled.compiles(), 2u);
}

TEST(Training, GradientsThatAreClearedAreNotResults) {
  Pair pair;
  optim::SGD optimizer(pair.captured, {.lr = 0.1});
  const auto compiled = compile([&](const Tensor& x) {
    const Tensor loss = sum(pair.captured(x));
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss;
  });
  compiled(randn({2, 6}));
  EXPECT_FALSE(pair.captured.first.weight.grad().defined());
  const std::string text = compiled.graph();
  const std::string last = text.substr(text.rfind("return"));
  EXPECT_EQ(last.find(','), std::string::npos) << last;
}

TEST(Training, DropoutDrawsTheNumbersThatItDrawsWithout) {
  manual_seed(5);
  nn::GPTConfig config = small_gpt();
  config.layers = 1, config.dropout = 0.2;
  nn::GPT eager(config), captured(config);
  eager.load(captured.named_parameters());
  optim::AdamW plain(eager), fast(captured);
  const auto step = [](nn::GPT& model, optim::AdamW& optimizer, const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = loss_of(model(x), y);
    loss.backward();
    optimizer.step();
    return loss;
  };
  const auto compiled = compile([&](const Tensor& x, const Tensor& y) { return step(captured, fast, x, y); });
  for (int i = 0; i < 4; ++i) {
    const Tensor x = tokens(2, 5 + i), y = tokens(2, 5 + i);
    manual_seed(static_cast<std::uint64_t>(i));
    const Tensor wanted = step(eager, plain, x, y);
    manual_seed(static_cast<std::uint64_t>(i));
    EXPECT_TRUE(test::equal_bits(wanted, compiled(x, y))) << i;
    expect_same(eager, captured, i);
  }
  EXPECT_EQ(compiled.compiles(), 1u);
}

TEST(Training, AutocastCastsAnewAtEachCall) {
  for (const bool is_inside : {true, false}) {
    Pair pair;
    optim::AdamW plain(pair.eager, {.lr = 0.1}), fast(pair.captured, {.lr = 0.1});
    const auto step = [&](const Mlp& model, optim::Optimizer& optimizer, const Tensor& x) {
      optimizer.zero_grad();
      std::optional<Autocast> casts;
      if (is_inside) casts.emplace(kBF16);
      const Tensor loss = sum(square(model(x))) + sum(model(x).to(kF32));
      casts.reset();
      loss.backward();
      optimizer.step();
      return loss;
    };
    const auto compiled = compile([&](const Tensor& x) { return step(pair.captured, fast, x); });
    std::optional<Autocast> casts;
    if (!is_inside) casts.emplace(kBF16);
    for (int i = 0; i < 3; ++i) {
      const Tensor x = randn({3 + i, 6});
      EXPECT_TRUE(test::equal_bits(step(pair.eager, plain, x), compiled(x))) << i;
      expect_same(pair.eager, pair.captured, i);
    }
    EXPECT_EQ(compiled.compiles(), 1u);
  }
}

TEST(Training, FunctionsCheckpointsAndHooksOfItsOwnWork) {
  Pair pair;
  const Function cube{"cube",
                      [](FunctionContext& context, ArrayView<Tensor> in) {
                        context.save_for_backward({in[0]});
                        return std::vector<Tensor>{in[0] * in[0] * in[0]};
                      },
                      [](FunctionContext& context, ArrayView<Tensor> grads) {
                        return std::vector<Tensor>{grads[0] * 3 * square(context.saved_tensors()[0])};
                      }};
  register_hook(pair.eager.first.weight, [](const Tensor& grad) { return grad * 0.5; });
  register_hook(pair.captured.first.weight, [](const Tensor& grad) { return grad * 0.5; });
  const auto step = [&](const Mlp& model, const Tensor& x) {
    const Tensor cubed = apply(cube, {model(x)})[0];
    cubed.retain_grad();
    register_hook(cubed, [](const Tensor& grad) { return grad * 2; });
    const Tensor kept = checkpoint([](ArrayView<Tensor> in) { return dropout(tanh(in[0]), 0.5); }, {cubed});
    const Tensor loss = sum(kept);
    loss.backward();
    return std::pair(loss, cubed.grad());
  };
  const auto compiled = compile([&](const Tensor& x) { return step(pair.captured, x); });
  for (int i = 0; i < 2; ++i) {
    const Tensor x = randn({4, 6});
    manual_seed(7);
    const auto wanted = step(pair.eager, x);
    manual_seed(7);
    const auto given = compiled(x);
    EXPECT_TRUE(test::equal_bits(wanted.first, given.first));
    EXPECT_TRUE(test::equal_bits(wanted.second, given.second));
    expect_same(pair.eager, pair.captured, i);
  }
}

TEST(Training, GradientsOfGradientsAreCapturedWhereTheyEndInside) {
  const auto f = [](const Tensor& x) {
    const Tensor y = sum(tanh(x) * square(x));
    const Tensor first = grad({y}, {x}, {.create_graph = true})[0];
    return grad({sum(square(first))}, {x})[0];
  };
  const auto compiled = compile(f);
  for (const int size : {3, 6}) {
    const Tensor x = randn({size}).requires_grad_();
    EXPECT_TRUE(test::equal_bits(f(x), compiled(x)));
    EXPECT_FALSE(x.grad().defined());
  }
}

TEST(Training, AConvolutionalNetWithBatchNormKeepsItsStatistics) {
  const Tensor weight = randn({4, 2, 3, 3}).requires_grad_(), same = weight.detach().clone().requires_grad_();
  const Tensor means[] = {zeros({4}), zeros({4})}, variances[] = {ones({4}), ones({4})};
  const auto step = [&](int which, const Tensor& w, const Tensor& x) {
    const Tensor y = conv2d(x, w, std::nullopt, {1}, {1});
    const Tensor z =
        relu(batch_norm(y, std::nullopt, std::nullopt, means[which], variances[which], Training::Yes));
    const Tensor loss = mean(max_pool2d(z, {2}));
    w.set_grad(Tensor());
    loss.backward();
    const NoGrad no_grad;
    sub_(w, w.grad() * 0.1);
    return loss;
  };
  const auto compiled = compile([&](const Tensor& x) { return step(1, same, x); });
  for (int i = 0; i < 4; ++i) {
    const Tensor x = randn({1 + i, 2, 6 + 2 * i, 8});
    EXPECT_TRUE(test::equal_bits(step(0, weight, x), compiled(x))) << i;
    EXPECT_TRUE(test::equal_bits(weight, same)) << i;
    EXPECT_TRUE(test::equal_bits(means[0], means[1]));
    EXPECT_TRUE(test::equal_bits(variances[0], variances[1]));
  }
  EXPECT_EQ(compiled.compiles(), 1u);
}

TEST(Training, ConvolutionsWithStepsAreOneCompileForAllSizes) {
  const Tensor weight = randn({4, 3, 3, 3}).requires_grad_();
  const auto f = [&](const Tensor& x) {
    const Tensor y = conv2d(x, weight, std::nullopt, {2, 3}, {1, 0});
    const std::vector<Tensor> gradients = grad({sum(y * y)}, {x, weight});
    return std::pair(gradients[0], gradients[1]);
  };
  const auto fast = compile(f);
  for (const auto& [batch, rows, columns] : {std::tuple(2, 9, 11), {2, 8, 12}, {1, 10, 10}, {3, 5, 3}}) {
    const Tensor x = randn({batch, 3, rows, columns}).requires_grad_();
    const auto wanted = f(x), given = fast(x);
    EXPECT_TRUE(test::equal_bits(given.first, wanted.first)) << rows << " x " << columns;
    EXPECT_TRUE(test::equal_bits(given.second, wanted.second)) << rows << " x " << columns;
  }
  EXPECT_EQ(fast.compiles(), 1u);
}

TEST(Training, AWriteIsSeenByAGraphThatKeepsTheParameter) {
  Mlp model;
  const auto compiled = compile([&](const Tensor& x) {
    const Tensor loss = sum(model(x));
    loss.backward();
    const NoGrad no_grad;
    sub_(model.second.weight, model.second.weight.grad());
    return loss;
  });
  compiled(randn({2, 6}));
  const Tensor outside = sum(model(randn({2, 6})));
  compiled(randn({2, 6}));
  EXPECT_THROW(outside.backward(), VersionError);
  // And inside, between a call and its gradient.
  const auto broken = compile([&](const Tensor& x) {
    const Tensor loss = sum(model(x));
    {
      const NoGrad no_grad;
      mul_(model.second.weight, 2);
    }
    loss.backward();
    return loss;
  });
  EXPECT_THROW(broken(randn({2, 6})), VersionError);
}

TEST(Training, AParameterThatIsFrozenIsAnotherGraph) {
  Pair pair;
  const auto step = [](const Mlp& model, const Tensor& x) {
    const Tensor loss = sum(model(x));
    loss.backward();
    return loss;
  };
  const auto compiled = compile([&](const Tensor& x) {
    pair.captured.zero_grad();
    return step(pair.captured, x);
  });
  const Tensor x = randn({2, 6});
  step(pair.eager, x), compiled(x);
  expect_same(pair.eager, pair.captured, 0);
  for (const Mlp* model : {&pair.eager, &pair.captured}) model->first.weight.requires_grad_(RequiresGrad::No);
  pair.eager.zero_grad();
  step(pair.eager, x), compiled(x);
  expect_same(pair.eager, pair.captured, 1);
  EXPECT_EQ(compiled.compiles(), 2u);
}

TEST(Training, HostCodeIsVerified) {
  Mlp model;
  optim::AdamW optimizer(model);
  bool clears = true;
  const auto compiled = compile(
      [&](const Tensor& x) {
        const Tensor loss = sum(model(x));
        loss.backward();
        optimizer.step();
        if (clears) optimizer.zero_grad();
        return loss;
      },
      {.verifies_host_code = true});
  for (int i = 0; i < 3; ++i) compiled(randn({2 + i, 6}));
  clears = false;
  EXPECT_THROW(compiled(randn({2, 6})), CaptureError);
}

TEST(Training, AGradientOfOneNumberForAllElementsCanBeWrittenTo) {
  const Tensor w = randn({3, 4}).requires_grad_(), same = w.detach().clone().requires_grad_();
  const auto step = [](const Tensor& leaf, const Tensor& x) {
    const Tensor loss = sum(leaf * 2) + sum(leaf) + sum(x);
    sum(leaf).backward();
    loss.backward();
    mul_(leaf.grad(), 0.5);
    return leaf.grad();
  };
  const auto compiled = compile([&](const Tensor& x) { return step(same, x); });
  for (int i = 0; i < 3; ++i) {
    const Tensor x = randn({2});
    EXPECT_TRUE(test::equal_bits(step(w, x), compiled(x)));
    EXPECT_TRUE(test::equal_bits(w.grad(), same.grad()));
  }
}

TEST(Training, AnInputThatTheFunctionWritesToUnseenIsAnError) {
  const Tensor w = zeros({3});
  const auto compiled = compile([&](const Tensor& x) {
    const NoGrad no_grad;
    add_(w, 1);
    return x + w;
  });
  compiled(ones({3}));
  EXPECT_THROW(compiled(w), AliasError);
}

TEST(Training, AFailedCaptureLeavesGradientsAsTheyWere) {
  Mlp model;
  sum(model(randn({2, 6}))).backward();
  const Tensor before = model.first.weight.grad(), values = before.clone();
  const auto compiled = compile([&](const Tensor& x) {
    model.zero_grad();
    const Tensor loss = sum(model(x));
    loss.backward();
    loss.item();
    return loss;
  });
  EXPECT_THROW(compiled(randn({2, 6})), CaptureError);
  EXPECT_TRUE(model.first.weight.grad().is_same(before));
  EXPECT_TRUE(test::equal_bits(before, values));
}

template <class F>
std::string capture_error(const F& f) {
  try {
    f();
  } catch (const CaptureError& error) {
    return error.what();
  }
  return "";
}
void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Training, ErrorsSayWhatToDo) {
  Mlp model;
  const Tensor x = randn({2, 6}), buffer = zeros({2, 3});
  const auto error_of = [&](const auto& f, const Tensor& in) {
    return capture_error([&] { compile(f)(in); });
  };
  expect_in(error_of([&](const Tensor& in) { return model(in); }, x), "call backward inside it");
  const Tensor inner = (randn({2, 6}).requires_grad_()) * 2;
  expect_in(error_of(
                [&](const Tensor& in) {
                  const Tensor loss = sum(model(in));
                  loss.backward();
                  return loss;
                },
                inner),
            "flows out of the captured function through input 0");
  expect_in(error_of([&](const Tensor& in) { return in.requires_grad_(); }, x), "asks for a gradient of");
  expect_in(error_of(
                [&](const Tensor& in) {
                  register_hook(model.first.weight, [](const Tensor& grad) { return grad; });
                  return in;
                },
                x),
            "registers a hook on");
  expect_in(error_of(
                [&](const Tensor& in) {
                  buffer.copy_(model(in));
                  return in;
                },
                x),
            "which belongs to the captured function");
  expect_in(error_of(
                [&](const Tensor& in) {
                  backward({sum(square(model(in)))}, {.create_graph = true});
                  return in;
                },
                x),
            "requires a gradient itself");
}

TEST(Training, AStepOfAGptHasFewerKernelsThanWithout) {
  manual_seed(3);
  nn::GPT model(small_gpt());
  optim::AdamW optimizer(model);
  const auto step = [&](const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = loss_of(model(x), y);
    loss.backward();
    optim::clip_grad_norm_(model, 1.0);
    optimizer.step();
    return loss;
  };
  const auto compiled = compile(step);
  const Tensor x = tokens(2, 9), y = tokens(2, 9);
  compiled(x, y);
  const auto count = [](const auto& f) {
    const Recording recording;
    f();
    return recording.events().size();
  };
  const std::size_t plain = count([&] { step(x, y); }), fast = count([&] { compiled(x, y); });
  EXPECT_EQ(compiled.kernels(x, y).size(), fast);
  EXPECT_EQ(plain, 424u);
  EXPECT_EQ(fast, 388u);
}

}  // namespace
}  // namespace pel
