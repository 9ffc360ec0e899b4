#include <fmt/format.h>

#include "base/check.h"
#include "codegen/c_like/expr_text.h"
#include "codegen/c_like/loop_text.h"

namespace pel::codegen {
namespace {

// The value with these bits.
std::string bits_text(std::uint64_t bits, DType type) {
  if (type == kF32) return fmt::format("as_pel_f32((pel_u32)0x{:x}u)", bits & 0xffffffffu);
  if (type == kF64) return fmt::format("as_pel_f64((pel_u64)0x{:x}ul)", bits);
  if (type == kBool) return (bits & 1) != 0 ? "true" : "false";
  return fmt::format("({})0x{:x}ul", value_type_name(type), bits);
}

class RowsWriter {
 public:
  RowsWriter(const RowsText& kernel) : kernel_(kernel), type_(value_type_name(kernel.value)) {}

  std::string text(const Dialect& dialect) {
    std::string text = kernel_header(dialect, 1), memory, body;
    for (std::size_t k = 0; k < operand_count(); ++k) memory += fmt::format("PEL_MEMORY m{}, ", k);
    text += fmt::format(
        "typedef struct {{ pel_i64 offset[{1}]; pel_i64 launch; pel_i64 length, rows, reduced_rank, "
        "outer_rank; "
        "pel_i64 reduced_size[{0}], outer_size[{0}], reduced_step[{1}][{0}], outer_step[{1}][{0}], "
        "number[{2}]; "
        "}} Call;\n",
        kernel_.axes, operand_count(), std::max<std::size_t>(1, kernel_.params.size()));
    // Of the element at position k of the row.
    text +=
        "#define PEL_PLACE(at, operand) { pel_i64 rest = k; PEL_LOOP for (int axis = 0; axis < "
        "call.reduced_rank; "
        "++axis) { "
        "const pel_i64 size = call.reduced_size[axis], next = rest / size; "
        "at += (rest - next * size) * call.reduced_step[operand][axis]; rest = next; } }\n";
    text += fmt::format(
        "#define PEL_HALVES(combine, lanes) PEL_LOOP for (int half_ = 16; half_ >= 1; half_ /= 2) "
        "PEL_LOOP for (int l = 0; l < half_; ++l) lanes[l] = combine(lanes[l], lanes[l + half_]);\n");
    body += "  const pel_i64 row = PEL_ID(0);\n  if (row >= call.rows) return;\n";
    for (std::size_t k = 0; k < operand_count(); ++k) body += fmt::format("  pel_i64 row{} = 0;\n", k);
    body +=
        "  { pel_i64 rest = row; PEL_LOOP for (int axis = 0; axis < call.outer_rank; ++axis) {\n"
        "    const pel_i64 size = call.outer_size[axis], next = rest / size, place = rest - next * size;\n"
        "    rest = next;\n";
    for (std::size_t k = 0; k < operand_count(); ++k)
      body += fmt::format("    row{0} += place * call.outer_step[{0}][axis];\n", k);
    body += "  } }\n";
    for (std::size_t k = 0; k < operand_count(); ++k)
      body += fmt::format("  PEL_GLOBAL {0}* const p{1} = PEL_AT({0}, {1}) + row{1};\n",
                          memory_type_name(stored(k)), k);
    for (std::size_t i = 0; i < kernel_.params.size(); ++i)
      body += fmt::format("  const {} param{} = {};\n", value_type_name(kernel_.params[i]), i,
                          number_text(i, kernel_.params[i], 1));
    for (std::size_t stage = 0; stage < kernel_.stages.size(); ++stage) text += stage_function(stage);
    for (std::size_t f = 0; f < kernel_.folds.size(); ++f) fold(f, text, body);
    outputs_of_rows(text, body);
    for (std::size_t o = 0; o < kernel_.outputs.size(); ++o) output_of_row(o, text, body);
    return text + fmt::format("PEL_KERNEL void {}({}PEL_STATUS status, const Call call) {{\n{}}}\n",
                              kernel_.name, memory, body);
  }

