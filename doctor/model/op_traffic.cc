#include "doctor/model/op_traffic.h"

#include <algorithm>

namespace pel::doctor {
namespace {

double elements_of(const Sizes& sizes) {
  double elements = 1;
  for (const std::int64_t size : sizes) elements *= static_cast<double>(size);
  return elements;
}

// [16, 559, 1024] to [16, 559, 1], or to [16, 559].
bool reduces_to(const Sizes& from, const Sizes& to) {
  if (from.size() == to.size() + 1) {
    const auto [left, right] = std::ranges::mismatch(from, to);
    return std::equal(left + 1, from.end(), right, to.end());
  }
  if (from.size() != to.size() || from == to) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (to[i] != from[i] && to[i] != 1) return false;
  }
  return true;
}

// Strides of axes of size 1 say nothing.
bool same_layout(const Sizes& sizes, const Sizes& a, const Sizes& b) {
  if (a.size() != sizes.size() || b.size() != sizes.size()) return true;  // not known
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && a[i] != b[i]) return false;
  }
  return true;
}

bool leaves_truths(std::string_view op) {
  static constexpr std::string_view kOps[] = {
      "eq", "ne", "lt", "le", "gt", "ge", "isnan", "logical_not", "logical_and", "logical_or", "logical_xor"};
  return std::ranges::find(kOps, without_namespace(op)) != std::end(kOps);
}

void broadcast(Sizes& result, const Sizes& sizes) {
  if (sizes.size() > result.size()) result.insert(result.begin(), sizes.size() - result.size(), 1);
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    std::int64_t& size = result[result.size() - sizes.size() + axis];
    size = std::max(size, sizes[axis]);
  }
}

}  // namespace

std::optional<Traffic> traffic_of(const Model& model, EventId op, KernelFamily family) {
  const auto inputs = inputs_of(model, op);
  if (!inputs) return std::nullopt;
  const auto item_bytes = [&](std::size_t i) {
    return i < inputs->types.size() ? bytes_of_type(inputs->types[i]) : 0;
  };
  Traffic traffic;
  int item = 0;
  for (std::size_t i = 0; i < inputs->sizes.size(); ++i) {
    const Sizes& sizes = inputs->sizes[i];
    const int bytes = item_bytes(i);
    if (bytes == 0 || sizes.empty()) continue;
    traffic.read_bytes += bytes * elements_of(sizes);
    item = std::max(item, bytes);
    broadcast(traffic.result, sizes);
    traffic.inputs.push_back({sizes, i < inputs->strides.size() ? inputs->strides[i] : Sizes()});
  }
  if (traffic.result.empty()) return std::nullopt;
  traffic.reduces = family == KernelFamily::Reduction;
  if (leaves_truths(model.events().name(op))) item = 1;
  traffic.written_bytes = traffic.reduces ? 0 : item * elements_of(traffic.result);
  if (model.events().name(op) == "aten::copy_" &&
      traffic.inputs.size() == 2) {  // to the first, from the second
    traffic.written_bytes = item_bytes(0) * elements_of(inputs->sizes[0]);
    traffic.read_bytes = item_bytes(1) * elements_of(inputs->sizes[1]);
    traffic.result_strides = traffic.inputs[0].strides;
    traffic.inputs.erase(traffic.inputs.begin());
  }
  return traffic;
}

std::ptrdiff_t times_taken(const Traffic& last, const Traffic& next) {
  return std::ranges::count_if(next.inputs, [&](const Operand& input) {
    if (last.reduces) return reduces_to(last.result, input.sizes);
    return input.sizes == last.result && same_layout(input.sizes, input.strides, last.result_strides);
  });
}

bool may_read(const MatmulSizes& matmul, const Sizes& result) {
  const auto is = [&](std::int64_t rows, std::int64_t columns) {
    const double elements =
        static_cast<double>(matmul.batch) * static_cast<double>(rows) * static_cast<double>(columns);
    return elements == elements_of(result);
  };
  return is(matmul.m, matmul.k) || is(matmul.k, matmul.n);
}

}  // namespace pel::doctor
