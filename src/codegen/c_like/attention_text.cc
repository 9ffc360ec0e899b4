#include "codegen/c_like/attention_text.h"

#include <fmt/format.h>

#include "codegen/c_like/expr_text.h"
#include "codegen/c_like/transpose_text.h"

namespace pel::codegen {
namespace {

using scalar::ScalarExpr;

// What does not depend on dtypes. Scores of a row become its weights, in the same memory. Folds have 32
// running values from the first key that a row attends to: those of the last 32 that it does not are the
// identity.
constexpr std::string_view kBegin = R"(
#define EACH_ROW PEL_UNROLL for (int r = 0; r < ROWS; ++r)
#define STEP(operand, axis) call.step[operand][axis]
PEL_INLINE T fold_max(const T* values, pel_i64 begin, pel_i64 end) {
  V running[32 / LANES];
  for (int l = 0; l < 32 / LANES; ++l) running[l] = (V)(IDENTITY);
  PEL_LOOP for (pel_i64 k = begin; k < end; k += 32)
    for (int l = 0; l < 32 / LANES; ++l) running[l] = larger_vector(running[l], LOAD(values + k + l * LANES));
  T lanes[32];
  for (int l = 0; l < 32 / LANES; ++l) STORE(running[l], lanes + l * LANES);
  PEL_LOOP for (int half_ = 16; half_ >= 1; half_ /= 2)
    PEL_LOOP for (int l = 0; l < half_; ++l) lanes[l] = larger(lanes[l], lanes[l + half_]);
  return lanes[0];
}
PEL_INLINE T fold_sum(const T* values, pel_i64 begin, pel_i64 end) {
  V running[32 / LANES];
  for (int l = 0; l < 32 / LANES; ++l) running[l] = (V)(0);
  PEL_LOOP for (pel_i64 k = begin; k < end; k += 32)
    for (int l = 0; l < 32 / LANES; ++l) running[l] = sum_vector(running[l], LOAD(values + k + l * LANES));
  T lanes[32];
  for (int l = 0; l < 32 / LANES; ++l) STORE(running[l], lanes + l * LANES);
  PEL_LOOP for (int half_ = 16; half_ >= 1; half_ /= 2)
    PEL_LOOP for (int l = 0; l < half_; ++l) lanes[l] = sum_(lanes[l], lanes[l + half_]);
  return lanes[0];
}
)";

constexpr std::string_view kRows = R"(
  const pel_i64 first = PEL_ID(0) * ROWS, key_head = PEL_ID(1), z = PEL_ID(2);
  if (first >= call.rows) return;
  const T scale = SCALE;
  PEL_GLOBAL const M* query[ROWS];
  pel_i64 row[ROWS], head[ROWS], position[ROWS], begin[ROWS], end[ROWS], all_begin = call.keys, all_end = 0;
  T max_[ROWS], total[ROWS], decay_[ROWS];
  PEL_LOOP for (int r = 0; r < ROWS; ++r) {
    row[r] = first + r < call.rows ? first + r : call.rows - 1;
    head[r] = key_head * (call.rows / call.queries) + row[r] / call.queries;
    position[r] = row[r] % call.queries;
    query[r] = PEL_AT(const M, 3) + z * STEP(3, 0) + head[r] * STEP(3, 1) + position[r] * STEP(3, 2);
    begin[r] = 0;
    end[r] = call.is_causal != 0 && position[r] + 1 < call.keys ? position[r] + 1 : call.keys;
    if (call.window > 0) {
      const pel_i64 last = call.is_causal != 0 ? position[r] : position[r] + call.keys - call.queries;
      end[r] = last + 1 < 0 ? 0 : last + 1 < call.keys ? last + 1 : call.keys;
      begin[r] = last - call.window + 1 < 0 ? 0 : last - call.window + 1 < end[r] ? last - call.window + 1 : end[r];
    }
    if (begin[r] < end[r]) {
      all_begin = begin[r] < all_begin ? begin[r] : all_begin;
      all_end = end[r] > all_end ? end[r] : all_end;
    }
    max_[r] = MINUS_INFINITY;
    total[r] = 0;
  }
  PEL_GLOBAL const M* const keys = PEL_AT(const M, 4) + z * STEP(4, 0) + key_head * STEP(4, 1);
  PEL_GLOBAL const M* const values = PEL_AT(const M, 5) + z * STEP(5, 0) + key_head * STEP(5, 1);
  PEL_GLOBAL T* const sums = PEL_AT(T, 2) + (z * call.key_heads + key_head) * call.rows * call.sum_row;
  T scores[ROWS][TILE + 64];
  PEL_LOOP for (pel_i64 t = all_begin / TILE * TILE; t < all_end; t += TILE) {
    const pel_i64 count = t + TILE < all_end ? TILE : all_end - t, low = all_begin > t ? (all_begin - t) / 16 * 16 : 0;
    PEL_LOOP for (pel_i64 k = low; k < count; k += LANES) {
      V sum[ROWS];
      EACH_ROW sum[r] = (V)(0);
      SCORES
      EACH_ROW STORE(sum[r], scores[r] + k);
    }
    PEL_LOOP for (int r = 0; r < ROWS; ++r) {
      const pel_i64 from = begin[r] > t ? begin[r] - t : 0, to = end[r] - t < count ? end[r] - t : count;
      decay_[r] = (T)(1);
      if (from >= to) {
        PEL_LOOP for (pel_i64 k = low; k < count; ++k) scores[r][k] = (T)(0);
        continue;
      }
      MASKED
      PEL_LOOP for (pel_i64 k = to; k < to + 32; ++k) scores[r][k] = (T)(IDENTITY);
      const T found = MUL(fold_max(scores[r], from, to), scale), before = max_[r];
      if (found > max_[r] || found != found) max_[r] = found;
      const T now = max_[r] == MINUS_INFINITY ? (T)(0) : max_[r];
      decay_[r] = decay(before, now);
      PEL_LOOP for (pel_i64 k = from; k < to; k += LANES)
        STORE(weights_vector(LOAD(scores[r] + k), (V)(now), (V)(scale)), scores[r] + k);
      PEL_LOOP for (pel_i64 k = to; k < to + 32 || k < count; ++k) scores[r][k] = (T)(0);
      PEL_LOOP for (pel_i64 k = low; k < from; ++k) scores[r][k] = (T)(0);
      const T weight = fold_sum(scores[r], from, to);
      total[r] = now < PLUS_INFINITY ? ADD(MUL(total[r], decay_[r]), weight) : NOT_A_NUMBER;
    }
    const bool is_first = t <= all_begin;
    PEL_LOOP for (pel_i64 c = 0; c < call.value_width; c += LANES) {
      V sum[ROWS];
      EACH_ROW sum[r] = is_first ? (V)(0) : MUL(LOAD(sums + row[r] * call.sum_row + c), (V)(decay_[r]));
      PEL_LOOP for (pel_i64 k = low; k < count; ++k) {
        const V value = VALUE;
        EACH_ROW sum[r] = FMA((V)(scores[r][k]), value, sum[r]);
      }
      EACH_ROW if (first + r < call.rows) STORE(sum[r], sums + row[r] * call.sum_row + c);
    }
  }
  PEL_LOOP for (int r = 0; r < ROWS && first + r < call.rows; ++r) {
    const T factor = total[r] == 0 ? (T)(0) : DIV((T)(1), total[r]);
    PEL_GLOBAL M* const to = PEL_AT(M, 0) + z * STEP(0, 0) + head[r] * STEP(0, 1) + position[r] * STEP(0, 2);
    PEL_LOOP for (pel_i64 c = 0; c < call.value_width; c += LANES) {
      const V sum = all_begin < all_end ? LOAD(sums + row[r] * call.sum_row + c) : (V)(0);
      FINISHED(finish_vector(sum, (V)(factor)))
    }
    (PEL_AT(T, 1) + z * STEP(1, 0) + head[r] * STEP(1, 1))[position[r] * STEP(1, 2)] = logs(max_[r], total[r]);
  }
}
)";