 private:
  std::size_t outputs() const { return kernel_.outputs.size(); }
  std::size_t operand_count() const { return outputs() + kernel_.inputs.size(); }
  DType stored(std::size_t k) const {
    return k < outputs() ? kernel_.stored_outputs[k] : kernel_.stored_inputs[k - outputs()];
  }
  // Statements that find element k of operand `k_number`; returns its index in them.
  std::string place(std::size_t operand, std::string& statements) const {
    const bool repeats = operand >= outputs() && (kernel_.repeated >> (operand - outputs()) & 1) != 0;
    if (kernel_.is_dense) return repeats ? "0" : "k";
    statements += fmt::format("pel_i64 at{0} = 0; PEL_PLACE(at{0}, {0}) ", operand);
    return fmt::format("at{}", operand);
  }
  // Statements that load element k of all inputs to e0, e1, …, and compute the stages s0, s1, … that `folds`
  // values are enough for.
  std::string loads(std::size_t folds) const {
    std::string statements;
    for (std::size_t i = 0; i < kernel_.inputs.size(); ++i) statements += load(i);
    for (std::size_t s = 0; s < staged(folds); ++s)
      statements +=
          fmt::format("const {} s{} = {}; ", value_type_name(kernel_.stages[s].dtype), s,
                      call(fmt::format("stage{}", s), elements(s) + values(kernel_.stages[s].after)));
    return statements;
  }
  // How many stages are known to the loop of a fold. Its own, which its element computes, is not one.
  std::size_t staged(std::size_t folds) const {
    std::size_t count = 0;
    while (count < kernel_.stages.size() &&
           (kernel_.stages[count].body ? kernel_.stages[count].after <= folds
                                       : kernel_.stages[count].after < folds))
      ++count;
    return count;
  }
  std::string stage_function(std::size_t s) const {
    const RowsText::Stage& stage = kernel_.stages[s];
    const std::string name = fmt::format("stage{}", s);
    return stage.body ? expr_function(*stage.body, name)
                      : expr_function(*kernel_.folds[stage.after].element, name, 1);
  }
  std::string load(std::size_t i) const {
    std::string statements;
    const std::size_t k = outputs() + i;
    const std::string at = place(k, statements);
    std::string value = fmt::format("p{}[{}]", k, at);
    if (kernel_.stored_inputs[i] == kBool) value = fmt::format("({} != 0)", value);
    return statements + fmt::format("const {} e{} = {}; ", value_type_name(kernel_.inputs[i]), i,
                                    cast_text(value, kernel_.stored_inputs[i], kernel_.inputs[i], 1));
  }

  // All elements, and the first `stages` stages; others are not read.
  std::string elements(std::size_t stages) const {
    std::string list;
    for (std::size_t i = 0; i < kernel_.inputs.size(); ++i) list += fmt::format("e{}, ", i);
    for (std::size_t s = 0; s < kernel_.stages.size(); ++s)
      list += s < stages ? fmt::format("s{}, ", s)
                         : fmt::format("({})0, ", value_type_name(kernel_.stages[s].dtype));
    return list;
  }
  std::string values(std::size_t count) const {
    std::string list;
    for (std::size_t f = 0; f < count; ++f) list += fmt::format("value{}, ", f);
    return list;
  }
  std::string call(std::string_view function, std::string arguments) const {
    for (std::size_t i = 0; i < kernel_.params.size(); ++i) arguments += fmt::format("param{}, ", i);
    if (arguments.ends_with(", ")) arguments.resize(arguments.size() - 2);
    return fmt::format("{}({})", function, arguments);
  }
  std::string element(std::size_t f) const {
    return call(fmt::format("element{}", f), elements(staged(f)) + values(f));
  }

