// Calls of every op of the registry, with arguments on the CPU: the samples of the op's record, or those
// below for ops that have none. Forms take the calls of their op.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pellucid/pellucid.h"

#include "autograd/samples.h"
#include "support/device.h"

namespace pel::test {

using CallsOf = std::function<SampleCalls(Sampler&)>;

inline const std::map<std::string, CallsOf, std::less<>>& calls_without_samples() {
  using List = std::vector<Tensor>;
  using Sizes = std::vector<Dim>;
  static const std::map<std::string, CallsOf, std::less<>> calls = {
      {"contiguous", [](Sampler& s) { return SampleCalls{{s({3, 4}).t()}}; }},
      {"item", [](Sampler& s) { return SampleCalls{{s({1})}}; }},
      {"to", [](Sampler& s) { return SampleCalls{{s({3, 4}), kF32}}; }},
      {"zero_", [](Sampler& s) { return SampleCalls{{s({3, 4})}}; }},
      {"arange", [](Sampler&) { return SampleCalls{{Scalar(0), Scalar(10)}}; }},
      {"empty", [](Sampler&) { return SampleCalls{{Sizes{2, 3}}}; }},
      {"empty_like", [](Sampler& s) { return SampleCalls{{s({2, 3})}}; }},
      {"empty_permuted", [](Sampler&) { return SampleCalls{{Sizes{2, 3}, Sizes{1, 0}}}; }},
      {"empty_strided", [](Sampler&) { return SampleCalls{{Sizes{2, 3}, Sizes{3, 1}}}; }},
      {"eye", [](Sampler&) { return SampleCalls{{Dim(4)}}; }},
      {"full", [](Sampler&) { return SampleCalls{{Sizes{2, 3}, Scalar(2.5)}}; }},
      {"full_like", [](Sampler& s) { return SampleCalls{{s({2, 3}), Scalar(2)}}; }},
      {"linspace", [](Sampler&) { return SampleCalls{{Scalar(0), Scalar(1), Dim(5)}}; }},
      {"ones", [](Sampler&) { return SampleCalls{{Sizes{2, 3}}}; }},
      {"ones_like", [](Sampler& s) { return SampleCalls{{s({2, 3})}}; }},
      {"zeros", [](Sampler&) { return SampleCalls{{Sizes{2, 3}}}; }},
      {"zeros_like", [](Sampler& s) { return SampleCalls{{s({2, 3})}}; }},
      {"nonzero", [](Sampler& s) { return SampleCalls{{s.condition({3, 4})}}; }},
      {"one_hot", [](Sampler& s) { return SampleCalls{{s.indices(4, {5})}, {s.indices(4, {5}), Dim(4)}}; }},
      {"stack", [](Sampler& s) { return SampleCalls{{List{s({3, 4}), s({3, 4})}}}; }},
      {"_native_batch_norm_legit_no_training",
       [](Sampler& s) { return SampleCalls{{s({2, 3, 4}), s({3}), s({3}), s({3}), s({3}, 0.5, 2)}}; }},
      {"float_power", [](Sampler& s) { return SampleCalls{{s({3, 4}, 0.5, 2), s({3, 4})}}; }},
      {"instance_norm", [](Sampler& s) { return SampleCalls{{s({2, 3, 4})}}; }},
      {"group_norm", [](Sampler& s) { return SampleCalls{{s({2, 4, 3}), Dim(2)}}; }},
      {"layer_norm", [](Sampler& s) { return SampleCalls{{s({3, 4}), Sizes{4}}}; }},
      {"bernoulli", [](Sampler& s) { return SampleCalls{{s({3, 4}, 0, 1)}}; }},
      {"dropout", [](Sampler& s) { return SampleCalls{{s({3, 4}), 0.5, true}}; }},
      {"multinomial", [](Sampler& s) { return SampleCalls{{s({3, 4}, 0.1, 1), Dim(2)}}; }},
      {"normal", [](Sampler& s) { return SampleCalls{{s({3, 4}), s({3, 4}, 0.5, 2)}}; }},
      {"rand", [](Sampler&) { return SampleCalls{{Sizes{3, 4}}}; }},
      {"rand_like", [](Sampler& s) { return SampleCalls{{s({3, 4})}}; }},
      {"randint", [](Sampler&) { return SampleCalls{{Scalar(0), Scalar(9), Sizes{3, 4}}}; }},
      {"randn", [](Sampler&) { return SampleCalls{{Sizes{3, 4}}}; }},
      {"randn_like", [](Sampler& s) { return SampleCalls{{s({3, 4})}}; }},
      {"randperm", [](Sampler&) { return SampleCalls{{Dim(10)}}; }},
      {"all", [](Sampler& s) { return SampleCalls{{s.condition({3, 4})}}; }},
      {"any", [](Sampler& s) { return SampleCalls{{s.condition({3, 4})}}; }},
      {"argmax", [](Sampler& s) { return SampleCalls{{s({3, 4})}}; }},
      {"argmin", [](Sampler& s) { return SampleCalls{{s({3, 4})}}; }},
      {"count_nonzero", [](Sampler& s) { return SampleCalls{{s.indices(2, {3, 4})}}; }},
      {"argsort", [](Sampler& s) { return SampleCalls{{s({3, 4})}}; }},
      {"bincount", [](Sampler& s) { return SampleCalls{{s.indices(5, {8})}}; }},
      {"median", [](Sampler& s) { return SampleCalls{{s({3, 5})}}; }},
      {"searchsorted", [](Sampler& s) { return SampleCalls{{arange(5, kF64), s({7}, 0, 5)}}; }},
      {"unique", [](Sampler& s) { return SampleCalls{{s.indices(4, {9})}}; }},
      {"chunk", [](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(2)}}; }},
      {"detach", [](Sampler& s) { return SampleCalls{{s({3, 4})}}; }},
      {"flatten", [](Sampler& s) { return SampleCalls{{s({3, 4})}}; }},
      {"reshape", [](Sampler& s) { return SampleCalls{{s({3, 4}).t(), Sizes{2, 6}}}; }},
      {"unflatten", [](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(1), Sizes{2, 2}}}; }},
  };
  return calls;
}

