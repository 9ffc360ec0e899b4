#include "doctor/model/op_cost.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "doctor/readers/blanks.h"
#include "doctor/readers/decimal_time.h"

namespace pel::doctor {
namespace {

constexpr int kMaxLevelsUp = 4;

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
    if (auto matmul =
            at->name == kLinear.name ? linear(*inputs) : matrices(*inputs, at->left, at->right, at->rank))
      return matmul;
  }
  return std::nullopt;
}

}  // namespace pel::doctor