  void fold(std::size_t f, std::string& functions, std::string& body) const {
    const RowsText::Fold& fold = kernel_.folds[f];
    const std::string initial = bits_text(fold.initial_bits, kernel_.value);
    if (fold.element) {
      const std::string combine = fmt::format("combine{}", f);
      functions +=
          expr_function(*fold.element, fmt::format("element{}", f)) + expr_function(*fold.combine, combine);
      body += fmt::format(R"(
  {type} folded{f} = {initial};
  {{
    const pel_i64 blocks = (call.length + 1023) / 1024;
    {type} running[3][32];
    int counts[3] = {{0, 0, 0}};
    if (blocks > 1) {{ PEL_LOOP for (int level = 0; level < 3; ++level) PEL_LOOP for (int l = 0; l < 32; ++l) running[level][l] = {initial}; }}
    PEL_LOOP for (pel_i64 b = 0; b < blocks; ++b) {{
      {type} lanes[32];
      PEL_LOOP for (int l = 0; l < 32; ++l) lanes[l] = {initial};
      const pel_i64 begin = b * 1024, end = begin + 1024 < call.length ? begin + 1024 : call.length;
      pel_i64 at = begin;
      PEL_LOOP for (; at + 32 <= end; at += 32)
        PEL_LOOP for (int l = 0; l < 32; ++l) {{ const pel_i64 k = at + l; {loads}lanes[l] = {combine}(lanes[l], {element}); }}
      PEL_LOOP for (int l = 0; at + l < end; ++l) {{ const pel_i64 k = at + l; {loads}lanes[l] = {combine}(lanes[l], {element}); }}
      PEL_HALVES({combine}, lanes)
      folded{f} = lanes[0];
      PEL_LOOP for (int level = 0; blocks > 1 && level < 3; ++level) {{
        const int l = counts[level] % 32;
        running[level][l] = {combine}(running[level][l], folded{f});
        if (++counts[level] < 1024) break;
        PEL_HALVES({combine}, running[level])
        folded{f} = running[level][0];
        counts[level] = 0;
        PEL_LOOP for (int m = 0; m < 32; ++m) running[level][m] = {initial};
      }}
    }}
    // What is left of each level: the last group of 1024 has fewer.
    pel_i64 left = blocks;
    PEL_LOOP for (int level = 0; left > 1; ++level, left = (left + 1023) / 1024) {{
      if (left % 1024 == 0) continue;
      PEL_HALVES({combine}, running[level])
      folded{f} = running[level][0];
      PEL_LOOP for (int upper = level + 1; left > 1024 && upper < 3; ++upper) {{
        const int l = counts[upper] % 32;
        running[upper][l] = {combine}(running[upper][l], folded{f});
        if (++counts[upper] < 1024) break;
        PEL_HALVES({combine}, running[upper])
        folded{f} = running[upper][0];
        counts[upper] = 0;
        PEL_LOOP for (int m = 0; m < 32; ++m) running[upper][m] = {initial};
      }}
    }}
  }}
)",
                          fmt::arg("type", type_), fmt::arg("f", f), fmt::arg("initial", initial),
                          fmt::arg("combine", combine), fmt::arg("loads", loads(f)),
                          fmt::arg("element", element(f)));
    } else {
      body += fmt::format("  const {} folded{} = ({})0;\n", type_, f, type_);
    }
    if (fold.finish) {
      functions += expr_function(*fold.finish, fmt::format("finish{}", f));
      body += fmt::format("  const {} value{} = {};\n", type_, f,
                          call(fmt::format("finish{}", f), values(f) + fmt::format("folded{}, ", f)));
    } else {
      body += fmt::format("  const {} value{} = folded{};\n", type_, f, f);
    }
  }

  std::string store(std::size_t o, const std::string& at, const std::string& value) const {
    const DType stored = kernel_.stored_outputs[o];
    return fmt::format("p{}[{}] = {}({});", o, at, stored == kBool ? "(pel_u8)" : "",
                       cast_text(value, kernel_.outputs[o].dtype, stored, 1));
  }

  // All outputs that have one element for each of the row, in one loop. An element is stored when all of them
  // are computed: an output may lie where an input does.
  void outputs_of_rows(std::string& functions, std::string& body) const {
    const std::size_t folds = kernel_.folds.size();
    std::string computed, stores;
    for (std::size_t o = 0; o < kernel_.outputs.size(); ++o) {
      const RowsText::Output& output = kernel_.outputs[o];
      if (output.kind != RowsText::Kind::Row) continue;
      std::string value = fmt::format("s{}", output.stage);
      if (output.body) {
        const std::string function = fmt::format("output{}", o);
        functions += expr_function(*output.body, function);
        const std::string saved =
            kernel_.saved_fold < 0 ? "" : element(static_cast<std::size_t>(kernel_.saved_fold)) + ", ";
        value = call(function, elements(kernel_.stages.size()) + saved + values(folds));
      }
      computed += fmt::format("const {} r{} = {}; ", value_type_name(output.dtype), o, value);
      std::string places;
      const std::string at = place(o, places);
      stores += places + store(o, at, fmt::format("r{}", o)) + " ";
    }
    if (!stores.empty())
      body += fmt::format("  PEL_LOOP for (pel_i64 k = 0; k < call.length; ++k) {{ {}{}{}}}\n", loads(folds),
                          computed, stores);
  }

  void output_of_row(std::size_t o, std::string& functions, std::string& body) const {
    const RowsText::Output& output = kernel_.outputs[o];
    if (output.kind == RowsText::Kind::Value) {
      const std::string function = fmt::format("output{}", o);
      functions += expr_function(*output.body, function);
      body += "  " + store(o, "0", call(function, values(kernel_.folds.size()))) + "\n";
    }
    if (output.kind == RowsText::Kind::Index) {
      const std::string cast = cast_text("e0", kernel_.inputs[0], kernel_.value, 1);
      body += fmt::format(
          "  {{ pel_i64 found = call.length - 1;\n"
          "    PEL_LOOP for (pel_i64 k = 0; k < call.length; ++k) {{ {}const {} x = {};\n"
          "      if (x == value0 || (x != x && value0 != value0)) {{ found = k; break; }} }}\n"
          "    p{}[0] = found; }}\n",
          load(0), type_, cast, o);
    }
  }

  const RowsText& kernel_;
  const std::string type_;
};

}  // namespace

std::string rows_text(const Dialect& dialect, const RowsText& kernel) {
  return RowsWriter(kernel).text(dialect);
}

}  // namespace pel::codegen
