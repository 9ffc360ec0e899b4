#include "codegen/c_like/tile_text.h"

#include <fmt/format.h>

#include "codegen/c_like/expr_text.h"
#include "codegen/c_like/transpose_text.h"

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
    PRODUCTS
    EACH_SUM total[s][r][c] = l == 0 ? sum[s][r][c] : ADD(total[s][r][c], sum[s][r][c]);
  }
)";
constexpr std::string_view kPairs = R"(
  for (pel_i64 l = 0; l < call.k; l += 32) {
    V sum[SUMS][ROWS][VECTORS], odd[SUMS][ROWS][VECTORS];
    EACH_SUM sum[s][r][c] = odd[s][r][c] = (V)(0);
    const pel_i64 end = l + 32 < call.k ? l + 32 : call.k;
    PRODUCTS
    // The CPU pads the depth with zeros: a sum that was flushed to -0 becomes 0.
    EACH_SUM {
      if (end - l <= 30) sum[s][r][c] = ADD(sum[s][r][c], (V)(0));
      if (end - l <= 31) odd[s][r][c] = ADD(odd[s][r][c], (V)(0));
      total[s][r][c] = flush_(ADD(total[s][r][c], flush_(ADD(sum[s][r][c], odd[s][r][c]))));
    }
  }
)";
// The products of one block of k, in their order.
constexpr std::string_view kProducts =
    "#define PRODUCTS if (is_full) { for (pel_i64 p = l; p < end; ++p) { STEP(LOAD_FULL) } } \\\n"
    "  else { for (pel_i64 p = l; p < end; ++p) { STEP(LOAD_PART) } }\n";
