// Every op of the registry, captured alone with its own samples: the graph computes the bits that the call
// does.
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/capture.h"
#include "compile/parse_graph.h"
#include "compile/replay.h"
#include "compile/without_places.h"
#include "dispatch/record.h"
#include "support/bytes.h"

namespace pel {
namespace {

using compiler::Captured, compiler::TensorFunction;

bool is_input(const Tensor& t) { return t.defined() && !t.header()->is_number; }

// The tensors of a call, each once; then what the call is when others stand in their place.
std::vector<Tensor> tensors_of(const std::vector<Value>& args) {
  std::vector<Tensor> tensors;
  const auto add = [&](const Tensor& t) {
    for (const Tensor& seen : tensors)
      if (seen.is_same(t)) return;
    if (is_input(t)) tensors.push_back(t);
  };
  for (const Value& arg : args) {
    if (const Tensor* t = std::get_if<Tensor>(&arg)) add(*t);
    if (const auto* list = std::get_if<std::vector<Tensor>>(&arg))
      for (const Tensor& t : *list) add(t);
  }
  return tensors;
}

std::vector<Value> with_tensors(std::vector<Value> args, ArrayView<Tensor> from, ArrayView<Tensor> to) {
  const auto replace = [&](Tensor& t) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (is_input(t) && t.is_same(from[i])) {
        t = to[i];
        return;
      }
    }
  };
  for (Value& arg : args) {
    if (Tensor* t = std::get_if<Tensor>(&arg)) replace(*t);
    if (auto* list = std::get_if<std::vector<Tensor>>(&arg))
      for (Tensor& t : *list) replace(t);
  }
  return args;
}

// Outputs of the call, then its inputs, which it may have written to.
TensorFunction function_of(const Op& op, const std::vector<Value>& args, const std::vector<Tensor>& tensors) {
  return [&op, args, tensors](ArrayView<Tensor> in) {
    std::vector<Tensor> outputs;
    for (const Value& result : call_boxed(op, with_tensors(args, tensors, in))) {
      if (const Tensor* t = std::get_if<Tensor>(&result); t != nullptr && t->defined()) outputs.push_back(*t);
      if (const auto* list = std::get_if<std::vector<Tensor>>(&result))
        outputs.insert(outputs.end(), list->begin(), list->end());
    }
    outputs.insert(outputs.end(), in.begin(), in.end());
    return outputs;
  };
}

std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> made;
  for (const Tensor& t : tensors) made.push_back(t.clone());
  return made;
}

TEST(EveryOp, CapturedAloneGivesItsBits) {
  const NoGrad no_grad;
  int calls = 0, ops = 0;
  for (const Op* op : all_ops()) {
    if (!op->record().sample_calls) continue;
    ++ops;
    Sampler sampler(1);
    for (const std::vector<Value>& args : op->record().sample_calls(sampler)) {
      SCOPED_TRACE(std::string(op->name()));
      std::vector<Tensor> tensors = tensors_of(args);
      for (Tensor& t : tensors) t.requires_grad_(RequiresGrad::No);
      const TensorFunction f = function_of(*op, args, tensors);
      const std::vector<Tensor> eager_in = copies(tensors), graph_in = copies(tensors);
      try {
        const Captured captured = compiler::capture(f, graph_in);
        std::string reason;
        const auto symbols = captured.guards.match(captured.graph, graph_in, &reason);
        ASSERT_TRUE(symbols) << reason << "\n" << to_string(captured.graph);
        manual_seed(5);
        const std::vector<Tensor> wanted = f(eager_in);
        manual_seed(5);
        const std::vector<Tensor> given = test::replay(captured.graph, graph_in, *symbols);
        ASSERT_EQ(wanted.size(), given.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_EQ(to_string(wanted[i].sizes()), to_string(given[i].sizes()));
          for (std::int64_t axis = 0; axis < wanted[i].dim(); ++axis) {  // those of size 1 say nothing
            if (wanted[i].size(axis) > 1) {
              EXPECT_EQ(wanted[i].stride(axis), given[i].stride(axis));
            }
          }
          EXPECT_EQ(wanted[i].dtype(), given[i].dtype());
          EXPECT_TRUE(test::bytes_of(wanted[i]) == test::bytes_of(given[i])) << "output " << i << "\n"
                                                                             << to_string(captured.graph);
        }
        const std::string text = to_string(captured.graph);
        EXPECT_EQ(test::without_places(to_string(test::parse_graph(text))), test::without_places(text));
        ++calls;
      } catch (const Error& error) {
        // What reads data, and masks: the size of what they pick depends on it.
        const bool is_refused = op->kind() == OpKind::Sync && error.code() == ErrorCode::Capture;
        EXPECT_TRUE(is_refused || error.message().find("depends on the values") != std::string::npos)
            << error.what();
      }
    }
  }
  std::cout << calls << " calls of " << ops << " ops\n";
  EXPECT_GT(ops, 100);
}

}  // namespace
}  // namespace pel
