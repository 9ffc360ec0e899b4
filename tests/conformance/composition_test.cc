// Ops that are a composition of others in one kernel: the bits of results and gradients are those of the
// others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "dispatch/record.h"
#include "profile/recorder.h"
#include "support/bytes.h"
#include "support/random.h"

namespace pel {
namespace {

constexpr int kShapes = 200;

std::vector<Dim> random_sizes(test::Random& random) {
  std::vector<Dim> sizes;
  for (std::int64_t axes = random.between(1, 3); axes > 0; --axes) sizes.emplace_back(random.between(1, 12));
  sizes.emplace_back(random.one_in(3) ? random.between(1, 3000) : random.between(1, 70));
  return sizes;
}

struct Results {
  std::vector<Tensor> values, gradients;
};

using Body = std::function<std::vector<Tensor>(const std::vector<Value>&)>;

// f(tensor) for the floating ones: others are indices.
template <class F>
void for_floating(std::vector<Value>& args, F f) {
  for (Value& arg : args) {
    Tensor* tensor = std::get_if<Tensor>(&arg);
    if (tensor != nullptr && is_floating(tensor->dtype())) f(*tensor);
  }
}

// With gradients of all results, which flow back to all floating tensors.
Results results_of(const Body& run, std::vector<Value> args) {
  std::vector<Tensor> inputs;
  for_floating(args, [&](Tensor& tensor) {
    tensor = tensor.detach();
    tensor.requires_grad_();
    inputs.push_back(tensor);
  });
  Results results{run(args), {}};
  std::vector<Tensor> flows;
  for (const Tensor& value : results.values) flows.push_back(cos(value.detach()));
  results.gradients = grad(results.values, inputs, {.gradients = flows});
  return results;
}

std::string difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const char* what) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (test::bytes_of(a[i]) != test::bytes_of(b[i])) return fmt::format("{} {} has other bits", what, i);
  return a.size() == b.size() ? "" : "another number of results";
}

class Compositions : public testing::Test {
 protected:
  // f(op, arguments in one dtype) for shapes of all ops that are compositions.
  template <class F>
  void each(F f) {
    test::Random random;
    int ops = 0;
    for (const Op* op : all_ops()) {
      const Composition* composition = op->composition();
      if (composition == nullptr) continue;
      ++ops;
      for (int n = 0; n < test::Random::share_of(kShapes); ++n) {
        Sampler sampler(random.bits32());
        const std::vector<Dim> sizes = random_sizes(random);
        for (const DType dtype : {kF32, kBF16, kF16}) {
          std::vector<Value> args = composition->draw(sampler, sizes);
          for_floating(args, [&](Tensor& tensor) { tensor = tensor.to(dtype); });
          SCOPED_TRACE(fmt::format("{} of {} {}", op->name(), name(dtype), to_string(args[0])));
          f(*op, *composition, args);
          if (HasFailure()) return;
        }
      }
    }
    EXPECT_GT(ops, 0);
  }
};

Body call_of(const Op& op) {
  return [&op](const std::vector<Value>& args) {
    std::vector<Tensor> tensors;
    for (const Value& value : call_boxed(op, args)) tensors.push_back(std::get<Tensor>(value));
    return tensors;
  };
}

TEST_F(Compositions, HaveTheSameBitsAndGradients) {
  each([](const Op& op, const Composition& composition, const std::vector<Value>& args) {
    const Results one = results_of(call_of(op), args), several = results_of(composition.run, args);
    EXPECT_EQ(difference(one.values, several.values, "result"), "");
    EXPECT_EQ(difference(one.gradients, several.gradients, "gradient"), "");
  });
}

TEST_F(Compositions, AreOneKernelWithoutACompile) {
  each([](const Op& op, const Composition& composition, const std::vector<Value>& args) {
    std::uint64_t before = launch_count();
    call_of(op)(args);
    EXPECT_EQ(launch_count() - before, 1U);
    before = launch_count();
    composition.run(args);
    EXPECT_GT(launch_count() - before, 1U);
  });
}

TEST_F(Compositions, CompiledHaveTheSameBits) {
  each([](const Op& op, const Composition& composition, const std::vector<Value>& args) {
    std::vector<Tensor> tensors;
    for (const Value& arg : args)
      if (const Tensor* tensor = std::get_if<Tensor>(&arg)) tensors.push_back(*tensor);
    const auto with = [&](const Body& run) {
      const auto call = [&](ArrayView<Tensor> inputs) {
        std::vector<Value> given = args;
        std::size_t next = 0;
        for (Value& arg : given)
          if (std::holds_alternative<Tensor>(arg)) arg = inputs[next++];
        return run(given);
      };
      return detail::CompiledTensors(call, {})(tensors);
    };
    const std::vector<Tensor> eager = composition.run(args);
    EXPECT_EQ(difference(with(call_of(op)), eager, "result"), "");
    EXPECT_EQ(difference(with(composition.run), eager, "result"), "");
  });
}

}  // namespace
}  // namespace pel