constexpr std::string_view kProductsOfColumns =
    "#define PRODUCTS pel_i64 block = l; \\\n"
    "  for (; block + 16 <= end; block += 16) { V column[SUMS][16]; READ_COLUMNS \\\n"
    "    PEL_ROLLED for (int q = 0; q < 16; ++q) { const pel_i64 p = block + q; STEP(column[s][q]) } } \\\n"
    "  for (pel_i64 p = block; p < end; ++p) { STEP(READ_COLUMN) }\n";
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
    std::string text = kernel_header(dialect, tile_.lanes);
    if (tile_.right == RightLayout::Columns) text += transpose_text(tile_.sum, tile_.stored_right);
    text += macros() + tables;
    text += fmt::format(
        "typedef struct {{ pel_i64 offset[{0}]; pel_i64 launch, m, n, k, batch, scales, matrix[{0}][3], "
        "number[{1}]; }} Call;\n",
        operands, std::max<std::size_t>(1, tile_.finish->params.size()));
    text += fmt::format("PEL_KERNEL void {}(", tile_.name);
    for (std::size_t k = 0; k < operands; ++k) text += fmt::format("PEL_MEMORY m{}, ", k);
    // Of a CPU, one item runs after the other: those of a panel come together, so that it stays in a cache.
    text += fmt::format(R"(PEL_STATUS status, const Call call) {{
  const pel_i64 column_tile = PEL_ID({1}), j0 = column_tile * LANES * VECTORS, i0 = PEL_ID({2}) * ROWS, z = PEL_ID(2);
  if (j0 >= call.n || i0 >= call.m) return;
  PEL_GLOBAL const T* a[ROWS];
  PEL_UNROLL for (int r = 0; r < ROWS; ++r)
    a[r] = PEL_AT(const T, {0}) + z * call.matrix[{0}][0] + (i0 + r < call.m ? i0 + r : call.m - 1) * call.matrix[{0}][1];
  PEL_GLOBAL const R* b[SUMS];
)",
                        left_, is_vector_ ? 1 : 0, is_vector_ ? 0 : 1);
    for (int s = 0; s < tile_.sums; ++s) {
      const std::size_t k = left_ + 1 + static_cast<std::size_t>(s);
      text +=
          fmt::format("  b[{0}] = PEL_AT(const R, {1}) + z * call.matrix[{1}][0]{2};\n", s, k, begin_of(k));
    }
    if (tile_.right == RightLayout::Columns)
      text += fmt::format(
          "  pel_i64 at[SUMS][16];\n  for (int s = 0; s < SUMS; ++s) for (int i = 0; i < 16; ++i)\n"
          "    at[s][i] = (j0 + i < call.n ? j0 + i : call.n - 1) * call.matrix[{} + s][2];\n",
          left_ + 1);
    text +=
        "  const bool is_full = j0 + LANES * VECTORS <= call.n;\n  V total[SUMS][ROWS][VECTORS];\n"
        "  EACH_SUM total[s][r][c] = (V)(0);\n";
    text += is_pairs() ? kPairs : kChain;
    return text + finish + "}\n";
  }

 private:
  bool is_pairs() const { return tile_.order == TileTextOrder::Pairs; }
  // Where an item begins in right factor k.
  std::string begin_of(std::size_t k) const {
    switch (tile_.right) {
      case RightLayout::Rows:
        return " + j0";
      case RightLayout::Columns:
        return "";
      case RightLayout::Panels:
        return fmt::format(" + column_tile * call.matrix[{}][1]", k);
      case RightLayout::Any:
        break;
    }
    return fmt::format(" + j0 * call.matrix[{}][2]", k);
  }

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
    text += fmt::format("typedef {} R;\n", memory_type_name(tile_.stored_right)) + reads_of_right();
    return text;
  }
  // Of right factors, which have their steps in the operands after the left one.
  std::string reads_of_right() const {
    const std::string steps = fmt::format("call.matrix[{} + s]", left_ + 1);
    const auto value = [&](const std::string& from) {
      return cast_text(from, tile_.stored_right, tile_.sum, tile_.lanes);
    };
    const std::string suffix = fmt::format("{}_{}", value_type_name(tile_.sum), name(tile_.stored_right));
    std::string text;
    switch (tile_.right) {
      case RightLayout::Rows:
        text = fmt::format("#define LOAD_FULL {}\n#define LOAD_PART {}\n",
                           value(fmt::format("vload16(0, b[s] + p * {}[1] + 16 * c)", steps)),
                           value(fmt::format("load_{}x16(b[s] + p * {}[1], 16 * c, 1, call.n - j0)",
                                             memory_type_name(tile_.stored_right), steps)));
        break;
      case RightLayout::Panels:
        text =
            "#define LOAD_FULL vload16(0, b[s] + p * (LANES * VECTORS) + 16 * c)\n"
            "#define LOAD_PART LOAD_FULL\n";
        break;
      case RightLayout::Columns:
        return fmt::format(
                   "#define READ_COLUMNS PEL_UNROLL for (int s = 0; s < SUMS; ++s) "
                   "read_columns_{0}(column[s], b[s], at[s], block);\n"
                   "#define READ_COLUMN read_column_{0}(b[s], at[s], p)\n",
                   suffix)
            .append(kProductsOfColumns);
      case RightLayout::Any:
        text = fmt::format(
            "#define LOAD_FULL b[s][p * {0}[1] + c * {0}[2]]\n"
            "#define LOAD_PART (j0 + c < call.n ? LOAD_FULL : (T)0)\n",
            steps);
        break;
    }
    return text.append(kProducts);
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

std::string pack_text(const Dialect& dialect, const PackText& pack) {
  const std::string type = value_type_name(pack.packed), vector = value_type_name(pack.packed, kVectorLanes),
                    suffix = fmt::format("{}_{}", type, name(pack.stored));
  const std::string_view stored = memory_type_name(pack.stored);
  std::string read;
  switch (pack.layout) {
    case RightLayout::Rows:
      read = fmt::format("    for (pel_i64 p = begin; p < end; ++p) vstore16({}, 0, to + p * WIDTH);\n",
                         cast_text(fmt::format("load_{}x16(from + p * call.row_step, j0, 1, call.n)", stored),
                                   pack.stored, pack.packed, kVectorLanes));
      break;
    case RightLayout::Columns:
      read = fmt::format(R"(    pel_i64 p = begin;
    for (; p + 16 <= end; p += 16) {{
      {0} u[16];
      read_columns_{1}(u, from, at, p);
      PEL_UNROLL for (int q = 0; q < 16; ++q) vstore16(u[q], 0, to + (p + q) * WIDTH);
    }}
    for (; p < end; ++p) vstore16(read_column_{1}(from, at, p), 0, to + p * WIDTH);
)",
                         vector, suffix);
      break;
    case RightLayout::Panels:
    case RightLayout::Any:
      read = fmt::format(
          "    for (pel_i64 p = begin; p < end; ++p)\n"
          "      vstore16(read_column_{}(from, at, p * call.row_step), 0, to + p * WIDTH);\n",
          suffix);
      break;
  }
  return kernel_header(dialect, kVectorLanes) + transpose_text(pack.packed, pack.stored) +
         fmt::format(
             R"(#define WIDTH {3}
typedef struct {{ pel_i64 offset[2]; pel_i64 launch, n, k, panels, batch_step, row_step, column_step; }} Call;
PEL_KERNEL void {0}(PEL_MEMORY m0, PEL_MEMORY m1, PEL_STATUS status, const Call call) {{
  const pel_i64 begin = PEL_ID(0) * {4}, panel = PEL_ID(1), z = PEL_ID(2);
  const pel_i64 end = begin + {4} < call.k ? begin + {4} : call.k;
  PEL_GLOBAL const {2}* from = PEL_AT(const {2}, 1) + z * call.batch_step;
  for (int c = 0; c < WIDTH / 16; ++c) {{
    const pel_i64 j0 = panel * WIDTH + 16 * c;
    PEL_GLOBAL {1}* to = PEL_AT({1}, 0) + (z * call.panels + panel) * call.k * WIDTH + 16 * c;
    pel_i64 at[16];
    for (int i = 0; i < 16; ++i) at[i] = (j0 + i < call.n ? j0 + i : call.n - 1) * call.column_step;
{5}  }}
}}
)",
             pack.name, type, stored, pack.vectors * kVectorLanes, kPackDepth, read);
}

}  // namespace pel::codegen
