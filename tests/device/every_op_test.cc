// Every op of the registry on an asynchronous device: the bits of the CPU, for results, written arguments and
// gradients.
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/op_calls.h"
#include "support/bytes.h"

namespace pel {
namespace {

std::string repro(const Op& op) {
  return fmt::format("repro: PELLUCID_CASE={} ./dev test device/EveryOp", op.name());
}
bool is_chosen(const Op& op) {
  const char* only = std::getenv("PELLUCID_CASE");
  return op.record().is_builtin && (only == nullptr || op.name() == only);
}

// What differs between two tensors, or nothing.
std::string difference(const Tensor& wanted, const Tensor& given, Device device) {
  if (given.device() != device)
    return fmt::format("is on {}, not on {}", to_string(given.device()), to_string(device));
  if (given.dtype() != wanted.dtype()) return "has another dtype";
  if (to_string(given.sizes()) != to_string(wanted.sizes())) return "has other sizes";
  for (std::int64_t axis = 0; axis < wanted.dim(); ++axis)
    if (wanted.size(axis) > 1 && given.stride(axis) != wanted.stride(axis)) return "has other strides";
  return test::bytes_of(given) == test::bytes_of(wanted) ? "" : "has other bits";
}

// Their elements are not defined.
bool is_uninitialized(const Op& op) { return op.name().starts_with("empty"); }

class EveryOp : public testing::Test {
 protected:
  // f(op, call) for all calls of all ops.
  template <class F>
  void each_call(F&& f) {
    for (const Op* op : all_ops()) {
      if (!is_chosen(*op)) continue;
      const SampleCalls calls = test::calls_of(*op);
      if (calls.empty()) without_calls_ += fmt::format(" {}", op->name());
      for (const std::vector<Value>& call : calls) f(*op, call);
    }
  }
  std::string without_calls_;
};

TEST_F(EveryOp, HasTheBitsOfTheCpu) {
  const NoGrad no_grad;
  std::set<const Op*> ops;
  int calls = 0;
  each_call([&](const Op& op, const std::vector<Value>& call) {
    SCOPED_TRACE(test::text_of(op, call) + "\n" + repro(op));
    std::vector<Value> on_cpu = test::arguments_on(kCpu, op, call),
                       on_queue = test::arguments_on(kQueue, op, call);
    try {
      manual_seed(5);
      std::vector<Value> wanted = call_boxed(op, on_cpu);
      manual_seed(5);
      std::vector<Value> given = call_boxed(op, on_queue);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (std::holds_alternative<Scalar>(wanted[i])) {
          EXPECT_EQ(to_string(wanted[i]), to_string(given[i]));
        }
      }
      std::vector<Tensor> wanted_tensors = test::tensors_of(wanted), given_tensors = test::tensors_of(given);
      ASSERT_EQ(wanted_tensors.size(), given_tensors.size());
      // Those that were written to, too.
      const std::size_t results = wanted_tensors.size();
      test::each_tensor(on_cpu, [&](Tensor& t) { wanted_tensors.push_back(t); });
      test::each_tensor(on_queue, [&](Tensor& t) { given_tensors.push_back(t); });
      for (std::size_t i = 0; i < wanted_tensors.size(); ++i) {
        if (!wanted_tensors[i].defined() || wanted_tensors[i].header()->is_number) continue;
        if (is_uninitialized(op) && i < results) continue;
        const Tensor plain = test::on_host(wanted_tensors[i]);
        EXPECT_EQ(difference(plain, given_tensors[i], kQueue), "")
            << (i < results ? "result " : "argument ") << (i < results ? i : i - results);
      }
      ++calls;
      ops.insert(&op);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  });
  EXPECT_EQ(without_calls_, "") << "add calls of these to tests/device/op_calls.h";
  fmt::print("{} ops, {} calls\n", ops.size(), calls);
}

// Gradients of the cosine of each result: ones would hide a factor that is left out.
std::vector<Tensor> gradients(const Op& op, std::vector<Value> call) {
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < call.size(); ++i) {
    const bool is_written = op.record().schema.args[i].alias.is_written;
    const auto make_leaf = [&](Tensor& t) {
      if (!t.defined() || !is_floating(t.dtype()) || t.header()->is_number) return;
      leaves.push_back(t.detach().requires_grad_());
      t = is_written ? clone(leaves.back()) : leaves.back();
    };
    if (Tensor* t = std::get_if<Tensor>(&call[i])) make_leaf(*t);
    if (auto* list = std::get_if<std::vector<Tensor>>(&call[i]))
      for (Tensor& t : *list) make_leaf(t);
  }
  manual_seed(5);
  std::vector<Tensor> results, flows;
  for (const Tensor& result : test::tensors_of(call_boxed(op, call))) {
    if (!result.defined() || !is_floating(result.dtype()) || !result.requires_grad()) continue;
    results.push_back(result);
    flows.push_back(cos(result.detach()));
  }
  if (results.empty()) return {};
  return grad(results, leaves, {.gradients = flows, .allow_unused = true});
}

TEST_F(EveryOp, HasTheGradientsOfTheCpu) {
  std::set<const Op*> ops;
  int compared = 0;
  each_call([&](const Op& op, const std::vector<Value>& call) {
    if (!test::has_gradient_to_check(op)) return;
    SCOPED_TRACE(test::text_of(op, call) + "\n" + repro(op));
    try {
      const std::vector<Tensor> wanted = gradients(op, test::arguments_on(kCpu, op, call)),
                                given = gradients(op, test::arguments_on(kQueue, op, call));
      ASSERT_EQ(wanted.size(), given.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_EQ(wanted[i].defined(), given[i].defined());
        if (!wanted[i].defined()) continue;
        EXPECT_EQ(difference(wanted[i], given[i], kQueue), "") << "gradient " << i;
        ++compared;
        ops.insert(&op);
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  });
  fmt::print("{} ops, {} gradients\n", ops.size(), compared);
}

}  // namespace
}  // namespace pel
