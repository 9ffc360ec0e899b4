// Functions over tensors as data: inputs, calls of ops, outputs. What the fuzzer of compile draws, runs,
// prints and makes smaller.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pellucid/pellucid.h"

#include "conformance/values.h"
#include "dispatch/record.h"
#include "ops/shared/pointwise.h"
#include "tensor/make.h"

namespace pel::fuzz {

// A tensor of a program: a result of a step, or input ~step.
struct Ref {
  int step = 0, result = 0;
  bool operator==(const Ref&) const = default;
};

// A product of sizes of tensors, plus a number: what a function computes from sizes.
struct SizeExpr {
  struct Factor {
    Ref of;
    int axis;
  };
  std::vector<Factor> factors;
  std::int64_t plus = 0;
};

// A tensor of the op's own samples, which the function holds; to a floating one an element of `with` is
// added.
struct Held {
  Tensor tensor;
  std::optional<Ref> with;
};
struct NumberOperand {  // a number in the place of a tensor
  std::variant<Scalar, SizeExpr> number;
};

using Arg = std::variant<std::monostate, Ref, std::vector<Ref>, Held, std::vector<Held>, NumberOperand,
                         SizeExpr, std::vector<SizeExpr>, double, bool, Scalar, DType, std::string>;

struct Step {
  const Op* op = nullptr;
  std::vector<Arg> args;
};

enum class InputLayoutKind : std::uint8_t { RowMajor, Transposed, Gaps, Expanded };

struct Input {
  std::vector<int> extents;  // of its axes: which of the program's extents, or -1 for size 1
  DType dtype = kF32;
  InputLayoutKind layout = InputLayoutKind::RowMajor;
  double low = -3, high = 3;
  bool has_extremes = false;
  int same_as = -1;  // an earlier input that is given again
};

inline constexpr int kExtents = 3;
using Extents = std::array<std::int64_t, kExtents>;

struct Program {
  std::uint64_t data_seed = 0;
  std::vector<Input> inputs;
  std::vector<Step> steps;
  std::vector<Ref> outputs;
  std::vector<Extents> turns;  // the first is captured
  // Floating inputs require a gradient, of a sum of all outputs; then they move against it. Some have one
  // before.
  bool has_gradients = false, accumulates = false;
  Device compiled_on = kCpu;  // the device of the compiled calls; those without compile are on the CPU
};

// Tensors as a caller has them, and the memory that they are views of.
struct Inputs {
  std::vector<Tensor> tensors, bases;
};

inline Inputs make_inputs(const Program& program, std::size_t turn, Device device = kCpu) {
  Inputs made;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Input& input = program.inputs[i];
    if (input.same_as >= 0) {
      made.tensors.push_back(made.tensors[static_cast<std::size_t>(input.same_as)]);
      continue;
    }
    std::vector<Dim> sizes;
    for (const int extent : input.extents)
      sizes.emplace_back(extent < 0 ? 1 : program.turns[turn][static_cast<std::size_t>(extent)]);
    std::vector<Dim> in_memory = sizes;
    const std::size_t rank = sizes.size();
    const InputLayoutKind layout = rank == 0 ? InputLayoutKind::RowMajor : input.layout;
    if (layout == InputLayoutKind::Transposed && rank > 1)
      std::swap(in_memory[rank - 1], in_memory[rank - 2]);
    if (layout == InputLayoutKind::Gaps) in_memory[rank - 1] = 2 * in_memory[rank - 1] + 1;
    if (layout == InputLayoutKind::Expanded) in_memory[0] = 1;
    Tensor base = make_dense(in_memory, input.dtype, kCpu);
    conformance::ArgumentSource source(program.data_seed * 1000 + turn * 10 + i);
    Pointwise facts;
    facts.domains = {{input.low, input.high}};
    facts.tries_extremes = input.has_extremes;
    source.fill(facts, 0, input.dtype, base.raw_data(), base.numel().value());
    base = base.to(device);
    made.bases.push_back(base);
    Tensor t = base;
    if (layout == InputLayoutKind::Transposed && rank > 1) t = base.transpose(-1, -2);
    if (layout == InputLayoutKind::Gaps)
      t = base.slice(static_cast<std::int64_t>(rank) - 1, 1, std::nullopt, 2);
    if (layout == InputLayoutKind::Expanded) t = base.expand(sizes);
    if (program.has_gradients && is_floating(input.dtype) && layout != InputLayoutKind::Expanded) {
      t.requires_grad_();
      if (program.accumulates) t.set_grad(full_like(t.detach(), 0.5));
    }
    made.tensors.push_back(t);
  }
  return made;
}

