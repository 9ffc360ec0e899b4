// Every op that has a gradient, compared with finite differences: op × sample × layout, in f64.
// Samples come from the op's record: domains of pointwise ops, `samples` of others.
#include <cstdlib>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/autograd.h"
#include "pellucid/extend/op.h"
#include "pellucid/extend/value.h"
#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/reductions.h"

#include "autograd/samples.h"
#include "dispatch/record.h"

namespace pel {
namespace {

using test::for_floating;
using test::has_gradient_to_check;
using test::samples_of;

enum class LayoutKind : std::uint8_t { Contiguous, Transposed, Step2 };
constexpr std::string_view kLayoutNames[] = {"contiguous", "transposed", "step2"};

// PELLUCID_CASE=gradient/mul/ runs one op, PELLUCID_CASE=gradient/mul/0/step2 one case.
bool is_chosen(const std::string& name) {
  const char* only = std::getenv("PELLUCID_CASE");
  return only == nullptr || name.starts_with(only);
}
std::string repro(const std::string& name) { return "PELLUCID_CASE=" + name + " ./dev test Gradient"; }

// The same values elsewhere in memory.
Tensor laid_out(const Tensor& t, LayoutKind kind) {
  if (kind == LayoutKind::Contiguous || t.dim() == 0) return t.clone(Layout::RowMajor);
  std::vector<Dim> strides(static_cast<std::size_t>(t.dim()));
  Dim step = kind == LayoutKind::Step2 ? 2 : 1;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::size_t axis = kind == LayoutKind::Transposed ? i : strides.size() - 1 - i;
    strides[axis] = step;
    step *= t.sizes()[axis];
  }
  const Tensor moved = empty_strided(t.sizes(), strides, t.dtype());
  copy_(moved, t);
  return moved;
}

// One call as a function of its floating tensors.
struct Probe {
  const Op* op;
  std::vector<Value> call;
  std::vector<Tensor> inputs;