// Of elementwise ops that do not compute in f64: small integers.
inline SampleCalls integer_calls(const Op& op) {
  Sampler sampler(kSampleSeed);
  std::vector<Value> call;
  for (const SchemaArg& arg : op.record().schema.args) {
    if (arg.type.base == ArgType::Base::Tensor) {
      call.emplace_back(sampler.indices(7, {3, 4}) + 1);
    } else if (arg.default_value) {
      break;
    } else {
      call.emplace_back(Scalar(1));
    }
  }
  return {call};
}

inline SampleCalls calls_of_plain(const Op& op) {
  SampleCalls calls = samples_of(op);
  if (const auto found = calls_without_samples().find(op.name()); found != calls_without_samples().end()) {
    Sampler sampler(kSampleSeed);
    for (auto& call : found->second(sampler)) calls.push_back(std::move(call));
  }
  if (calls.empty() && op.pointwise() != nullptr) calls = integer_calls(op);
  return calls;
}

// Calls of an op or of a form; empty if there is nothing to call it with.
inline SampleCalls calls_of(const Op& op) {
  const std::string name(op.name());
  const auto base = [&](std::string_view ending) {
    return name.ends_with(ending) ? find_op(std::string_view(name).substr(0, name.size() - ending.size()))
                                  : nullptr;
  };
  if (const Op* plain = base("_"); plain != nullptr && plain->pointwise() != nullptr)
    return calls_of_plain(*plain);
  if (const Op* plain = base(".out")) {
    SampleCalls calls;
    for (std::vector<Value>& call : calls = calls_of_plain(*plain)) {
      const Tensor result = std::get<Tensor>(call_boxed(*plain, call).at(0));
      call.insert(call.begin(), empty_like(result.detach()));
    }
    return calls;
  }
  SampleCalls calls = calls_of_plain(op);
  if (const Op* plain = base("_"); plain != nullptr && calls.empty()) return calls_of_plain(*plain);
  return calls;
}

// f(tensor) for each tensor of a call or of its results.
template <class F>
void each_tensor(std::vector<Value>& values, F&& f) {
  for (Value& value : values) {
    if (Tensor* t = std::get_if<Tensor>(&value); t != nullptr && t->defined()) f(*t);
    if (auto* list = std::get_if<std::vector<Tensor>>(&value))
      for (Tensor& t : *list) f(t);
  }
}

// Copies of the arguments on a device, without gaps. Numbers stay as they are; an argument `device` is set.
inline std::vector<Value> arguments_on(Device device, const Op& op, std::vector<Value> call) {
  each_tensor(call, [&](Tensor& t) {
    if (t.header()->is_number) return;
    t = device == kCpu ? t.detach().clone() : t.detach().to(device);
  });
  const auto& args = op.record().schema.args;
  if (op.name() == "to_device") return call;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].type.base != ArgType::Base::Device) continue;
    while (call.size() <= i) call.push_back(*args[call.size()].default_value);
    call[i] = device;
  }
  return call;
}

inline std::string text_of(const Op& op, const std::vector<Value>& call) {
  std::string text = std::string(op.name()) + "(";
  for (std::size_t i = 0; i < call.size(); ++i) text += (i == 0 ? "" : ", ") + to_string(call[i]);
  return text + ")";
}

}  // namespace pel::test
