// Writes between a call and its gradient: those that change what the gradient needs are found, all of them,
// and no other is complained about. Ops, arguments and ways of writing are drawn by seed.
#include <cstdlib>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "autograd/samples.h"

namespace pel {
namespace {

constexpr int kSeeds = 200;

// A call of some op on tensors that are results themselves, so that they may be written to.
struct Call {
  const Op* op;
  std::vector<Value> args;
  std::vector<Tensor> leaves, results;
  std::vector<Tensor> saved, free;  // what its gradient needs, and what it does not
  std::string text;

  explicit Call(std::mt19937_64& random) {
    static const std::vector<const Op*> ops = [] {
      std::vector<const Op*> found;
      for (const Op* each : all_ops()) {
        if (test::has_gradient_to_check(*each) && each->kind() == OpKind::Kernel &&
            each->gradient() != nullptr && !each->name().ends_with("_") && !test::samples_of(*each).empty())
          found.push_back(each);
      }
      return found;
    }();
    op = ops[random() % ops.size()];
    const SampleCalls samples = test::samples_of(*op);
    args = samples[random() % samples.size()];
    test::for_floating(args, [&](Tensor& t, std::size_t) {
      leaves.push_back(t.clone().requires_grad_());
      t = leaves.back().clone();
    });
    results = test::tensors_of(call_boxed(*op, args));
    std::set<int> saved_indices;
    for (const VjpRule& rule : op->record().vjp_rules) {
      if (rule.run) saved_indices.insert(rule.keeps.begin(), rule.keeps.end());
    }
    test::for_floating(args, [&](Tensor& t, std::size_t arg) {
      (saved_indices.contains(static_cast<int>(arg)) ? saved : free).push_back(t);
    });
    for (std::size_t i = 0; i < results.size() && op->record().schema.results.size() == results.size(); ++i) {
      if (results[i].defined() && is_floating(results[i].dtype()))
        (saved_indices.contains(~static_cast<int>(i)) ? saved : free).push_back(results[i]);
    }
    std::erase_if(saved, [](const Tensor& t) { return t.numel() == 0; });
    text = std::string(op->name());
  }

  void walk() const {
    std::vector<Tensor> outputs, slopes;
    for (const Tensor& result : results) {
      if (!result.defined() || !is_floating(result.dtype()) || !result.requires_grad()) continue;
      outputs.push_back(result);
      slopes.push_back(ones_like(result.detach()));
    }
    if (!outputs.empty()) grad(outputs, leaves, {.gradients = slopes, .allow_unused = true});
  }
  bool has_gradient() const {
    return std::any_of(results.begin(), results.end(), [](const Tensor& t) {
      return t.defined() && is_floating(t.dtype()) && t.requires_grad();
    });
  }
};

void write_to(const Tensor& t, std::mt19937_64& random) {
  const NoGrad no_grad;
  const Tensor flat = t.is_contiguous() ? t.view({-1}) : t;
  switch (random() % 5) {
    case 0:
      add_(t, 1);
      break;
    case 1:
      zero_(t);
      break;
    case 2:
      mul_(flat, 2);  // through a view
      break;
    case 3:
      flat.detach().fill_(0.5);  // through a tensor without history
      break;
    default:
      t.copy_(ones({}, kF64));
  }
}

std::string repro(std::uint64_t seed) { return fmt::format("PELLUCID_SEED={} ./dev test Mutation", seed); }

std::vector<std::uint64_t> seeds(std::uint64_t first) {
  if (const char* only = std::getenv("PELLUCID_SEED")) return {std::strtoull(only, nullptr, 10)};
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = first; all.size() < 4 * kSeeds; ++seed) all.push_back(seed);
  return all;
}

TEST(Mutation, EveryWriteToASavedTensorIsDetected) {
  int caught = 0;
  for (const std::uint64_t seed : seeds(1)) {
    if (caught == kSeeds) break;
    std::mt19937_64 random(seed);
    const Call call(random);
    if (call.saved.empty() || !call.has_gradient()) continue;
    write_to(call.saved[random() % call.saved.size()], random);
    try {
      call.walk();
      ADD_FAILURE() << call.text << " did not notice; " << repro(seed);
    } catch (const VersionError& error) {
      EXPECT_NE(std::string(error.what()).find("mutation_test.cc"), std::string::npos) << error.what();
      ++caught;
    }
  }
  EXPECT_TRUE(std::getenv("PELLUCID_SEED") != nullptr || caught == kSeeds) << caught;
}

TEST(Mutation, NoOtherWriteIsReported) {
  int legal = 0;
  for (const std::uint64_t seed : seeds(10'000)) {
    if (legal == kSeeds) break;
    std::mt19937_64 random(seed);
    const Call call(random);
    if (!call.has_gradient()) continue;
    // Writes to a tensor that is not saved, to a copy of a saved one, or to a saved one after backward.
    const std::uint64_t way = random() % 3;
    if (way == 0) {
      if (call.free.empty()) continue;
      write_to(call.free[random() % call.free.size()], random);
    } else if (way == 1 && !call.saved.empty()) {
      write_to(call.saved[random() % call.saved.size()].clone(), random);
    } else if (!call.saved.empty()) {
      call.walk();
      write_to(call.saved[random() % call.saved.size()], random);
      ++legal;
      continue;
    }
    try {
      call.walk();
      ++legal;
    } catch (const VersionError& error) {
      ADD_FAILURE() << call.text << " complained: " << error.what() << "; " << repro(seed);
    }
  }
  EXPECT_TRUE(std::getenv("PELLUCID_SEED") != nullptr || legal == kSeeds) << legal;
}

}  // namespace
}  // namespace pel
