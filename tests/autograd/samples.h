// Calls of ops for tests of gradients, from the records of the ops.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "pellucid/extend/op.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/reductions.h"

#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"
#include "dispatch/record.h"

namespace pel::test {

inline constexpr std::uint64_t kSampleSeed = 11;

inline SampleCalls pointwise_samples(const Op& op) {
  const Pointwise& facts = *op.pointwise();
  if (!facts.computes.contains(kF64)) return {};
  Sampler sampler(kSampleSeed);
  const auto domain = [&](std::size_t i) {
    return facts.domains.empty() ? Domain{} : facts.domains[std::min(i, facts.domains.size() - 1)];
  };
  std::vector<Value> call;
  std::size_t tensors = 0, scalars = 0;
  for (const SchemaArg& arg : op.record().schema.args) {
    if (arg.type.base == ArgType::Base::Tensor) {
      const Domain from = domain(tensors);
      // Away from the far ends, where differences say nothing.
      const double low = std::max(from.low, -2.5), high = std::min(from.high, 2.5);
      if (facts.takes_condition && tensors == (facts.swaps_inputs ? 1u : 0u)) {
        call.push_back(sampler.condition({3, 4}));
      } else {
        call.push_back(low < high ? sampler({3, 4}, low, high) : sampler({3, 4}, from.low, from.high));
      }
      ++tensors;
    } else if (arg.default_value) {
      break;
    } else {
      call.push_back(Scalar(scalars < facts.param_values.size() ? facts.param_values[scalars] : 0.5));
      ++scalars;
    }
  }
  return {call};
}

// Whether the call is where the op is defined: differences of NaN say nothing.
inline bool is_finite(const Op& op, const std::vector<Value>& call) {
  const Tensor result = std::get<Tensor>(call_boxed(op, call)[0]);
  return all(isfinite(result)).item().to_bool();
}

inline SampleCalls samples_of(const Op& op) {
  SampleCalls calls;
  if (op.record().sample_calls) {
    Sampler sampler(kSampleSeed);
    calls = op.record().sample_calls(sampler);
  }
  if (op.pointwise() != nullptr) {
    for (auto& call : pointwise_samples(op)) {
      if (calls.empty() || is_finite(op, call)) calls.push_back(std::move(call));
    }
  }
  return calls;
}

inline bool takes_tensors(const Schema& schema) {
  return std::any_of(schema.args.begin(), schema.args.end(),
                     [](const SchemaArg& arg) { return arg.type.base == ArgType::Base::Tensor; });
}

// Ops that have, or should have, a gradient of their own; composite ones where their file has samples.
inline bool has_gradient_to_check(const Op& op) {
  if (!op.record().is_builtin || is_further_form(op.name())) return false;
  if (op.kind() == OpKind::Sync && op.gradient() == nullptr) return false;
  if (op.gradient() != nullptr && op.gradient()->is_zero) return false;
  if (op.kind() == OpKind::Composite && !op.record().sample_calls) return false;
  return takes_tensors(op.record().schema);
}

// f(tensor, argument) for each floating tensor of a call.
template <class F>
void for_floating(std::vector<Value>& call, F&& f) {
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (auto* t = std::get_if<Tensor>(&call[i])) {
      if (t->defined() && is_floating(t->dtype())) f(*t, i);
    } else if (auto* list = std::get_if<std::vector<Tensor>>(&call[i])) {
      for (Tensor& each : *list) {
        if (each.defined() && is_floating(each.dtype())) f(each, i);
      }
    }
  }
}

inline std::vector<Tensor> tensors_of(const std::vector<Value>& results) {
  std::vector<Tensor> tensors;
  for (const Value& value : results) {
    if (const Tensor* t = std::get_if<Tensor>(&value)) {
      tensors.push_back(*t);
    } else if (const auto* list = std::get_if<std::vector<Tensor>>(&value)) {
      tensors.insert(tensors.end(), list->begin(), list->end());
    }
  }
  return tensors;
}

}  // namespace pel::test
