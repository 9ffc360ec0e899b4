#include "backends/grid/rows.h"

#include "backends/grid/kernels.h"
#include "backends/grid/loops.h"
#include "base/check.h"
#include "dispatch/pointwise.h"

namespace pel::grid {
namespace {

constexpr int kMaxOperands = 16;

codegen::RowsText text_of_program(const RowLoop& loop) {
  const RowProgram& program = *loop.program;
  codegen::RowsText text;
  text.name = loop.name;
  text.value = program.value_type(loop.compute);
  for (int i = 0; i < program.input_count; ++i) text.inputs.push_back(program.stored_input(i, loop.compute));
  for (std::size_t f = 0; f < program.folds.size(); ++f) {
    const RowFold& fold = program.folds[f];
    codegen::RowsText::Fold& to = text.folds.emplace_back();
    to.initial_bits = initial_bits(fold.kind, text.value);
    if (fold.element) {
      to.element = element_expr(program, f, loop.compute);
      to.combine = combine_expr(fold.kind, text.value);
    }
    if (fold.finish) to.finish = finish_expr(program, f, loop.compute);
  }
  text.saved_fold = program.keeps;
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    codegen::RowsText::Output& to = text.outputs.emplace_back();
    const RowOutput& output = program.outputs[o];
    to.kind = output.kind == RowOutput::Kind::Value ? codegen::RowsText::Kind::Value
              : output.kind == RowOutput::Kind::Row ? codegen::RowsText::Kind::Row
                                                    : codegen::RowsText::Kind::Index;
    to.dtype = program.stored_output(o, loop.compute);
    if (output.kind != RowOutput::Kind::Index) to.body = output_expr(program, o, loop.compute);
  }
  text.params.assign(static_cast<std::size_t>(1 + program.param_count), text.value);  // first the length
  return text;
}

const codegen::RowsText& text_of(RowLoop& loop) {
  if (!loop.text) loop.text = text_of_program(loop);
  return *loop.text;
}

}  // namespace

RowLoop fused_rows(std::string of, const RowLoops& rows) {
  RowLoop loop;
  loop.name = "pel_fused";
  loop.shown = std::move(of);
  loop.functions.are_shared = true;
  codegen::RowsText& text = loop.text.emplace();
  text.name = loop.name;
  text.value = rows.value;
  text.inputs = rows.inputs;
  for (const RowLoops::Stage& stage : rows.stages)
    text.stages.push_back({stage.dtype, stage.body, stage.after});
  const auto take_params = [&](const std::optional<scalar::ScalarExpr>& expr) {
    if (expr) text.params = expr->params;  // those of all expressions of a kernel
  };
  for (const RowLoops::Fold& fold : rows.folds) {
    codegen::RowsText::Fold& to = text.folds.emplace_back();
    to.initial_bits = initial_bits(fold.kind, rows.value);
    to.element = fold.element;
    if (fold.element) to.combine = combine_expr(fold.kind, rows.value);
    to.finish = fold.finish;
    take_params(fold.element);
    take_params(fold.finish);
  }
  for (const RowLoops::Output& output : rows.outputs) {
    codegen::RowsText::Output& to = text.outputs.emplace_back();
    to.kind =
        output.kind == RowOutput::Kind::Value ? codegen::RowsText::Kind::Value : codegen::RowsText::Kind::Row;
    to.dtype = output.dtype;
    to.body = output.body;
    take_params(output.body);
  }
  for (std::size_t s = 0; s < rows.stages.size(); ++s)
    if (rows.stages[s].output >= 0)
      text.outputs[static_cast<std::size_t>(rows.stages[s].output)].stage = static_cast<int>(s);
  return loop;
}

void run_rows(Stream&, const KernelArgs& args) {
  auto& loop = *static_cast<RowLoop*>(const_cast<void*>(args.context));
  const codegen::RowsText& known = text_of(loop);
  const int outputs = args.output_count, count = outputs + args.input_count;
  PEL_ASSERT(count <= kMaxOperands, "a row op has few operands");
  const Operand& first = input(args, 0);
  const auto mask = static_cast<std::uint64_t>(args.scalars[0].as_int);
  GridAxes<kMaxOperands> reduced, outer;
  for (int i = first.rank; i-- > 0;) {
    if (first.sizes[i] == 1) continue;
    std::int64_t steps[kMaxOperands];
    for (int k = 0; k < count; ++k) steps[k] = args.operands[k].strides[i];
    ((mask >> i & 1) != 0 ? reduced : outer).add(first.sizes[i], steps, count);
  }
  // Along one reduced axis elements are dense, or repeat.
  bool is_dense = reduced.rank <= 1;
  std::uint64_t repeated = 0;
  for (int k = 0; is_dense && k < count; ++k) {
    const bool is_value =
        k < outputs && known.outputs[static_cast<std::size_t>(k)].kind != codegen::RowsText::Kind::Row;
    if (is_value || reduced.rank == 0) continue;
    const std::int64_t step = reduced.step[k][0];
    if (step == 0 && k >= outputs) {
      repeated |= std::uint64_t{1} << (k - outputs);
    } else {
      is_dense = step == 1;
    }
  }
  if (!is_dense) repeated = 0;
  std::uint64_t key = 1;
  // A fused kernel has more operands, and their dtypes are known.
  for (int k = 0; k < count && loop.program != nullptr; ++k) key = key << 4 | args.operands[k].dtype;
  const int max_axes = text_axes(count, std::max(reduced.rank, outer.rank));
  key = ((key << 10 | repeated) << 1 | (is_dense ? 1 : 0)) << 4 | static_cast<std::uint64_t>(max_axes);
  const auto text_with_operands = [&] {
    codegen::RowsText text = known;
    for (int k = 0; k < outputs; ++k) text.stored_outputs.push_back(dtype_of(args.operands[k]));
    for (int k = outputs; k < count; ++k) text.stored_inputs.push_back(dtype_of(args.operands[k]));
    text.is_dense = is_dense;
    text.repeated = repeated;
    text.axes = max_axes;
    return codegen::rows_text(dialect(), text);
  };
  const FunctionHandle function = built(loop.functions, key, loop.name, text_with_operands, loop.shown);
  const std::int64_t length = reduced.count(), rows = outer.count();
  if (rows == 0) return;
  GridCall call;
  for (int k = 0; k < count; ++k) call.address(args.operands[k].data);
  call.number(length);
  call.number(rows);
  call.number(reduced.rank);
  call.number(outer.rank);
  reduced.add_sizes(call, max_axes);
  outer.add_sizes(call, max_axes);
  for (int k = 0; k < count; ++k) reduced.add_steps(call, k, max_axes);
  for (int k = 0; k < count; ++k) outer.add_steps(call, k, max_axes);
  // The first scalar says which axes are reduced; the first param is the length.
  call.number(number_bits({static_cast<double>(length), length, PEL_SCALAR_INT, {}}, known.params[0]));
  for (std::size_t i = 1; i < known.params.size(); ++i)
    call.number(i < args.scalar_count ? number_bits(args.scalars[i], known.params[i]) : 0);
  call.launch(function, rows, kRowItems);
}

}  // namespace pel::grid
