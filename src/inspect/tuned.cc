#include "inspect/tuned.h"

#include <variant>

#include "pellucid/extend/vjp.h"
#include "pellucid/ops/copies.h"

namespace pel::inspect {
namespace {

// The arguments of a call, and functions of the tensors among them.
class Arguments {
 public:
  Arguments(const TunedCall& call, std::int64_t rows) : op_(call.op) {
    Sampler sampler(1);
    args_ = op_->composition()->draw(sampler, {rows, call.columns});
    for (Value& arg : args_)
      if (Tensor* tensor = std::get_if<Tensor>(&arg); tensor != nullptr && is_floating(tensor->dtype()))
        *tensor = to_copy(*tensor, call.dtype);
  }

  std::vector<Tensor> tensors() const {
    std::vector<Tensor> list;
    for (const Value& arg : args_)
      if (const Tensor* tensor = std::get_if<Tensor>(&arg)) list.push_back(*tensor);
    return list;
  }
  TensorListFunction several_ops() const {
    return [this](ArrayView<Tensor> tensors) { return op_->composition()->run(with(tensors)); };
  }
  TensorListFunction one_op() const {
    return [this](ArrayView<Tensor> tensors) {
      std::vector<Tensor> results;
      for (const Value& value : call_boxed(*op_, with(tensors))) results.push_back(std::get<Tensor>(value));
      return results;
    };
  }

 private:
  std::vector<Value> with(ArrayView<Tensor> tensors) const {
    std::vector<Value> args = args_;
    std::size_t next = 0;
    for (Value& arg : args)
      if (std::holds_alternative<Tensor>(arg)) arg = tensors[next++];
    return args;
  }

  const Op* op_;
  std::vector<Value> args_;
};

}  // namespace

std::vector<const Op*> tuned_ops() {
  std::vector<const Op*> ops;
  for (const Op* op : all_ops())
    if (op->composition() != nullptr) ops.push_back(op);
  return ops;
}

Comparison compare_ways(const TunedCall& call) {
  const Arguments half(call, (call.rows + 1) / 2), whole(call, call.rows);
  return compare_calls(whole.several_ops(), {half.tensors(), whole.tensors()}, whole.one_op());
}

CompileExplanation explain_compiled(const TunedCall& call) {
  const Arguments arguments(call, call.rows);
  const detail::CompiledTensors compiled(arguments.several_ops(), {});
  const std::vector<Tensor> tensors = arguments.tensors();
  compiled(tensors);
  return compiled.explain(tensors);
}

}  // namespace pel::inspect
