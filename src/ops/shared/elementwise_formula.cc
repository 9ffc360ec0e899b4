// Elementwise ops from outside the library: formulas in terms of built-in ops, and kernels that are compiled
// at their first call.
#include <atomic>
#include <cmath>
#include <deque>
#include <memory>
#include <mutex>

#include "pellucid/extend/elementwise.h"

#include "base/check.h"
#include "dispatch/loop_compiler.h"
#include "dispatch/record.h"
#include "dispatch/schema.h"
#include "ops/shared/pointwise.h"

namespace pel {
namespace {

// The op of a step, which has to be a built-in elementwise one.
const Op& step_op(const FormulaStep& step) {
  const Op* const op = find_op(step.op);
  PEL_CHECK(op != nullptr, RegistryError, "a formula uses {}, but there is no op of this name", step.op);
  PEL_CHECK(op->pointwise() != nullptr && op->record().is_builtin && op->signature().args[0].name != "out" &&
                !op->signature().args[0].alias.is_written,
            RegistryError, "a formula uses {}, which is not a built-in elementwise op that returns a result",
            step.op);
  return *op;
}

// The default of number `param` that the formula of an op takes.
Scalar default_param(const Op& op, int param) {
  for (const SchemaArg& arg : op.signature().args) {
    if (arg.type.base == ArgType::Base::Tensor || param-- > 0) continue;
    if (arg.default_value) {
      if (const Scalar* const number = std::get_if<Scalar>(&*arg.default_value)) return *number;
      if (const Dim* const number = std::get_if<Dim>(&*arg.default_value)) return *number;
      if (const double* const number = std::get_if<double>(&*arg.default_value)) return *number;
    }
    if (op.pointwise()->formulas.size() > 1) return 1;  // that of the variant which the step does not use
    throw RegistryError(
        fmt::format("a formula calls {} without its argument {}: {}", op.name(), arg.name, op.schema()));
  }
  return 1;
}

Term constant(Term like, DType type, const Scalar& number) {
  if (number.is_float()) {
    PEL_CHECK(is_floating(type) || number.to_double() == std::trunc(number.to_double()), RegistryError,
              "a formula has the number {}, which is not an integer, and the op computes in {}",
              to_string(number), name(type));
    return like.builder().constant(type, number.to_double());
  }
  return is_floating(type) ? like.builder().constant(type, number.to_double())
                           : like.builder().constant(type, number.to_int());
}

// One call as a term, as if a kernel of its own computed it. `type` is the type that tensors have.
Term call_term(const Op& op, std::vector<Term> args, DType type) {
  const Pointwise& facts = *op.pointwise();
  const auto inputs = static_cast<std::size_t>(facts.input_count);
  const std::size_t params = static_cast<std::size_t>(facts.param_count);
  PEL_CHECK(args.size() >= inputs && args.size() <= inputs + params, RegistryError,
            "a formula calls {} with {} arguments: {}", op.name(), args.size(), op.schema());
  const std::size_t first = facts.takes_condition && !facts.swaps_inputs ? 1 : 0;
  const std::size_t condition = facts.swaps_inputs ? 1 : 0;
  if (facts.takes_condition) {
    PEL_CHECK(args[condition].type() == kBool, RegistryError,
              "a formula calls {} with a condition that is not bool: compare it with a number", op.name());
  }
  DType compute = kBool;  // bool only if all are
  for (std::size_t i = first; i < args.size(); ++i) {
    if (args[i].type() != kBool && !(facts.takes_condition && i == condition)) compute = type;
  }
  PEL_CHECK(facts.compute_dtype(compute) == compute && facts.computes.contains(compute), RegistryError,
            "a formula uses {}, which computes in {}, for {}", op.name(), to_string(facts.computes),
            name(compute));
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!(facts.takes_condition && i == condition)) args[i] = cast(args[i], compute);
  }
  for (std::size_t i = args.size(); i < inputs + params; ++i)
    args.push_back(constant(args[0], compute, default_param(op, static_cast<int>(i - inputs))));
  if (facts.swaps_inputs) std::swap(args[0], args[1]);
  return facts.formulas[0].build(ArrayView<Term>(args.data(), inputs),
                                 ArrayView<Term>(args.data() + inputs, params));
}

Term formula_term(const std::vector<FormulaStep>& formula, std::vector<Term> values) {
  const DType type = values[0].type();
  for (const FormulaStep& step : formula) {
    if (step.op.empty()) {
      values.push_back(constant(values[0], type, step.number));
      continue;
    }
    std::vector<Term> args;
    for (const int arg : step.args) args.push_back(values[static_cast<std::size_t>(arg)]);
    values.push_back(call_term(step_op(step), std::move(args), type));
  }
  return values.back();
}

// ---- Kernels

// A loop that is compiled when it first runs. Kernels point to it, so it lives as long as the process.
struct LazyLoop {
  std::shared_ptr<const Pointwise> facts;
  DType compute{};
  std::string name;
  std::mutex mutex;
  std::atomic<const Kernel*> kernel{nullptr};
  CompiledLoops loops;

  const Kernel& compiled() {
    if (const Kernel* const made = kernel.load(std::memory_order_acquire)) return *made;
    const std::lock_guard lock(mutex);
    if (kernel.load(std::memory_order_relaxed) == nullptr) {
      loops = loop_compiler(DeviceType::Cpu)({LoopSource{name, make_expr(*facts, 0, compute)}});
      kernel.store(&loops.kernels[0], std::memory_order_release);
    }
    return *kernel.load(std::memory_order_relaxed);
  }
};
LazyLoop& new_lazy_loop() {
  static auto& mutex = *new std::mutex;
  static auto& loops = *new std::deque<LazyLoop>;
  const std::lock_guard lock(mutex);
  return loops.emplace_back();
}

