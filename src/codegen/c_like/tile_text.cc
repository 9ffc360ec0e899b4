#include "codegen/c_like/tile_text.h"

#include <fmt/format.h>

#include "codegen/c_like/expr_text.h"

namespace pel::codegen {
namespace {

constexpr std::string_view kEach =
    "#define EACH_SUM PEL_UNROLL for (int s = 0; s < SUMS; ++s) PEL_UNROLL for (int r = 0; r < ROWS; ++r) "
    "PEL_UNROLL for (int c = 0; c < VECTORS; ++c)\n";
constexpr std::string_view kChain = R"(
  for (pel_i64 l = 0; l < call.k; l += 1024) {
    V sum[SUMS][ROWS][VECTORS];
    EACH_SUM sum[s][r][c] = (V)(0);
    const pel_i64 end = l + 1024 < call.k ? l + 1024 : call.k;
    if (is_full) { for (pel_i64 p = l; p < end; ++p) { STEP(LOAD_FULL) } }
    else { for (pel_i64 p = l; p < end; ++p) { STEP(LOAD_PART) } }
    EACH_SUM total[s][r][c] = l == 0 ? sum[s][r][c] : ADD(total[s][r][c], sum[s][r][c]);
  }
)";
constexpr std::string_view kPairs = R"(
  for (pel_i64 l = 0; l < call.k; l += 32) {
    V sum[SUMS][ROWS][VECTORS], odd[SUMS][ROWS][VECTORS];
    EACH_SUM sum[s][r][c] = odd[s][r][c] = (V)(0);
    const pel_i64 end = l + 32 < call.k ? l + 32 : call.k;
    if (is_full) { for (pel_i64 p = l; p < end; ++p) { STEP(LOAD_FULL) } }
    else { for (pel_i64 p = l; p < end; ++p) { STEP(LOAD_PART) } }
    // The CPU pads the depth with zeros: a sum that was flushed to -0 becomes 0.
    EACH_SUM {
      if (end - l <= 30) sum[s][r][c] = ADD(sum[s][r][c], (V)(0));
      if (end - l <= 31) odd[s][r][c] = ADD(odd[s][r][c], (V)(0));
      total[s][r][c] = flush_(ADD(total[s][r][c], flush_(ADD(sum[s][r][c], odd[s][r][c]))));
    }
  }
)";
constexpr std::string_view kLoadRight =
    "V y[SUMS][VECTORS]; PEL_UNROLL for (int s = 0; s < SUMS; ++s) PEL_UNROLL for (int c = 0; c < VECTORS; "
    "++c) y[s][c] = ";

class TileWriter {
 public:
  TileWriter(const TileText& tile)
      : tile_(tile),
        is_vector_(tile.lanes > 1),
        left_(tile.outputs.size()),
        first_input_(left_ + 1 + static_cast<std::size_t>(tile.sums)) {}

