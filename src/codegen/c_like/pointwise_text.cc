#include <fmt/format.h>

#include "base/check.h"
#include "codegen/c_like/expr_text.h"
#include "codegen/c_like/loop_text.h"

namespace pel::codegen {

using scalar::ScalarExpr;
using scalar::ScalarNode;
using scalar::ScalarOp;

namespace {

bool divides(const ScalarExpr& body) {
  for (const ScalarNode& node : body.nodes)
    if ((node.op == ScalarOp::Div || node.op == ScalarOp::Rem) && !is_floating(node.type)) return true;
  return false;
}

}  // namespace

std::string pointwise_text(const Dialect& dialect, const PointwiseText& kernel) {
  const ScalarExpr& body = *kernel.body;
  const int lanes = kernel.is_dense ? kernel.lanes : 1;
  PEL_ASSERT(lanes == 1 || has_vector_form(body), "the caller has looked");
  std::string memory, loads, stores, places, tables;
  std::size_t operands = 0, numbers = 0;
  // Adds a memory argument, and the place of its element; returns its number.
  const auto add = [&] {
    memory += fmt::format("PEL_MEMORY m{}, ", operands);
    if (!kernel.is_dense) places += fmt::format("  pel_i64 at{} = 0;\n", operands);
    return operands++;
  };
  for (std::size_t r = 0; r < kernel.outputs.size(); ++r) {
    const DType stored = kernel.outputs[r];
    const auto id = static_cast<std::size_t>(body.results[r]);
    const std::string value = cast_text(fmt::format("v{}", id), body.nodes[id].type, stored, lanes);
    const std::size_t k = add();
    const std::string_view type = memory_type_name(stored);
    if (lanes > 1) {
      const std::string_view open = stored == kBool ? "as_uchar16(" : "(",
                             close = stored == kBool ? " & (char16)(1))" : ")";
      stores += fmt::format("  store_{}x{}(PEL_AT({}, {}), i, call.count, {}{}{});\n", type, lanes, type, k,
                            open, value, close);
    } else {
      stores += fmt::format("  PEL_AT({}, {})[{}] = {}({});\n", type, k,
                            kernel.is_dense ? std::string("i") : fmt::format("at{}", k),
                            stored == kBool ? "(pel_u8)" : "", value);
    }
  }
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const DType wanted = body.inputs[i];
    std::string value;
    if (const std::optional<DType> stored = kernel.inputs[i]) {
      const std::size_t k = add();
      const std::string_view type = memory_type_name(*stored);
      if (lanes > 1) {
        value = fmt::format("load_{}x{}(PEL_AT(const {}, {}), i, call.step[{}], call.count)", type, lanes,
                            type, k, k);
        if (*stored == kBool) value = fmt::format("({} != (uchar16)(0))", value);
      } else {
        value = fmt::format("PEL_AT(const {}, {})[{}]", type, k,
                            kernel.is_dense ? fmt::format("i * call.step[{}]", k) : fmt::format("at{}", k));
        if (*stored == kBool) value = fmt::format("({} != 0)", value);
      }
      value = cast_text(value, *stored, wanted, lanes);
    } else {
      value = number_text(numbers++, wanted, lanes);
    }
    loads += fmt::format("  const {} in{} = {};\n", value_type_name(wanted, lanes), i, value);
  }
  for (std::size_t i = 0; i < body.params.size(); ++i)
    loads += fmt::format("  const {} param{} = {};\n", value_type_name(body.params[i], lanes), i,
                         number_text(numbers++, body.params[i], lanes));
  if (!kernel.is_dense) {
    places +=
        "  pel_i64 rest = i;\n  PEL_LOOP for (int axis = 0; axis < call.rank; ++axis) {\n"
        "    const pel_i64 size = call.size[axis], next = rest / size, place = rest - next * size;\n"
        "    rest = next;\n";
    for (std::size_t k = 0; k < operands; ++k)
      places += fmt::format("    at{0} += place * call.step[{0}][axis];\n", k);
    places += "  }\n";
  }
  const std::string statements = expr_statements(body, lanes, "v", kernel.name, tables);
  const std::string shape =
      kernel.is_dense
          ? fmt::format("pel_i64 step[{}];", operands)
          : fmt::format("pel_i64 rank; pel_i64 size[{0}]; pel_i64 step[{1}][{0}];", kernel.axes, operands);
  std::string text = kernel_header(dialect, lanes) + tables;
  text += fmt::format(
      "typedef struct {{ pel_i64 offset[{}]; pel_i64 launch; pel_i64 count; {} pel_i64 number[{}]; }} "
      "Call;\n",
      operands, shape, std::max<std::size_t>(1, numbers));
  text += fmt::format(
      "PEL_KERNEL void {}({}PEL_STATUS status, const Call call) {{\n  const pel_i64 i = PEL_ID(0)",
      kernel.name, memory);
  if (lanes > 1) text += fmt::format(" * {}", lanes);
  text += ";\n  if (i >= call.count) return;\n" + places + loads;
  if (divides(body)) text += "  pel_i32 failed = 0;\n";
  text += statements + stores;
  if (divides(body))
    text += fmt::format("  if (failed) pel_report(status, call.launch, {}, 0, 0);\n", kReportsDivision);
  return text + "}\n";
}

}  // namespace pel::codegen
