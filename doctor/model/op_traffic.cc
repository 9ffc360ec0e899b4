#include "doctor/model/op_traffic.h"

#include <algorithm>

#include "doctor/model/saturating.h"

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

bool moves_each_operand_once(KernelFamily family) {
  switch (family) {
    case KernelFamily::Elementwise:
    case KernelFamily::Reduction:
    case KernelFamily::Norm:
    case KernelFamily::Softmax:
    case KernelFamily::Copy:
    case KernelFamily::Fill:
      return true;
    default:
      return false;
  }
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

std::optional<std::int64_t> bytes_moved(const Model& model, EventId op, KernelFamily family) {
  const std::string_view name = model.events().name(op);
  if (!moves_each_operand_once(family) || !name.starts_with("aten::") || contains(name, "convolution"))
    return std::nullopt;
  const auto inputs = inputs_of(model, op);
  if (!inputs) return std::nullopt;
  struct Moved {
    const Sizes* sizes;
    std::int64_t elements;  // in memory: axes of stride 0 repeat what is there
    std::int64_t item_bytes;
  };
  std::vector<Moved> operands;
  Sizes result;
  for (std::size_t i = 0; i < inputs->sizes.size(); ++i) {
    const Sizes& sizes = inputs->sizes[i];
    const int bytes = i < inputs->types.size() ? bytes_of_type(inputs->types[i]) : 0;
    if (bytes == 0 || sizes.empty()) continue;
    const Sizes* strides = i < inputs->strides.size() && inputs->strides[i].size() == sizes.size()
                               ? &inputs->strides[i]
                               : nullptr;
    std::int64_t elements = 1;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (strides == nullptr || (*strides)[axis] != 0) elements = saturating_mul(elements, sizes[axis]);
    }
    operands.push_back({&sizes, elements, bytes});
    broadcast(result, sizes);
  }
  if (operands.empty()) return std::nullopt;
  const auto all_elements = [](const Sizes& sizes) {
    std::int64_t elements = 1;
    for (const std::int64_t size : sizes) elements = saturating_mul(elements, size);
    return elements;
  };
  SaturatingSum read;
  std::int64_t item = 0, max_elements = 0;
  bool is_elementwise = true;
  for (const Moved& operand : operands) {
    read += saturating_mul(operand.elements, operand.item_bytes);
    item = std::max(item, operand.item_bytes);
    max_elements = std::max(max_elements, all_elements(*operand.sizes));
    for (std::size_t axis = 0; axis < operand.sizes->size(); ++axis) {
      const std::int64_t size = (*operand.sizes)[axis];
      is_elementwise &= size == 1 || size == result[result.size() - operand.sizes->size() + axis];
    }
  }
  if (name == "aten::copy_" && operands.size() == 2)  // to the first, from the second
    return saturating_add(saturating_mul(all_elements(*operands[0].sizes), operands[0].item_bytes),
                          saturating_mul(operands[1].elements, operands[1].item_bytes));
  if (family == KernelFamily::Reduction) return read;
  if (leaves_truths(name)) item = 1;
  return read + saturating_mul(item, is_elementwise ? all_elements(result) : max_elements);
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