Support supports_with_compiler(const KernelArgs&) {
  return loop_compiler(DeviceType::Cpu) != nullptr
             ? Support::yes()
             : Support::no("the library is built without LLVM, which compiles the kernels of such an op");
}
void run_lazy_loop(Stream& stream, const KernelArgs& args) {
  const Kernel& kernel = static_cast<LazyLoop*>(const_cast<void*>(args.context))->compiled();
  KernelArgs inner = args;
  inner.context = kernel.context;
  kernel.run(stream, inner);
}

// ---- The body

void run_formula_op(const Op& op, BoxedCall& call) {
  std::vector<TensorRef> inputs;
  std::vector<Scalar> params;
  for (const Value& arg : call.args) {
    if (const Tensor* const tensor = std::get_if<Tensor>(&arg)) {
      inputs.push_back(*tensor);
    } else {
      params.push_back(detail::Boxing<Scalar>::unbox(arg));
    }
  }
  call.results.emplace_back(run_pointwise(op, inputs, params));
}

}  // namespace

OpDef define_elementwise(std::string schema, std::vector<FormulaStep> formula, DTypeSet computes) {
  const Schema parsed = parse_schema(schema);
  const std::string& op_name = parsed.op_name;
  OpDef def;
  auto facts = std::make_shared<Pointwise>();
  std::vector<std::size_t> order;  // the formula's arguments: tensors, then numbers
  facts->input_count = 0;
  for (std::size_t i = 0; i < parsed.args.size(); ++i) {
    const ArgType& type = parsed.args[i].type;
    const bool is_tensor = type == ArgType{ArgType::Base::Tensor, false, false};
    PEL_CHECK(is_tensor || type == (ArgType{ArgType::Base::Scalar, false, false}), RegistryError,
              "{}: the argument {} of an elementwise op is a Tensor or a Scalar", op_name,
              parsed.args[i].name);
    (is_tensor ? facts->input_count : facts->param_count) += 1;
    def.arg_types.push_back(type);
  }
  constexpr int kMaxInputs = kMaxLoopOperands - 1;
  PEL_CHECK(facts->input_count > 0 && facts->input_count <= kMaxInputs, RegistryError,
            "{}: an elementwise op has one to {} tensors, not {}", op_name, kMaxInputs, facts->input_count);
  PEL_CHECK(parsed.results.size() == 1, RegistryError, "{}: an elementwise op has one result", op_name);
  std::size_t tensors = 0, numbers = static_cast<std::size_t>(facts->input_count);
  for (const ArgType& type : def.arg_types)
    order.push_back(type.base == ArgType::Base::Tensor ? tensors++ : numbers++);
  PEL_CHECK(!formula.empty(), RegistryError, "{}: the formula has no steps", op_name);
  for (std::size_t i = 0; i < formula.size(); ++i) {
    for (const int arg : formula[i].args)
      PEL_CHECK(arg >= 0 && static_cast<std::size_t>(arg) < order.size() + i, RegistryError,
                "{}: step {} of the formula, {}, uses value {}, which is not an earlier one", op_name, i,
                formula[i].op, arg);
    if (!formula[i].op.empty()) step_op(formula[i]);
  }
  const bool is_floating_only = (computes | kFloating) == kFloating;
  if (is_floating_only) facts->computes_in = Pointwise::ComputesIn::Floating;
  facts->computes = computes;
  Formula made;
  made.build = [formula = std::move(formula), order](ArrayView<Term> inputs, ArrayView<Term> params) {
    std::vector<Term> values;
    for (const std::size_t at : order)
      values.push_back(at < inputs.size() ? inputs[at] : params[at - inputs.size()]);
    return formula_term(formula, std::move(values));
  };
  facts->formulas.push_back(std::move(made));

  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!computes.contains(dtype)) continue;
    const DType type = value_type(dtype);
    scalar::ScalarBuilder builder;
    std::vector<Term> values;
    for (int k = 0; k < facts->input_count + facts->param_count; ++k) values.push_back(builder.input(type));
    const auto count = static_cast<std::size_t>(facts->input_count);
    const Term result = facts->formulas[0].build(
        ArrayView<Term>(values.data(), count), ArrayView<Term>(values.data() + count, values.size() - count));
    if (result.type() == kBool && type != kBool) facts->gives = Pointwise::Gives::Bool;
    LazyLoop& loop = new_lazy_loop();
    loop.facts = facts;
    loop.compute = dtype;
    loop.name = fmt::format("{}_{}", op_name, name(dtype));
    Kernel kernel{loop.name.c_str(), supports_with_compiler, run_lazy_loop};
    kernel.computes = DTypeSet{dtype};
    kernel.context = &loop;
    def.kernel_lists[static_cast<int>(DeviceType::Cpu)].push_back(kernel);
  }
  def.schema = std::move(schema);
  def.kind = OpKind::Kernel;
  def.body = run_formula_op;
  if (facts->gives == Pointwise::Gives::Bool) def.gradient_facts().is_zero = true;
  def.pointwise = std::move(facts);
  return def;
}

}  // namespace pel