  Probe(const Op& of, std::vector<Value> args, LayoutKind layout) : op(&of), call(std::move(args)) {
    for_floating(call, [&](Tensor& t, std::size_t) {
      t = laid_out(t, layout);
      t.requires_grad_();
      inputs.push_back(t);
    });
  }
  std::vector<Tensor> operator()(ArrayView<Tensor> leaves) const {
    std::vector<Value> now = call;
    std::size_t at = 0;
    for_floating(now, [&](Tensor& t, std::size_t arg) {
      // An op that writes gets a copy to write to.
      t = op->record().schema.args[arg].alias.is_written ? clone(leaves[at]) : leaves[at];
      ++at;
    });
    return test::tensors_of(call_boxed(*op, now));
  }
};

std::string caught(const auto& f) {
  try {
    return f();
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(Gradient, EveryOpDefinesItsGradient) {
  std::string silent, without_samples;
  for (const Op* op : all_ops()) {
    if (!has_gradient_to_check(*op)) continue;
    if (op->gradient() == nullptr && op->kind() != OpKind::Composite) {
      silent += fmt::format(" {}", op->name());
    } else if (samples_of(*op).empty()) {
      without_samples += fmt::format(" {}", op->name());
    }
  }
  EXPECT_EQ(silent, "") << "these have no vjp, and do not say not_differentiable()";
  EXPECT_EQ(without_samples, "") << "these have a vjp but no samples";
}

TEST(Gradient, AgreesWithFiniteDifferences) {
  int ops = 0, cases = 0;
  for (const Op* op : all_ops()) {
    if (!has_gradient_to_check(*op) || (op->gradient() == nullptr && op->kind() != OpKind::Composite))
      continue;
    const SampleCalls samples = samples_of(*op);
    ops += !samples.empty();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (int layout = 0; layout < 3; ++layout) {
        const std::string name = fmt::format("gradient/{}/{}/{}", op->name(), i, kLayoutNames[layout]);
        if (!is_chosen(name)) continue;
        ++cases;
        const std::string wrong = caught([&] {
          const Probe probe(*op, samples[i], static_cast<LayoutKind>(layout));
          return gradcheck(probe, probe.inputs);
        });
        EXPECT_EQ(wrong, "") << repro(name);
      }
    }
  }
  fmt::print("{} ops, {} cases\n", ops, cases);
}

TEST(Gradient, GradientsOfGradientsAgreeWithFiniteDifferences) {
  std::set<std::string> good, without;
  bool all = true;
  for (const Op* op : all_ops()) {
    if (!has_gradient_to_check(*op) || (op->gradient() == nullptr && op->kind() != OpKind::Composite))
      continue;
    const SampleCalls samples = samples_of(*op);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::string name = fmt::format("gradient/{}/{}/twice", op->name(), i);
      all = all && is_chosen(name);
      if (!is_chosen(name)) continue;
      const std::string wrong = caught([&] {
        const Probe probe(*op, samples[i], LayoutKind::Contiguous);
        return gradgradcheck(probe, probe.inputs);
      });
      if (wrong.find("does not define a gradient") != std::string::npos) {
        without.insert(std::string(op->name()));
        continue;
      }
      EXPECT_EQ(wrong, "") << repro(name);
      good.insert(std::string(op->name()));
    }
  }
  fmt::print("{} ops have gradients of gradients; {} do not\n", good.size(), without.size());
  EXPECT_TRUE(!all || good.size() >= 60) << good.size();
}

// Gradients of an elementwise call in which one operand is a number, or a tensor of its value without axes.
std::vector<Tensor> gradients_next_to(const Op& op, std::vector<Value> call, std::size_t at, Tensor operand) {
  call[at] = std::move(operand);
  std::vector<Tensor> leaves;
  for_floating(call, [&](Tensor& t, std::size_t arg) {
    if (arg == at) return;
    t = clone(t).requires_grad_();
    leaves.push_back(t);
  });
  std::get<Tensor>(call_boxed(op, call)[0]).sum().backward();
  std::vector<Tensor> gradients;
  for (const Tensor& leaf : leaves) gradients.push_back(leaf.grad());
  return gradients;
}

TEST(Gradient, OfANumberIsAsExactAsOfATensor) {
  constexpr double kMaxError = 1e-13;  // relative; f32 has 6e-8
  int cases = 0;
  for (const Op* op : all_ops()) {
    if (!has_gradient_to_check(*op) || op->gradient() == nullptr || op->pointwise() == nullptr) continue;
    const SampleCalls samples = samples_of(*op);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      std::vector<std::size_t> operands;
      auto call = samples[i];
      for_floating(call, [&](Tensor&, std::size_t arg) { operands.push_back(arg); });
      if (operands.size() < 2) continue;
      for (const std::size_t at : operands) {
        const std::string name = fmt::format("gradient/{}/{}/number{}", op->name(), i, at);
        if (!is_chosen(name)) continue;
        const Tensor value = std::get<Tensor>(samples[i][at]).flatten().select(0, 0).clone();
        const auto expected = gradients_next_to(*op, samples[i], at, value);
        const auto actual =
            gradients_next_to(*op, samples[i], at, make_number(value.item().to_double(), kCpu));
        for (std::size_t g = 0; g < expected.size(); ++g) {
          if (!expected[g].defined() && !actual[g].defined()) continue;
          const Tensor relative = (actual[g] - expected[g]).abs() / (expected[g].abs() + 1e-3);
          const double error = amax(relative).item().to_double();
          EXPECT_LE(error, kMaxError) << repro(name) << ": gradient " << g;
        }
        ++cases;
      }
    }
  }
  fmt::print("{} cases\n", cases);
  EXPECT_TRUE(std::getenv("PELLUCID_CASE") != nullptr || cases >= 40) << cases;
}

}  // namespace
}  // namespace pel