// Results of an op without values in them yet: memory as it was found.
inline bool gives_raw_memory(const Op& op) {
  const Schema& schema = op.record().schema;
  return op.kind() == OpKind::Metadata && schema.results.size() == 1 && schema.results[0].alias.set == '\0' &&
         schema.results[0].type.base == ArgType::Base::Tensor;
}

// f(ref) for each tensor that an argument names.
template <class A, class F>
void for_refs(A& arg, F&& f) {
  const auto in_size = [&](auto& size) {
    for (auto& factor : size.factors) f(factor.of);
  };
  if (auto* ref = std::get_if<Ref>(&arg)) f(*ref);
  if (auto* refs = std::get_if<std::vector<Ref>>(&arg))
    for (auto& ref : *refs) f(ref);
  if (auto* held = std::get_if<Held>(&arg))
    if (held->with) f(*held->with);
  if (auto* list = std::get_if<std::vector<Held>>(&arg))
    for (auto& held : *list)
      if (held.with) f(*held.with);
  if (auto* size = std::get_if<SizeExpr>(&arg)) in_size(*size);
  if (auto* sizes = std::get_if<std::vector<SizeExpr>>(&arg))
    for (auto& size : *sizes) in_size(size);
  if (auto* operand = std::get_if<NumberOperand>(&arg))
    if (auto* size = std::get_if<SizeExpr>(&operand->number)) in_size(*size);
}

// Whether it names tensors for their sizes alone.
inline bool is_size(const Arg& arg) {
  return std::holds_alternative<SizeExpr>(arg) || std::holds_alternative<std::vector<SizeExpr>>(arg) ||
         std::holds_alternative<NumberOperand>(arg);
}

class Run {
 public:
  // Tensors that steps make or hold are on `device`, and so are the inputs.
  explicit Run(ArrayView<Tensor> inputs, Device device = kCpu)
      : inputs_(inputs.begin(), inputs.end()), device_(device) {}

  const Tensor& operator[](Ref ref) const {
    if (ref.step < 0) return inputs_.at(static_cast<std::size_t>(~ref.step));
    return results_.at(static_cast<std::size_t>(ref.step)).at(static_cast<std::size_t>(ref.result));
  }

  // Whether a call may have given a view because axes have size 1, where a graph, which is for all sizes, has
  // a copy.
  bool is_open() const { return is_open_; }

