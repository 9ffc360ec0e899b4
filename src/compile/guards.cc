#include "compile/guards.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/sort_stably.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

bool holds(detail::DimRelation relation, std::int64_t left, std::int64_t right) {
  switch (relation) {
    case detail::DimRelation::Eq:
      return left == right;
    case detail::DimRelation::Ne:
      return left != right;
    case detail::DimRelation::Lt:
      return left < right;
    case detail::DimRelation::Le:
      return left <= right;
  }
  return false;
}

enum class SizeOne { Any, Counts };  // the strides of axes of size 1

// Whether strides are those of a dense tensor whose axes lie in `order`.
bool is_dense_in(const Tensor& tensor, const std::vector<std::uint32_t>& order, SizeOne size_one) {
  std::int64_t next = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    const std::int64_t size = tensor.sizes()[*axis].value();
    const bool counts = size != 1 || size_one == SizeOne::Counts;
    if (counts && tensor.strides()[*axis].value() != next) return false;
    next *= std::max<std::int64_t>(size, 1);
  }
  return true;
}

std::vector<std::uint32_t> row_major(const Tensor& tensor) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(tensor.dim()));
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

// From the longest stride to the shortest, and of equal ones an axis of size 1 last, as in a dense tensor.
std::vector<std::uint32_t> by_stride(const Tensor& tensor) {
  std::vector<std::uint32_t> order = row_major(tensor);
  sort_stably(order, [&](std::uint32_t a, std::uint32_t b) {
    const std::int64_t left = tensor.strides()[a].value(), right = tensor.strides()[b].value();
    return left != right ? left > right : tensor.sizes()[a].value() != 1 && tensor.sizes()[b].value() == 1;
  });
  return order;
}

// The same, but axes of size 1 stay where they are.
std::vector<std::uint32_t> by_stride_of_others(const Tensor& tensor) {
  std::vector<std::uint32_t> order = row_major(tensor);
  const auto must_swap = [&](std::uint32_t a, std::uint32_t b) {
    const bool counts = tensor.sizes()[a].value() != 1 && tensor.sizes()[b].value() != 1;
    return counts && tensor.strides()[a].value() < tensor.strides()[b].value();
  };
  for (std::size_t end = order.size(); end > 1; --end) {
    for (std::size_t i = 0; i + 1 < end; ++i)
      if (must_swap(order[i], order[i + 1])) std::swap(order[i], order[i + 1]);
  }
  return order;
}

// The order in which all strides are those of a dense tensor, row-major if there are several.
std::optional<std::vector<std::uint32_t>> dense_order(const Tensor& tensor) {
  for (const auto& order : {row_major(tensor), by_stride(tensor)})
    if (is_dense_in(tensor, order, SizeOne::Counts)) return order;
  return std::nullopt;
}

}  // namespace

InputLayout layout_of(const Tensor& tensor) {
  if (const auto order = dense_order(tensor)) return {*order, true, {}};
  for (const auto& order : {row_major(tensor), by_stride_of_others(tensor)})
    if (is_dense_in(tensor, order, SizeOne::Any)) return {order, true, {}};
  InputLayout layout{by_stride_of_others(tensor), false, {}};
  for (std::uint32_t axis = 0; axis < layout.order.size(); ++axis)
    if (tensor.sizes()[axis].value() != 1 && tensor.strides()[axis].value() == 0)
      layout.repeated.push_back(axis);
  return layout;
}

bool fits_layout(const Tensor& tensor, const InputLayout& layout) {
  if (!layout.is_dense) return layout_of(tensor) == layout;
  return is_dense_in(tensor, layout.order, dense_order(tensor) ? SizeOne::Counts : SizeOne::Any);
}

std::optional<std::vector<std::int64_t>> Guards::match(const Graph& graph, ArrayView<Tensor> given,
                                                       std::string* reason) const {
  const auto fail = [&](auto&& text) -> std::optional<std::vector<std::int64_t>> {
    if (reason != nullptr) *reason = text();
    return std::nullopt;
  };
  if (given.size() != inputs.size())
    return fail([&] { return fmt::format("{} inputs, captured with {}", given.size(), inputs.size()); });
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputClass& wanted = inputs[i];
    const GraphValue& value = graph[graph.inputs[i]];
    const Tensor& t = given[i];
    if (static_cast<std::size_t>(t.dim()) != value.sizes.size())
      return fail([&] {
        return fmt::format("input {} has rank {}, captured with {}", i, t.dim(), value.sizes.size());
      });
    if (t.dtype() != wanted.dtype)
      return fail([&] {
        return fmt::format("input {} is {}, captured as {}", i, name(t.dtype()), name(wanted.dtype));
      });
    if (t.device() != wanted.device)
      return fail([&] {
        return fmt::format("input {} is on {}, captured on {}", i, to_string(t.device()),
                           to_string(wanted.device));
      });
    for (std::size_t j = 0; j < i; ++j) {
      const bool is_same = t.is_same(given[j]), was_same = wanted.same_as == j;
      if (is_same != was_same && !(is_same && wanted.same_as))
        return fail(
            [&] { return fmt::format("inputs {} and {} are {}one tensor", j, i, is_same ? "" : "not "); });
      if (!is_same && t.shares_storage(given[j]))
        return fail([&] { return fmt::format("inputs {} and {} are views of one memory", j, i); });
    }
    if (gradient_kind(t) != wanted.gradient)
      return fail([&] {
        return fmt::format("input {} requires a gradient otherwise than at capture, or has it from elsewhere",
                           i);
      });
    if (!fits_layout(t, wanted.layout))
      return fail([&] {
        return fmt::format("input {} has sizes {} and strides {}, another layout than captured", i,
                           to_string(t.sizes()), to_string(t.strides()));
      });
  }
  std::vector<std::int64_t> symbols;
  symbols.reserve(graph.symbols.size());
  for (const SymbolSource& source : graph.symbols) {
    const Tensor& t = given[source.input];
    symbols.push_back(
        (source.what == SymbolSource::What::Size ? t.sizes() : t.strides())[source.axis].value());
  }
  // A gradient has the sizes of its leaf, which are no symbols of its own.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const GraphValue& value = graph[graph.inputs[i]];
    for (std::size_t axis = 0; axis < value.sizes.size(); ++axis) {
      const std::int64_t wanted = value.sizes[axis].is_symbolic()
                                      ? graph.sizes->evaluate(value.sizes[axis], symbols)
                                      : value.sizes[axis].value();
      if (given[i].sizes()[axis].value() != wanted)
        return fail([&] {
          return fmt::format("gradient {} has sizes {}, other than its leaf", i, to_string(given[i].sizes()));
        });
    }
  }
  // A guard that divides by a size does not hold where that size is 0.
  const auto is_met = [&](const SizeGuard& guard) {
    try {
      return holds(guard.relation, graph.sizes->evaluate(guard.left, symbols),
                   graph.sizes->evaluate(guard.right, symbols));
    } catch (const ValueError&) {
      return false;
    }
  };
  for (const SizeGuard& guard : graph.sizes->guards()) {
    if (!is_met(guard))
      return fail([&] {
        return fmt::format("{} does not hold, which {}:{} asked", graph.sizes->text(guard),
                           guard.site.file_name(), guard.site.line());
      });
  }
  return symbols;
}

}  // namespace pel::compiler