class AttentionWriter {
 public:
  explicit AttentionWriter(const AttentionText& attention)
      : a_(attention), type_(value_type_name(a_.type)), stored_(memory_type_name(a_.dtype)) {}

  std::string text(const Dialect& dialect) const {
    const int operands = a_.mask ? 7 : 6;
    std::string text = kernel_header(dialect, a_.lanes);
    if (is_vector()) text += transpose_text(a_.type, a_.dtype);
    text += fmt::format(
        "typedef {} T;\ntypedef {} V;\ntypedef {} M;\n#define ROWS {}\n#define LANES {}\n"
        "#define TILE {}\n",
        type_, value_type_name(a_.type, a_.lanes), stored_, a_.rows, a_.lanes, kAttentionTileKeys);
    text += fmt::format(
        "#define ADD(a, b) add_{0}(a, b)\n#define MUL(a, b) mul_{0}(a, b)\n#define DIV(a, b) div_{0}(a, b)\n"
        "#define FMA(a, b, c) fma_{0}(a, b, c)\n",
        name(a_.type));
    text += is_vector()
                ? "#define LOAD(from) vload16(0, from)\n#define STORE(value, to) vstore16(value, 0, to)\n"
                : "#define LOAD(from) (*(from))\n#define STORE(value, to) (*(to) = (value))\n";
    text += fmt::format(
        "#define IDENTITY {}\n#define MINUS_INFINITY {}\n#define PLUS_INFINITY {}\n"
        "#define NOT_A_NUMBER {}\n",
        bits(a_.initial_bits), bits(is_wide() ? 0xfff0000000000000u : 0xff800000u),
        bits(is_wide() ? 0x7ff0000000000000u : 0x7f800000u),
        bits(is_wide() ? 0x7ff8000000000000u : 0x7fc00000u));
    text += expr_function(a_.larger, "larger") + expr_function(a_.sum, "sum_") +
            expr_function(a_.decay, "decay") + expr_function(a_.logsumexp, "logs");
    text += vector_function(a_.larger, "larger_vector", 0) + vector_function(a_.sum, "sum_vector", 0) +
            vector_function(a_.weights, "weights_vector", 0) + vector_function(a_.finish, "finish_vector", 0);
    if (a_.mask) text += vector_function(a_.masked, "masked_vector", 0);
    text += kBegin;
    text += scores() + mask() + value() + finished();
    text += fmt::format(
        "typedef struct {{ pel_i64 offset[{0}]; pel_i64 launch, rows, queries, keys, width, value_width, "
        "key_heads, "
        "is_causal, window, sum_row, step[{0}][4], number[3]; }} Call;\n#define SCALE {1}\n",
        operands, number_text(0, a_.type, 1));
    text += fmt::format("PEL_KERNEL void {}(", a_.name);
    for (int k = 0; k < operands; ++k) text += fmt::format("PEL_MEMORY m{}, ", k);
    return text.append("PEL_STATUS status, const Call call) {").append(kRows);
  }