  const std::vector<Tensor>& call(const Step& step) {
    std::vector<Value> args;
    const auto& schema = step.op->record().schema.args;
    for (std::size_t i = 0; i < step.args.size(); ++i)
      args.push_back(std::visit([&](const auto& arg) { return value(arg, schema[i]); }, step.args[i]));
    for (std::size_t i = 0; i < schema.size() && device_ != kCpu; ++i) {
      if (schema[i].type.base != ArgType::Base::Device) continue;
      while (args.size() <= i) args.push_back(*schema[args.size()].default_value);
      args[i] = device_;
    }
    is_open_ = is_open_ || (may_be_view(*step.op) && has_size_one(args));
    std::vector<Tensor> made;
    for (const Value& result : call_boxed(*step.op, std::move(args))) {
      if (const Tensor* t = std::get_if<Tensor>(&result); t != nullptr && t->defined()) made.push_back(*t);
      // How many parts there are may depend on sizes: the first and the last always are.
      if (const auto* list = std::get_if<std::vector<Tensor>>(&result); list != nullptr && !list->empty())
        made.insert(made.end(), {list->front(), list->back()});
    }
    // A size of -1 may stand for 1.
    is_open_ = is_open_ || (may_be_view(*step.op) && std::ranges::any_of(made, [](const Tensor& t) {
                              return std::ranges::any_of(t.sizes(), [](Dim size) {
                                return !size.is_symbolic() && size.value() <= 1;
                              });
                            }));
    if (gives_raw_memory(*step.op)) made.at(0).fill_(1);
    return results_.emplace_back(std::move(made));
  }
  void drop_last() { results_.pop_back(); }
  // Whether the step can be called. One that fails stands there without results.
  bool tries(const Step& step) {
    try {
      call(step);
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  // A bound for what a call may make of its tensors: the product of the two largest.
  std::int64_t elements_of(const Step& step) const {
    std::int64_t most = 1, second = 1;
    for (const Arg& arg : step.args) {
      for_refs(arg, [&](Ref ref) {
        const std::int64_t count = (*this)[ref].numel().value();
        second = std::max(second, std::min(most, count));
        most = std::max(most, count);
      });
    }
    return most * second;
  }

 private:
  static bool may_be_view(const Op& op) {
    const auto& results = op.record().schema.results;
    return op.kind() == OpKind::Composite && !results.empty() && results[0].alias.set != '\0' &&
           !results[0].alias.is_written;
  }
  // An argument, or another view of its memory, which it may be made of.
  bool has_size_one(const std::vector<Value>& args) const {
    const auto is_one = [](Dim size) { return size.value() <= 1; };
    for (const Value& arg : args) {
      if (const auto* dims = std::get_if<std::vector<Dim>>(&arg))
        if (std::ranges::any_of(*dims, [](Dim d) { return !d.is_symbolic() && d.value() == 1; })) return true;
      const Tensor* t = std::get_if<Tensor>(&arg);
      if (t == nullptr || !t->defined() || !t->has_data()) continue;
      const auto shows = [&](const Tensor& other) {
        return other.shares_storage(*t) && std::ranges::any_of(other.sizes(), is_one);
      };
      if (shows(*t) || std::ranges::any_of(inputs_, shows)) return true;
      for (const std::vector<Tensor>& made : results_)
        if (std::ranges::any_of(made, shows)) return true;
    }
    return false;
  }

  static Value value(std::monostate, const SchemaArg&) { return {}; }
  Value value(Ref ref, const SchemaArg&) const { return (*this)[ref]; }
  Value value(const std::vector<Ref>& refs, const SchemaArg&) const {
    std::vector<Tensor> list;
    for (const Ref ref : refs) list.push_back((*this)[ref]);
    return list;
  }
  Tensor tensor(const Held& held, const SchemaArg& arg) const {
    if (held.with) {
      Tensor element = (*this)[*held.with];
      while (element.dim() > 0) element = element.select(0, 0);
      return add(held.tensor, element.to(held.tensor.dtype()));
    }
    return arg.alias.set != '\0' ? held.tensor.clone() : held.tensor;
  }
  Value value(const Held& held, const SchemaArg& arg) const { return tensor(held, arg); }
  Value value(const std::vector<Held>& list, const SchemaArg& arg) const {
    std::vector<Tensor> tensors;
    for (const Held& held : list) tensors.push_back(tensor(held, arg));
    return tensors;
  }
  Value value(const NumberOperand& operand, const SchemaArg&) const {
    const Scalar* number = std::get_if<Scalar>(&operand.number);
    return make_number(number != nullptr ? *number : Scalar(dim(std::get<SizeExpr>(operand.number))),
                       device_);
  }
  Value value(const SizeExpr& size, const SchemaArg& arg) const {
    return arg.type.base == ArgType::Base::Scalar ? Value(Scalar(dim(size))) : Value(dim(size));
  }
  Value value(const std::vector<SizeExpr>& sizes, const SchemaArg&) const {
    std::vector<Dim> dims;
    for (const SizeExpr& size : sizes) dims.push_back(dim(size));
    return dims;
  }
  template <class T>
  static Value value(const T& plain, const SchemaArg&) {
    return plain;
  }
  Dim dim(const SizeExpr& size) const {
    if (size.factors.empty()) return size.plus;
    Dim product = 1;
    for (const SizeExpr::Factor& factor : size.factors) product *= (*this)[factor.of].size(factor.axis);
    return product + size.plus;
  }

  std::vector<Tensor> inputs_;
  Device device_;
  std::vector<std::vector<Tensor>> results_;
  bool is_open_ = false;
};

// What is known of a run, in addition to its outputs.
struct RunFacts {
  int at = -1;  // the step that failed
  bool is_open = false;
};
// The gradients of a sum of the outputs, as further outputs; and a step against them.
inline void descend(ArrayView<Tensor> inputs, std::vector<Tensor>& outputs) {
  Tensor loss;
  double weight = 1;
  for (const Tensor& output : outputs) {
    if (!output.requires_grad()) continue;
    const Tensor part = sum(output.to(kF32)) * weight;
    loss = loss.defined() ? loss + part : part;
    weight *= -0.75;
  }
  if (!loss.defined()) return;
  loss.backward();
  const NoGrad no_grad;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_new = std::none_of(inputs.begin(), inputs.begin() + i,
                                     [&](const Tensor& earlier) { return earlier.is_same(inputs[i]); });
    const Tensor grad = is_new ? inputs[i].grad() : Tensor();
    if (!grad.defined()) continue;
    outputs.push_back(grad);
    sub_(inputs[i], grad * 0.125);
  }
}

// The same program with the tensors that it holds on another device.
inline Program moved(Program program, Device device) {
  for (Step& step : program.steps) {
    for (Arg& arg : step.args) {
      if (Held* held = std::get_if<Held>(&arg)) held->tensor = held->tensor.to(device);
      if (auto* list = std::get_if<std::vector<Held>>(&arg))
        for (Held& held : *list) held.tensor = held.tensor.to(device);
    }
  }
  return program;
}

inline std::vector<Tensor> run(const Program& program, ArrayView<Tensor> inputs, RunFacts* facts = nullptr,
                               Device device = kCpu) {
  std::optional<EnableGrad> records;
  if (program.has_gradients) records.emplace();
  Run state(inputs, device);
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (facts != nullptr) *facts = {static_cast<int>(s), state.is_open()};
    state.call(program.steps[s]);
  }
  if (facts != nullptr) *facts = {-1, state.is_open()};
  std::vector<Tensor> outputs;
  for (const Ref ref : program.outputs) outputs.push_back(state[ref]);
  if (program.has_gradients) descend(inputs, outputs);
  return outputs;
}

