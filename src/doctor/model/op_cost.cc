#include "doctor/model/op_cost.h"

#include <algorithm>
#include <array>

#include <simdjson.h>

namespace pel::doctor {
namespace {

constexpr int kMostLevelsUp = 4;

// Sizes of traces may be anything: beyond this, products of them would overflow.
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;

bool read_sizes(simdjson::dom::element element, Sizes& to) {
  simdjson::dom::array list;
  if (element.get(list) != simdjson::SUCCESS) return false;
  for (const simdjson::dom::element item : list) {
    std::int64_t size;
    if (item.get(size) != simdjson::SUCCESS) return item.is_array() && to.empty() && read_sizes(item, to);
    if (size < 0 || size > kMostSize) return false;
    to.push_back(size);
  }
  return true;
}

std::optional<ProductSizes> matrices(const OpInputs& inputs, std::size_t a, std::size_t b, std::size_t rank) {
  if (inputs.sizes.size() <= std::max(a, b)) return std::nullopt;
  const Sizes &left = inputs.sizes[a], &right = inputs.sizes[b];
  if (left.size() != rank || right.size() != rank || left[rank - 1] != right[rank - 2]) return std::nullopt;
  ProductSizes product{.m = left[rank - 2], .n = right[rank - 1], .k = left[rank - 1], .type = {}};
  if (rank == 3) product.batch = left[0];
  if (a < inputs.types.size()) product.type = inputs.types[a];
  return product;
}

// input [.., k], weight [n, k]
std::optional<ProductSizes> linear(const OpInputs& inputs) {
  if (inputs.sizes.size() < 2 || inputs.sizes[0].empty() || inputs.sizes[1].size() != 2) return std::nullopt;
  const Sizes &input = inputs.sizes[0], &weight = inputs.sizes[1];
  if (input.back() != weight[1]) return std::nullopt;
  ProductSizes product{.m = 1, .n = weight[0], .k = weight[1], .type = {}};
  for (std::size_t i = 0; i + 1 < input.size(); ++i) {
    if (input[i] != 0 && product.m > kMostSize / input[i]) return std::nullopt;
    product.m *= input[i];
  }
  if (!inputs.types.empty()) product.type = inputs.types[0];
  return product;
}

// Which inputs of an op are the matrices, and of how many axes; linear is none of them.
struct ProductOp {
  std::string_view name;
  std::size_t left, right, rank;
};
constexpr ProductOp kLinear = {"linear", 0, 1, 0};
constexpr ProductOp kProductOps[] = {{"mm", 0, 1, 2},
                                     {"_scaled_mm", 0, 1, 2},
                                     {"_int_mm", 0, 1, 2},
                                     {"addmm", 1, 2, 2},
                                     {"_addmm_activation", 1, 2, 2},
                                     {"bmm", 0, 1, 3},
                                     {"baddbmm", 1, 2, 3},
                                     kLinear};

// [[2, 3], [], [3]]
std::vector<Sizes> read_lists(simdjson::dom::array list) {
  std::vector<Sizes> lists;
  for (const simdjson::dom::element item : list) {
    if (!read_sizes(item, lists.emplace_back())) lists.back().clear();
  }
  return lists;
}

}  // namespace

namespace {
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

double ProductSizes::bytes() const {
  const auto area = [](std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  return static_cast<double>(batch) * bytes_of_type(type) * (area(m, k) + area(k, n) + area(m, n));
}

std::optional<OpInputs> inputs_of(const Model& model, EventId op) {
  if (op == kNoEvent) return std::nullopt;
  const OpShapes* shapes = model.events().shapes(op);
  if (shapes == nullptr) return std::nullopt;
  thread_local simdjson::dom::parser parser;
  OpInputs inputs;
  simdjson::dom::array list;
  if (parser.parse(std::string(model.events().names[shapes->sizes])).get(list) != simdjson::SUCCESS)
    return std::nullopt;
  inputs.sizes = read_lists(list);
  if (parser.parse(std::string(model.events().names[shapes->strides])).get(list) == simdjson::SUCCESS)
    inputs.strides = read_lists(list);
  if (parser.parse(std::string(model.events().names[shapes->types])).get(list) == simdjson::SUCCESS) {
    for (const simdjson::dom::element item : list) {
      std::string_view type;
      inputs.types.emplace_back(item.get(type) == simdjson::SUCCESS ? type : std::string_view());
    }
  }
  return inputs;
}

std::optional<ProductSizes> product_of(const Model& model, EventId op) {
  for (int level = 0; op != kNoEvent && level < kMostLevelsUp; ++level, op = model.parent(op)) {
    const auto* const at =
        std::ranges::find(kProductOps, without_namespace(model.events().name(op)), &ProductOp::name);
    if (at == std::end(kProductOps)) continue;
    const auto inputs = inputs_of(model, op);
    if (!inputs) continue;
    if (auto product =
            at->name == kLinear.name ? linear(*inputs) : matrices(*inputs, at->left, at->right, at->rank))
      return product;
  }
  return std::nullopt;
}

}  // namespace pel::doctor