  std::string text(const Dialect& dialect) const {
    const std::size_t operands = first_input_ + tile_.inputs.size();
    std::string tables;
    // The statements come after the tables in the text.
    const std::string finish = finish_text(tables);
    std::string text = kernel_header(dialect, tile_.lanes) + macros() + tables;
    text += fmt::format(
        "typedef struct {{ pel_i64 offset[{0}]; pel_i64 launch, m, n, k, batch, scales, matrix[{0}][3], "
        "number[{1}]; }} Call;\n",
        operands, std::max<std::size_t>(1, tile_.finish->params.size()));
    text += fmt::format("PEL_KERNEL void {}(", tile_.name);
    for (std::size_t k = 0; k < operands; ++k) text += fmt::format("PEL_MEMORY m{}, ", k);
    text += fmt::format(R"(PEL_STATUS status, const Call call) {{
  const pel_i64 j0 = PEL_ID(0) * LANES * VECTORS, i0 = PEL_ID(1) * ROWS, z = PEL_ID(2);
  if (j0 >= call.n || i0 >= call.m) return;
  PEL_GLOBAL const T* a[ROWS];
  PEL_UNROLL for (int r = 0; r < ROWS; ++r)
    a[r] = PEL_AT(const T, {0}) + z * call.matrix[{0}][0] + (i0 + r < call.m ? i0 + r : call.m - 1) * call.matrix[{0}][1];
  PEL_GLOBAL const T* b[SUMS];
)",
                        left_);
    for (int s = 0; s < tile_.sums; ++s) {
      const std::size_t k = left_ + 1 + static_cast<std::size_t>(s);
      text += fmt::format("  b[{}] = PEL_AT(const T, {}) + z * call.matrix[{}][0] + j0 * {};\n", s, k, k,
                          is_vector_ ? "1" : fmt::format("call.matrix[{}][2]", k));
    }
    text +=
        "  const bool is_full = j0 + LANES * VECTORS <= call.n;\n  V total[SUMS][ROWS][VECTORS];\n"
        "  EACH_SUM total[s][r][c] = (V)(0);\n";
    text += is_pairs() ? kPairs : kChain;
    return text + finish + "}\n";
  }

 private:
  bool is_pairs() const { return tile_.order == TileTextOrder::Pairs; }

  std::string macros() const {
    const std::string type = value_type_name(tile_.sum), suffix(name(tile_.sum)),
                      vector = value_type_name(tile_.sum, tile_.lanes);
    std::string text = fmt::format(
        "typedef {0} V;\ntypedef {1} T;\n#define SUMS {2}\n#define ROWS {3}\n#define VECTORS {4}\n"
        "#define LANES {5}\n#define ADD(a, b) add_{6}(a, b)\n#define FMA(a, b, c) fma_{6}(a, b, c)\n",
        vector, type, tile_.sums, tile_.rows, tile_.vectors, tile_.lanes, suffix);
    text += kEach;
    const std::string left = fmt::format("a[r][p * call.matrix[{}][2]]", left_);
    if (is_pairs()) {
      const std::string bits = is_vector_ ? fmt::format("pel_u32x{}", tile_.lanes) : "pel_u32";
      text += fmt::format(
          "PEL_INLINE V flush_(V x) {{ return pel_fabs(x) < (V)(as_pel_f32((pel_u32)0x800000u)) ? "
          "as_{0}(as_{1}(x) & ({1})(0x80000000u)) : x; }}\n",
          vector, bits);
      text += fmt::format(
          "#define STEP(LOAD) {}flush_(LOAD); EACH_SUM {{ const V x = flush_((V)({})); "
          "if ((p - l) % 2 == 0) sum[s][r][c] = flush_(FMA(x, y[s][c], sum[s][r][c])); "
          "else odd[s][r][c] = flush_(FMA(x, y[s][c], odd[s][r][c])); }}\n",
          kLoadRight, left);
    } else {
      text += fmt::format(
          "#define STEP(LOAD) {}LOAD; EACH_SUM {{ const V x = (V)({}); sum[s][r][c] = FMA(x, y[s][c], "
          "sum[s][r][c]); }}\n",
          kLoadRight, left);
    }
    // Right factors have their steps in the operands after the left one.
    const std::string steps = fmt::format("call.matrix[{} + s]", left_ + 1);
    if (is_vector_) {
      text += fmt::format(
          "#define LOAD_FULL vload16(0, b[s] + p * {0}[1] + 16 * c)\n"
          "#define LOAD_PART load_{1}x16(b[s] + p * {0}[1], 16 * c, 1, call.n - j0)\n",
          steps, type);
    } else {
      text += fmt::format(
          "#define LOAD_FULL b[s][p * {0}[1] + c * {0}[2]]\n"
          "#define LOAD_PART (j0 + c < call.n ? LOAD_FULL : (T)0)\n",
          steps);
    }
    return text;
  }

  // Whether vectors of results are computed and stored at once.
  bool finishes_vectors() const {
    return is_vector_ && tile_.are_columns_dense && has_vector_form(*tile_.finish);
  }
  std::string row_of(std::size_t k, std::string_view type) const {
    return fmt::format("PEL_AT({0}, {1}) + z * call.matrix[{1}][0] + (i0 + r) * call.matrix[{1}][1]", type,
                       k);
  }
  std::string load(std::size_t i, int lanes) const {
    const std::size_t k = first_input_ + i;
    const DType stored = tile_.inputs[i];
    const std::string_view type = memory_type_name(stored);
    const std::string row = row_of(k, fmt::format("const {}", type));
    if (lanes == 1) {
      const std::string value = fmt::format("({})[j * call.matrix[{}][2]]", row, k);
      return stored == kBool ? fmt::format("({} != 0)", value) : value;
    }
    const std::string value = fmt::format("load_{}x16({}, j, call.matrix[{}][2], call.n)", type, row, k);
    return stored == kBool ? fmt::format("({} != (uchar16)(0))", value) : value;
  }
  std::string store(std::size_t o, const std::string& value, int lanes) const {
    const std::string_view type = memory_type_name(tile_.outputs[o]);
    const bool is_bool = tile_.outputs[o] == kBool;
    if (lanes == 1)
      return fmt::format("({})[j * call.matrix[{}][2]] = {}({});", row_of(o, type), o,
                         is_bool ? "(pel_u8)" : "", value);
    return fmt::format("store_{}x16({}, j, call.n, {}{}{});", type, row_of(o, type),
                       is_bool ? "as_uchar16(" : "(", value, is_bool ? " & (char16)(1))" : ")");
  }

  // What becomes of the sums of vector c of row r, from column j on; or of lane v of them, at column j.
  std::string results(int lanes, std::string& tables) const {
    const scalar::ScalarExpr& finish = *tile_.finish;
    const auto sums = static_cast<std::size_t>(tile_.sums);
    const auto sum = [&](std::size_t s) {
      return lanes == tile_.lanes ? fmt::format("total[{}][r][c]", s) : fmt::format("values[{}][v]", s);
    };
    std::string text;
    for (std::size_t i = 0; i < finish.inputs.size(); ++i)
      text += fmt::format("  const {} in{} = {};\n", value_type_name(finish.inputs[i], lanes), i,
                          i < sums ? sum(i) : load(i - sums, lanes));
    for (std::size_t i = 0; i < finish.params.size(); ++i)
      text += fmt::format("  const {} param{} = {};\n", value_type_name(finish.params[i], lanes), i,
                          number_text(i, finish.params[i], lanes));
    text += expr_statements(finish, lanes, "v", "finish", tables);
    for (std::size_t o = 0; o < tile_.outputs.size(); ++o)
      text += "  " + store(o, fmt::format("v{}", finish.results[o]), lanes) + "\n";
    if (tile_.outputs.size() == 1 && tile_.sums == 1)
      text = fmt::format("  if (call.scales == 0) {{ {} }} else {{\n{}  }}\n",
                         store(0, cast_text(sum(0), tile_.sum, tile_.outputs[0], lanes), lanes), text);
    return text;
  }
  std::string finish_text(std::string& tables) const {
    // Unrolled, the driver would compile the expression for each row.
    std::string text =
        "  PEL_ROLLED for (int r = 0; r < ROWS && i0 + r < call.m; ++r) PEL_ROLLED for (int c = 0; c < "
        "VECTORS; "
        "++c) {\n";
    if (finishes_vectors())
      return text + "  const pel_i64 j = j0 + c * LANES;\n  if (j >= call.n) break;\n" +
             results(tile_.lanes, tables) + "  }\n";
    if (!is_vector_)
      return text + "  const pel_i64 j = j0 + c;\n  if (j >= call.n) break;\n" + results(1, tables) + "  }\n";
    text += "  T values[SUMS][LANES];\n";
    for (int s = 0; s < tile_.sums; ++s)
      text += fmt::format("  vstore16(total[{0}][r][c], 0, values[{0}]);\n", s);
    return text +
           "  for (int v = 0; v < LANES; ++v) {\n  const pel_i64 j = j0 + c * LANES + v;\n"
           "  if (j >= call.n) break;\n" +
           results(1, tables) + "  }\n  }\n";
  }

  const TileText& tile_;
  const bool is_vector_;
  const std::size_t left_, first_input_;  // operands
};

}  // namespace

std::string tile_text(const Dialect& dialect, const TileText& tile) { return TileWriter(tile).text(dialect); }

}  // namespace pel::codegen
