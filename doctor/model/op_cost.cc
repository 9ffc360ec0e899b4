#include "doctor/model/op_cost.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "doctor/model/saturating.h"
#include "doctor/readers/blanks.h"
#include "doctor/readers/decimal_time.h"

namespace pel::doctor {
namespace {

// Sizes of traces may be anything: beyond this, matmuls of them would overflow.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

// Reads [[2, 3], [], [[4], [5]]] and ["float", ""], which stand in a trace millions of times. Brackets and
// quotes match, as the reader of the trace has seen.
class ListReader {
 public:
  explicit ListReader(std::string_view json) : rest_(json) {}

  // One for each element; of a list of tensors, the sizes of the first; empty: something else than sizes.
  // False: the text is not a list.
  bool read(std::vector<Sizes>& to) {
    return each([&] {
      if (!read_sizes(to.emplace_back())) to.back().clear();
      return true;
    });
  }
  bool read(Sizes& to) {
    return each([&] {
      const std::optional<std::int64_t> size = parse_integer(skip());
      if (!size || *size < 0 || *size > kMaxSize) return false;
      to.push_back(*size);
      return true;
    });
  }
  bool read(std::vector<std::string>& to) {
    return each([&] {
      const std::string_view token = skip();
      to.emplace_back(token.starts_with('"') ? token.substr(1, token.size() - 2) : std::string_view());
      return true;
    });
  }

 private:
  // Calls f() where each element begins; where that says false, the others are passed over.
  template <class F>
  bool each(F&& f) {
    if (!take('[')) return false;
    if (take(']')) return true;
    bool is_right = true;
    do {
      if (is_right) {
        is_right = f();
      } else {
        skip();
      }
    } while (take(','));
    return take(']') && is_right;
  }
  bool read_sizes(Sizes& to) {
    if (peek() != '[') {
      skip();
      return false;
    }
    bool is_nested = false;
    return each([&] {
      if (peek() == '[' && to.empty() && !is_nested) {
        is_nested = true;
        return read_sizes(to);
      }
      const std::string_view value = skip();
      if (is_nested) return true;
      const std::optional<std::int64_t> size = parse_integer(value);
      if (!size || *size < 0 || *size > kMaxSize) return false;
      to.push_back(*size);
      return true;
    });
  }