 private:
  bool is_vector() const { return a_.lanes > 1; }
  bool is_wide() const { return a_.type == kF64; }
  std::string bits(std::uint64_t of) const {
    return is_wide() ? fmt::format("as_pel_f64((pel_u64)0x{:x}ul)", of)
                     : fmt::format("as_pel_f32((pel_u32)0x{:x}u)", of);
  }
  std::string loaded(const std::string& from, int lanes) const {
    return cast_text(from, a_.dtype, a_.type, lanes);
  }

  std::string vector_function(const ScalarExpr& expr, const std::string& of, std::size_t result) const {
    std::string tables, arguments;
    for (std::size_t i = 0; i < expr.inputs.size(); ++i)
      arguments += fmt::format("{}{} in{}", arguments.empty() ? "" : ", ",
                               value_type_name(expr.inputs[i], a_.lanes), i);
    for (std::size_t i = 0; i < expr.params.size(); ++i)
      arguments += fmt::format(", {} param{}", value_type_name(expr.params[i], a_.lanes), i);
    const std::string body = expr_statements(expr, a_.lanes, "v", of, tables);
    const auto node = static_cast<std::size_t>(expr.results[result]);
    return fmt::format("{}PEL_INLINE {} {}({}) {{\n{}  return v{};\n}}\n", tables,
                       value_type_name(expr.nodes[node].type, a_.lanes), of, arguments, body, node);
  }