inline std::string to_string(Ref ref) {
  if (ref.step < 0) return fmt::format("in{}", ~ref.step);
  return ref.result == 0 ? fmt::format("v{}", ref.step) : fmt::format("v{}.{}", ref.step, ref.result);
}
inline std::string to_string(const SizeExpr& size) {
  std::string text;
  for (const auto& factor : size.factors)
    text += fmt::format("{}{}.size({})", text.empty() ? "" : " * ", to_string(factor.of), factor.axis);
  if (text.empty()) return std::to_string(size.plus);
  return size.plus == 0 ? text : text + fmt::format(" + {}", size.plus);
}
inline std::string to_string(const Held& held) {
  return describe(held.tensor) + (held.with ? " + an element of " + to_string(*held.with) : "");
}
struct ArgText {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const NumberOperand& operand) const { return std::visit(*this, operand.number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(bool yes) const { return yes ? "true" : "false"; }
  std::string operator()(const Scalar& number) const { return pel::to_string(number); }
  std::string operator()(DType dtype) const { return std::string(name(dtype)); }
  std::string operator()(const std::string& text) const { return "'" + text + "'"; }
  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    std::string text;
    for (const T& each : list) text += (text.empty() ? "" : ", ") + to_string(each);
    return "[" + text + "]";
  }
  template <class T>
  std::string operator()(const T& other) const {
    return to_string(other);
  }
};

inline std::string to_string(const Program& program) {
  constexpr const char* kLayouts[] = {"row-major", "transposed", "with gaps", "expanded"};
  std::string text;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Input& input = program.inputs[i];
    std::vector<std::string> sizes;
    for (const int extent : input.extents)
      sizes.push_back(extent < 0 ? "1" : std::string(1, static_cast<char>('a' + extent)));
    text += fmt::format("in{}: {}[{}] {}{}{}\n", i, name(input.dtype), fmt::join(sizes, ", "),
                        kLayouts[static_cast<int>(input.layout)], input.has_extremes ? ", extremes" : "",
                        input.same_as < 0 ? "" : fmt::format(", the same as in{}", input.same_as));
  }
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    std::vector<std::string> args;
    for (const Arg& arg : program.steps[s].args) args.push_back(std::visit(ArgText(), arg));
    text += fmt::format("v{} = {}({})\n", s, program.steps[s].op->name(), fmt::join(args, ", "));
  }
  std::vector<std::string> outputs;
  for (const Ref ref : program.outputs) outputs.push_back(to_string(ref));
  text += fmt::format("return {}{}\n", fmt::join(outputs, ", "),
                      !program.has_gradients ? ""
                      : program.accumulates  ? ", and gradients, added to those there are"
                                             : ", and gradients");
  for (const Extents& turn : program.turns)
    text += fmt::format("a, b, c = {}, {}, {}\n", turn[0], turn[1], turn[2]);
  return text;
}

}  // namespace pel::fuzz
