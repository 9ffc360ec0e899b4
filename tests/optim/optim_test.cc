// Optimisers against the same steps written with ops, one tensor at a time, as PyTorch does them.
#include "pellucid/optim.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"
#include "support/errors.h"

namespace pel {
namespace {

struct Bag : nn::Module {
  explicit Bag(DType dtype = kF32) : tensors(4) {
    const std::vector<std::vector<Dim>> sizes = {{3, 5}, {17}, {}, {40, 9}};
    for (std::size_t i = 0; i < tensors.size(); ++i)
      add_parameter("p" + std::to_string(i), tensors[i], randn(sizes[i]).to(dtype));
    tensors[3] = tensors[3].detach().t().contiguous().t().requires_grad_();  // dense, column-major
  }
  void draw_gradients() {
    for (const Tensor& t : parameters()) t.set_grad(randn(t.sizes()).to(t.dtype()));
  }
  std::vector<Tensor> tensors;
};

void expect_near(const Tensor& a, const Tensor& b, double relative) {
  const Tensor difference = amax(abs(a.detach().to(kF64) - b.to(kF64)));
  EXPECT_LE(difference.item().to_double(), relative * (1 + amax(abs(b.to(kF64))).item().to_double()));
}

struct AdamState {
  Tensor p, m, v;
};
void adam_by_hand(AdamState& s, const Tensor& grad, int step, const optim::AdamOptions& o, bool decoupled) {
  Tensor g = grad.to(kF64);
  if (decoupled) {
    s.p = s.p * (1 - o.lr * o.weight_decay);
  } else {
    g = g + s.p * o.weight_decay;
  }
  s.m = s.m * o.beta1 + g * (1 - o.beta1);
  s.v = s.v * o.beta2 + g * g * (1 - o.beta2);
  const double c1 = 1 - std::pow(o.beta1, step), c2 = 1 - std::pow(o.beta2, step);
  s.p = s.p - (s.m / (sqrt(s.v) / std::sqrt(c2) + o.eps)) * (o.lr / c1);
}

TEST(Optim, AdamAndAdamWTakePyTorchsSteps) {
  for (const bool decoupled : {false, true}) {
    for (const DType dtype : {kF32, kF64, kBF16}) {
      manual_seed(9);
      Bag bag(dtype);
      const optim::AdamOptions options{.lr = 0.01, .weight_decay = 0.1};
      std::unique_ptr<optim::Optimizer> optimizer;
      if (decoupled) {
        optimizer = std::make_unique<optim::AdamW>(bag, options);
      } else {
        optimizer = std::make_unique<optim::Adam>(bag, options);
      }
      std::vector<AdamState> wanted;
      for (const Tensor& t : bag.parameters()) {
        const Tensor wide = to_copy(t.detach(), kF64);
        wanted.push_back({wide, zeros_like(wide), zeros_like(wide)});
      }
      for (int step = 1; step <= 5; ++step) {
        bag.draw_gradients();
        const auto before = launch_count();
        optimizer->step();
        EXPECT_EQ(launch_count() - before, step == 1 ? 1u + 2 * 4 + 1 : 2u)
            << "expected one kernel, and one for a gradient's layout";
        for (std::size_t i = 0; i < wanted.size(); ++i)
          adam_by_hand(wanted[i], bag.parameters()[i].grad(), step, options, decoupled);
      }
      for (std::size_t i = 0; i < wanted.size(); ++i)
        expect_near(bag.parameters()[i], wanted[i].p, dtype == kF64 ? 1e-7 : dtype == kF32 ? 1e-6 : 2e-2);
      EXPECT_EQ(optimizer->steps(), 5);
    }
  }
}

TEST(Optim, SgdTakesPyTorchsSteps) {
  for (const Nesterov nesterov : {Nesterov::No, Nesterov::Yes}) {
    for (const double momentum : {0.0, 0.9}) {
      if (nesterov == Nesterov::Yes && momentum == 0) continue;
      manual_seed(2);
      Bag bag;
      optim::SGD optimizer(bag,
                           {.lr = 0.1, .momentum = momentum, .weight_decay = 0.01, .nesterov = nesterov});
      std::vector<Tensor> wanted, momenta(4);
      for (const Tensor& t : bag.parameters()) wanted.push_back(t.detach().clone());
      for (int step = 0; step < 4; ++step) {
        bag.draw_gradients();
        optimizer.step();
        for (std::size_t i = 0; i < 4; ++i) {
          Tensor g = bag.parameters()[i].grad() + wanted[i] * 0.01;
          if (momentum != 0) {
            momenta[i] = momenta[i].defined() ? momenta[i] * momentum + g : g;
            g = nesterov == Nesterov::Yes ? g + momenta[i] * momentum : momenta[i];
          }
          wanted[i] = wanted[i] - g * 0.1;
        }
      }
      for (std::size_t i = 0; i < 4; ++i) expect_near(bag.parameters()[i], wanted[i], 1e-6);
    }
  }
}

TEST(Optim, GroupsHaveTheirOwnRates) {
  Bag bag;
  optim::SGD optimizer(bag, {.lr = 1},
                       {{.takes = [](std::string_view path) { return path == "p1"; }, .lr = 0}});
  const Tensor still = bag.tensors[1].detach().clone(), moves = bag.tensors[0].detach().clone();
  bag.draw_gradients();
  optimizer.step();
  expect_near(bag.tensors[1], still, 0);
  EXPECT_GT(amax(abs(bag.tensors[0].detach() - moves)).item().to_double(), 0.1);
}

TEST(Optim, StepsAreCountedWhenOneGroupHasAllParameters) {
  Bag bag;
  optim::AdamW optimizer(bag, {}, {{.takes = [](std::string_view) { return true; }, .lr = 0.1}});
  bag.draw_gradients();
  optimizer.step();
  optimizer.step();
  EXPECT_EQ(optimizer.steps(), 2);
}

// Stopping, saving to files and loading into new objects has the same bits as not stopping.
TEST(Optim, TrainingContinuesFromFiles) {
  const std::string folder = ::testing::TempDir();
  const auto train = [](Bag& bag, optim::Optimizer& optimizer, int from, int to) {
    for (int step = from; step < to; ++step) {
      manual_seed(static_cast<std::uint64_t>(step));
      bag.draw_gradients();
      optimizer.step();
    }
  };
  manual_seed(1);
  Bag whole;
  optim::AdamW all(whole, {.lr = 0.1});
  train(whole, all, 0, 6);

  manual_seed(1);
  Bag first;
  optim::AdamW before(first, {.lr = 0.1});
  train(first, before, 0, 3);
  io::save_safetensors(folder + "/bag.safetensors", first.named_parameters());
  io::save_safetensors(folder + "/adam.safetensors", before.state());

  Bag second;
  optim::AdamW after(second, {.lr = 7});
  second.load(io::SafetensorsFile(folder + "/bag.safetensors").all());
  after.load(io::SafetensorsFile(folder + "/adam.safetensors").all());
  EXPECT_EQ(after.steps(), 3);
  train(second, after, 3, 6);
  for (std::size_t i = 0; i < whole.tensors.size(); ++i)
    EXPECT_EQ(test::bytes_of(whole.tensors[i].detach()), test::bytes_of(second.tensors[i].detach()));
  const std::vector<NamedTensor> other = {{"p9.first", zeros({1})}};
  EXPECT_NE(test::thrown_by<ValueError>([&] { after.load(other); }).message().find("p9.first"),
            std::string::npos);
}

TEST(Optim, ClipsTheNormOfAllGradients) {
  Bag bag;
  bag.draw_gradients();
  double squares = 0;
  for (const Tensor& t : bag.parameters()) squares += sum(square(t.grad().to(kF64))).item().to_double();
  EXPECT_NEAR(optim::clip_grad_norm_(bag, 0.5).item().to_double(), std::sqrt(squares), 1e-4);
  squares = 0;
  for (const Tensor& t : bag.parameters()) squares += sum(square(t.grad().to(kF64))).item().to_double();
  EXPECT_NEAR(std::sqrt(squares), 0.5, 1e-4);
}

TEST(Optim, SchedulesFollowTheirFormulas) {
  const auto schedule = optim::warmup(10, optim::cosine(2, 100, 0.5));
  EXPECT_DOUBLE_EQ(schedule(0), 0.2);
  EXPECT_DOUBLE_EQ(schedule(9), 2);
  EXPECT_DOUBLE_EQ(schedule(10), 2);
  EXPECT_NEAR(schedule(60), 1.25, 1e-12);
  EXPECT_NEAR(schedule(500), 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(optim::step_decay(1, 10)(25), 0.010000000000000002);
  EXPECT_DOUBLE_EQ(optim::exponential_decay(1, 0.5)(3), 0.125);
}

}  // namespace
}  // namespace pel