  char peek() {
    rest_ = without_blanks_before(rest_);
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool take(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // The value here, passing over it.
  std::string_view skip() {
    peek();
    std::size_t at = 0;
    int depth = 0;
    bool is_in_string = false;
    for (; at < rest_.size(); ++at) {
      const char c = rest_[at];
      if (is_in_string) {
        if (c == '\\') ++at;
        is_in_string = c != '"';
        continue;
      }
      if (depth == 0 && (c == ',' || c == ']' || c == '}')) break;
      is_in_string = c == '"';
      if (c == '[' || c == '{') ++depth;
      if (c == ']' || c == '}') --depth;
    }
    at = std::min(at, rest_.size());
    const std::string_view value = rest_.substr(0, at);
    rest_.remove_prefix(at);
    return without_blanks_after(value);
  }

  std::string_view rest_;
};

std::optional<MatmulSizes> matrices(const OpInputs& inputs, std::size_t a, std::size_t b, std::size_t rank) {
  if (inputs.sizes.size() <= std::max(a, b)) return std::nullopt;
  const Sizes &left = inputs.sizes[a], &right = inputs.sizes[b];
  if (left.size() != rank || right.size() != rank || left[rank - 1] != right[rank - 2]) return std::nullopt;
  MatmulSizes matmul{.m = left[rank - 2], .n = right[rank - 1], .k = left[rank - 1], .type = {}};
  if (rank == 3) matmul.batch = left[0];
  if (a < inputs.types.size()) matmul.type = inputs.types[a];
  return matmul;
}

// input [.., k], weight [n, k]
std::optional<MatmulSizes> linear(const OpInputs& inputs) {
  if (inputs.sizes.size() < 2 || inputs.sizes[0].empty() || inputs.sizes[1].size() != 2) return std::nullopt;
  const Sizes &input = inputs.sizes[0], &weight = inputs.sizes[1];
  if (input.back() != weight[1]) return std::nullopt;
  MatmulSizes matmul{.m = 1, .n = weight[0], .k = weight[1], .type = {}};
  for (std::size_t i = 0; i + 1 < input.size(); ++i) {
    if (input[i] != 0 && matmul.m > kMaxSize / input[i]) return std::nullopt;
    matmul.m *= input[i];
  }
  if (!inputs.types.empty()) matmul.type = inputs.types[0];
  return matmul;
}

// Which inputs of an op are the matrices, and of how many axes; linear is none of them.
struct MatmulOp {
  std::string_view name;
  std::size_t left, right, rank;
};
constexpr MatmulOp kLinear = {"linear", 0, 1, 0};
constexpr MatmulOp kMatmulOps[] = {{"mm", 0, 1, 2},
                                   {"_scaled_mm", 0, 1, 2},
                                   {"_int_mm", 0, 1, 2},
                                   {"addmm", 1, 2, 2},
                                   {"_addmm_activation", 1, 2, 2},
                                   {"bmm", 0, 1, 3},
                                   {"baddbmm", 1, 2, 3},
                                   kLinear};

std::optional<MatmulSizes> own_matmul(const MatmulOp& op, const OpInputs& inputs) {
  return op.name == kLinear.name ? linear(inputs) : matrices(inputs, op.left, op.right, op.rank);
}

// Which input of an op is the query, followed by key and value; its axes are batch, heads, length and head,
// or batch, length, heads and head.
struct AttentionOp {
  std::string_view name;
  std::size_t query;
  bool has_heads_first, is_backward;
};
constexpr AttentionOp kAttentionOps[] = {
    {"scaled_dot_product_attention", 0, true, false},
    {"_scaled_dot_product_flash_attention", 0, true, false},
    {"_scaled_dot_product_flash_attention_backward", 1, true, true},
    {"_scaled_dot_product_efficient_attention", 0, true, false},
    {"_scaled_dot_product_efficient_attention_backward", 1, true, true},
    {"_scaled_dot_product_cudnn_attention", 0, true, false},
    {"_scaled_dot_product_cudnn_attention_backward", 1, true, true},
    {"_flash_attention_forward", 0, false, false},
    {"_flash_attention_backward", 1, false, true},
    {"_efficient_attention_forward", 0, false, false},
    {"_efficient_attention_backward", 1, false, true},
    {"flash_attn::_flash_attn_forward", 0, false, false},
    {"flash_attn::_flash_attn_backward", 1, false, true},
};

std::int64_t multiplied(std::span<const std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product = saturating_mul(product, size);
  return product;
}

std::int64_t saturating_total(std::initializer_list<std::int64_t> numbers) {
  SaturatingSum sum;
  for (const std::int64_t number : numbers) sum += number;
  return sum;
}

OpWork matmul_work(const MatmulSizes& matmul) {
  const auto& [batch, m, n, k, type] = matmul;
  return {.flops = multiplied(std::array{std::int64_t{2}, batch, m, n, k}),
          .bytes = multiplied(std::array{
              std::int64_t{bytes_of_type(type)}, batch,
              saturating_total({saturating_mul(m, k), saturating_mul(k, n), saturating_mul(m, n)})}),
          .dtype = dtype_of_type(type)};
}

// Forward: scores and their values, two matmuls. Backward: the scores again, and the gradients of scores,
// query, key and value.
std::optional<OpWork> attention_work(const AttentionOp& op, const OpInputs& inputs) {
  if (inputs.sizes.size() < op.query + 3) return std::nullopt;
  const Sizes &query = inputs.sizes[op.query], &key = inputs.sizes[op.query + 1],
              &value = inputs.sizes[op.query + 2];
  if (query.size() != 4 || key.size() != 4 || value.size() != 4) return std::nullopt;
  const std::size_t length = op.has_heads_first ? 2 : 1, heads = op.has_heads_first ? 1 : 2;
  if (query[0] != key[0] || query[3] != key[3] || key[length] != value[length]) return std::nullopt;
  const std::int64_t head = op.is_backward ? 3 * query[3] : query[3];
  const std::int64_t value_head = op.is_backward ? 2 * value[3] : value[3];
  const std::string_view type = op.query < inputs.types.size() ? inputs.types[op.query] : std::string_view();
  const std::int64_t result = multiplied(std::array{query[0], query[length], query[heads], value[3]});
  return OpWork{.flops = multiplied(std::array{std::int64_t{2}, query[0], query[heads], query[length],
                                               key[length], saturating_add(head, value_head)}),
                .bytes = multiplied(std::array{
                    std::int64_t{bytes_of_type(type)}, std::int64_t{op.is_backward ? 2 : 1},
                    saturating_total({multiplied(query), multiplied(key), multiplied(value), result})}),
                .dtype = dtype_of_type(type)};
}

// One number for each axis, or one for all of them.
std::optional<std::int64_t> of_axis(const Sizes& numbers, std::size_t axis) {
  if (numbers.size() == 1) return numbers[0];
  if (axis >= numbers.size()) return std::nullopt;
  return numbers[axis];
}

OpWork convolution_work(const Sizes& input, const Sizes& weight, std::int64_t result_elements,
                        std::int64_t positions, std::int64_t gradients, std::string_view type) {
  // Each position is multiplied with each weight of one channel of the other side.
  const std::int64_t weights = multiplied(std::span(weight).subspan(1));
  return {.flops = multiplied(std::array{std::int64_t{2}, gradients, positions, weights}),
          .bytes = multiplied(
              std::array{std::int64_t{bytes_of_type(type)}, gradients,
                         saturating_total({multiplied(input), multiplied(weight), result_elements})}),
          .dtype = dtype_of_type(type)};
}

// input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
std::optional<OpWork> convolution(const OpInputs& inputs, const std::vector<std::string>& concrete) {
  if (inputs.sizes.size() < 2 || concrete.size() < 8) return std::nullopt;
  const Sizes &input = inputs.sizes[0], &weight = inputs.sizes[1];
  if (input.size() < 3 || input.size() != weight.size()) return std::nullopt;
  Sizes stride, padding, dilation, output_padding;
  const bool are_known = ListReader(concrete[3]).read(stride) && ListReader(concrete[4]).read(padding) &&
                         ListReader(concrete[5]).read(dilation) &&
                         ListReader(concrete[7]).read(output_padding);
  const bool is_transposed = concrete[6] == "True";
  if (!are_known || (!is_transposed && concrete[6] != "False")) return std::nullopt;
  Sizes result{input[0], is_transposed ? weight[1] : weight[0]};  // transposed: of one group
  for (std::size_t axis = 0; axis + 2 < input.size(); ++axis) {
    const auto step = of_axis(stride, axis), pad = of_axis(padding, axis), spread = of_axis(dilation, axis),
               more = of_axis(output_padding, axis);
    if (!step || *step == 0 || !pad || !spread || !more || weight[axis + 2] == 0) return std::nullopt;
    const std::int64_t reach = saturating_add(saturating_mul(*spread, weight[axis + 2] - 1), 1);
    const std::int64_t padded = input[axis + 2] + 2 * *pad;
    if (!is_transposed && padded < reach) return std::nullopt;
    const std::int64_t size =
        is_transposed
            ? saturating_total({saturating_mul(input[axis + 2] - 1, *step), -2 * *pad, reach, *more})
            : (padded - reach) / *step + 1;
    if (size < 0) return std::nullopt;
    result.push_back(size);
  }
  const std::string_view type = inputs.types.empty() ? std::string_view() : inputs.types[0];
  const std::int64_t elements = multiplied(result);
  return convolution_work(input, weight, elements, is_transposed ? multiplied(input) : elements, 1, type);
}

// grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
// output_mask: which of the gradients of input, weight and bias are computed.
std::optional<OpWork> convolution_backward(const OpInputs& inputs, const std::vector<std::string>& concrete) {
  if (inputs.sizes.size() < 3 || concrete.size() < 11) return std::nullopt;
  const Sizes &result = inputs.sizes[0], &input = inputs.sizes[1], &weight = inputs.sizes[2];
  if (input.size() < 3 || input.size() != weight.size() || result.size() != input.size()) return std::nullopt;
  const std::string_view mask = concrete[10];
  if (!mask.starts_with('[')) return std::nullopt;
  const std::size_t first = mask.find(','), second = mask.find(',', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const std::int64_t gradients =
      (mask.substr(0, first).find("True") != std::string_view::npos ? 1 : 0) +
      (mask.substr(first, second - first).find("True") != std::string_view::npos ? 1 : 0);
  const std::string_view type = inputs.types.empty() ? std::string_view() : inputs.types[0];
  const std::int64_t positions = multiplied(concrete[7] == "True" ? input : result);
  return convolution_work(input, weight, multiplied(result), positions, gradients, type);
}

constexpr std::string_view kConvolutionBackward = "convolution_backward";
constexpr std::string_view kConvolutions[] = {"convolution", "_convolution"};

struct KnownType {
  std::string_view name, dtype;
  int bytes;
};
const KnownType* find_type(std::string_view name) {
  static constexpr KnownType kTypes[] = {
      {"float", "f32", 4},
      {"double", "f64", 8},
      {"c10::Half", "f16", 2},
      {"c10::BFloat16", "bf16", 2},
      {"c10::Float8_e4m3fn", "f8e4m3", 1},
      {"c10::Float8_e5m2", "f8e5m2", 1},
      {"c10::Float8_e4m3fnuz", "f8e4m3", 1},
      {"c10::Float8_e5m2fnuz", "f8e5m2", 1},
      {"signed char", "i8", 1},
      {"unsigned char", "u8", 1},
      {"bool", "bool", 1},
      {"short", "i16", 2},
      {"short int", "i16", 2},
      {"int", "i32", 4},
      {"long", "i64", 8},
      {"long int", "i64", 8},
  };
  for (const KnownType& known : kTypes) {
    if (known.name == name) return &known;
  }
  return nullptr;
}
}  // namespace

int bytes_of_type(std::string_view type) {
  const KnownType* known = find_type(type);
  return known == nullptr ? 0 : known->bytes;
}
std::string_view dtype_of_type(std::string_view type) {
  const KnownType* known = find_type(type);
  return known == nullptr ? std::string_view() : known->dtype;
}

double MatmulSizes::bytes() const {
  const auto area = [](std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  return static_cast<double>(batch) * bytes_of_type(type) * (area(m, k) + area(k, n) + area(m, n));
}

std::optional<OpInputs> inputs_of(const Model& model, EventId op) {
  if (op == kNoEvent) return std::nullopt;
  const OpShapes* shapes = model.events().shapes(op);
  if (shapes == nullptr) return std::nullopt;
  const Names& names = model.events().names;
  OpInputs inputs;
  if (!ListReader(names[shapes->sizes]).read(inputs.sizes)) return std::nullopt;
  if (!ListReader(names[shapes->strides]).read(inputs.strides)) inputs.strides.clear();
  if (!ListReader(names[shapes->types]).read(inputs.types)) inputs.types.clear();
  return inputs;
}

std::optional<MatmulSizes> matmul_of(const Model& model, EventId op) {
  for (int level = 0; op != kNoEvent && level < kMaxLevelsUp; ++level, op = model.parent(op)) {
    const auto* const at =
        std::ranges::find(kMatmulOps, without_namespace(model.events().name(op)), &MatmulOp::name);
    if (at == std::end(kMatmulOps)) continue;
    const auto inputs = inputs_of(model, op);
    if (!inputs) continue;
    if (auto matmul = own_matmul(*at, *inputs)) return matmul;
  }
  return std::nullopt;
}

WorkKind work_kind_of(std::string_view op) {
  const std::string_view name = without_namespace(op);
  if (std::ranges::find(kMatmulOps, name, &MatmulOp::name) != std::end(kMatmulOps)) return WorkKind::Matmul;
  if (std::ranges::find(kAttentionOps, name, &AttentionOp::name) != std::end(kAttentionOps))
    return WorkKind::Attention;
  if (std::ranges::find(kConvolutions, name) != std::end(kConvolutions)) return WorkKind::Convolution;
  return name == kConvolutionBackward ? WorkKind::ConvolutionBackward : WorkKind::None;
}

std::optional<OpWork> work_of(const Model& model, EventId op) {
  const EventTable& events = model.events();
  const std::string_view name = without_namespace(events.name(op));
  const WorkKind kind = work_kind_of(name);
  if (kind == WorkKind::None) return std::nullopt;
  const auto inputs = inputs_of(model, op);
  if (!inputs) return std::nullopt;
  if (kind == WorkKind::Matmul) {
    const auto matmul = own_matmul(*std::ranges::find(kMatmulOps, name, &MatmulOp::name), *inputs);
    return matmul ? std::optional(matmul_work(*matmul)) : std::nullopt;
  }
  if (kind == WorkKind::Attention)
    return attention_work(*std::ranges::find(kAttentionOps, name, &AttentionOp::name), *inputs);
  const ConcreteInputs* recorded = events.concrete_inputs(op);
  std::vector<std::string> concrete;
  if (recorded == nullptr || !ListReader(events.names[recorded->text]).read(concrete)) return std::nullopt;
  return kind == WorkKind::Convolution ? convolution(*inputs, concrete)
                                       : convolution_backward(*inputs, concrete);
}

std::optional<Misalignment> misalignment_of(const MatmulSizes& matmul) {
  constexpr std::int64_t kAlignmentBytes =
      16;  // of a row: those of A and B have k or n elements, the result's have n
  const int bytes = bytes_of_type(matmul.type);
  if (bytes == 0 || bytes > 2) return std::nullopt;
  Misalignment found{.axes = {}, .multiple = kAlignmentBytes / bytes};
  for (const auto& [axis, size] : {std::pair("n", matmul.n), std::pair("k", matmul.k)}) {
    if (size % found.multiple != 0)
      found.axes += fmt::format("{}{} = {}", found.axes.empty() ? "" : ", ", axis, size);
  }
  if (found.axes.empty()) return std::nullopt;
  return found;
}

}  // namespace pel::doctor