  // Scores of keys [k, k + lanes) of the tile. The last vector repeats the last key.
  std::string scores() const {
    const std::string query = loaded("query[r][p * STEP(3, 3)]", 1);
    if (!is_vector())
      return fmt::format(
          "#define SCORES PEL_GLOBAL const M* const key = keys + (t + k) * STEP(4, 2); \\\n"
          "  PEL_LOOP for (pel_i64 p = 0; p < call.width; ++p) {{ const V y = {}; \\\n"
          "    EACH_ROW sum[r] = FMA({}, y, sum[r]); }}\n",
          loaded("key[p * STEP(4, 3)]", 1), query);
    const std::string suffix = fmt::format("{}_{}", type_, name(a_.dtype));
    return fmt::format(
        "#define SCORES pel_i64 at[16]; \\\n"
        "  for (int i = 0; i < 16; ++i) at[i] = (t + k + i < call.keys ? t + k + i : call.keys - 1) * "
        "STEP(4, 2); \\\n"
        "  pel_i64 block = 0; \\\n"
        "  for (; block + 16 <= call.width; block += 16) {{ V column[16]; read_columns_{0}(column, keys, at, "
        "block); "
        "\\\n"
        "    PEL_UNROLL for (int q = 0; q < 16; ++q) {{ const pel_i64 p = block + q; \\\n"
        "      EACH_ROW sum[r] = FMA((V)({1}), column[q], sum[r]); }} }} \\\n"
        "  for (pel_i64 p = block; p < call.width; ++p) {{ const V y = read_column_{0}(keys, at, p); \\\n"
        "    EACH_ROW sum[r] = FMA((V)({1}), y, sum[r]); }}\n",
        suffix, query);
  }
  std::string mask() const {
    if (!a_.mask) return "#define MASKED\n";
    const bool is_bool = *a_.mask == kBool;
    const std::string_view type = memory_type_name(*a_.mask);
    std::string element = is_vector() ? fmt::format("load_{}x16(mask, k, STEP(6, 3), to)", type)
                                      : std::string("mask[k * STEP(6, 3)]");
    if (is_bool)
      element =
          is_vector() ? fmt::format("({} != (uchar16)(0))", element) : fmt::format("({} != 0)", element);
    std::string params = number_text(1, a_.type, a_.lanes);
    if (is_bool) params += ", " + number_text(2, a_.type, a_.lanes);
    return fmt::format(
        "#define MASKED PEL_GLOBAL const {0}* const mask = PEL_AT(const {0}, 6) + z * STEP(6, 0) + head[r] * "
        "STEP(6, "
        "1) + position[r] * STEP(6, 2) + t * STEP(6, 3); \\\n"
        "  PEL_LOOP for (pel_i64 k = from; k < to; k += LANES) \\\n"
        "    STORE(masked_vector(LOAD(scores[r] + k), {1}, {2}), scores[r] + k);\n",
        type, element, params);
  }
  std::string value() const {
    const std::string at = "values + (t + k) * STEP(5, 2)";
    return fmt::format("#define VALUE {}\n",
                       loaded(is_vector() ? fmt::format("load_{}x16({}, c, 1, call.value_width)", stored_, at)
                                          : fmt::format("({})[c * STEP(5, 3)]", at),
                              a_.lanes));
  }
  std::string finished() const {
    return is_vector() ? fmt::format("#define FINISHED(value) store_{}x16(to, c, call.value_width, value);\n",
                                     stored_)
                       : "#define FINISHED(value) to[c * STEP(0, 3)] = value;\n";
  }

  const AttentionText& a_;
  const std::string type_;
  const std::string_view stored_;
};

}  // namespace

std::string attention_text(const Dialect& dialect, const AttentionText& attention) {
  return AttentionWriter(attention).text(dialect);
}

}  // namespace pel::codegen
