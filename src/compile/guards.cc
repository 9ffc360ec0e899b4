#include "compile/guards.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// Replaces each symbol of a text of sizes, as "4*s0 + s12", by f(number).
template <class F>
std::string with_symbols(const std::string& text, F&& f) {
  std::string replaced;
  for (std::size_t i = 0; i < text.size();) {
    const auto is_digit = [&](std::size_t at) {
      return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
    };
    const bool begins = text[i] == 's' && is_digit(i + 1);
    if (!begins) {
      replaced += text[i++];
      continue;
    }
    std::size_t number = 0;
    for (++i; is_digit(i); ++i) number = 10 * number + static_cast<std::size_t>(text[i] - '0');
    replaced += f(number);
  }
  return replaced;
}

}  // namespace

std::vector<std::size_t> symbols_in(const std::string& text) {
  std::vector<std::size_t> symbols;
  with_symbols(text, [&](std::size_t symbol) {
    symbols.push_back(symbol);
    return "";
  });
  return symbols;
}

std::string words_of(const SymbolSource& source) {
  if (source.what == SymbolSource::What::Number) return source.name;
  return fmt::format("{}axis {} of input {}", source.what == SymbolSource::What::Size ? "" : "the stride of ",
                     source.axis, source.input);
}

std::string words_of(const Graph& graph, const SizeGuard& guard) {
  const auto words = [&](Dim dim) {
    return with_symbols(graph.sizes->text(dim), [&](std::size_t symbol) {
      return symbol < graph.symbols.size() ? words_of(graph.symbols[symbol]) : fmt::format("s{}", symbol);
    });
  };
  Dim left = guard.left, right = guard.right;
  using Relation = detail::DimRelation;
  // A number comes last: "axis 0 must be at least 3", not "3 must be at most axis 0".
  const bool is_swapped = !left.is_symbolic();
  if (is_swapped) std::swap(left, right);
  std::string_view must;
  switch (guard.relation) {
    case Relation::Eq:
      must = right.is_symbolic() ? "equal" : "be";
      break;
    case Relation::Ne:
      must = right.is_symbolic() ? "differ from" : "not be";
      break;
    case Relation::Lt:
      must = is_swapped ? "be greater than" : "be less than";
      break;
    case Relation::Le:
      must = is_swapped ? "be at least" : "be at most";
      break;
  }
  return fmt::format("{} must {} {}", words(left), must, words(right));
}

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
        return fail([&] {
          return fmt::format("inputs {} and {} are {}the same tensor", j, i, is_same ? "" : "not ");
        });
      if (!is_same && t.shares_storage(given[j]))
        return fail([&] { return fmt::format("inputs {} and {} share memory", j, i); });
    }
    if (gradient_kind(t) != wanted.gradient)
      return fail(
          [&] { return fmt::format("input {} {}, unlike at capture", i, gradient_words(gradient_kind(t))); });
    if (!fits_layout(t, wanted.layout))
      return fail([&] {
        return fmt::format(
            "input {} has sizes {} and strides {}, a layout that differs from the captured one", i,
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
  // A gradient has the sizes of its leaf, which are not symbols of its own.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const GraphValue& value = graph[graph.inputs[i]];
    for (std::size_t axis = 0; axis < value.sizes.size(); ++axis) {
      const std::int64_t wanted = value.sizes[axis].is_symbolic()
                                      ? graph.sizes->evaluate(value.sizes[axis], symbols)
                                      : value.sizes[axis].value();
      if (given[i].sizes()[axis].value() != wanted)
        return fail([&] {
          return fmt::format("input {}, a gradient, has sizes {}, and its leaf has others", i,
                             to_string(given[i].sizes()));
        });
    }
  }
  if (!sizes_fit(graph, symbols, reason)) return std::nullopt;
  return symbols;
}

bool Guards::sizes_fit(const Graph& graph, const std::vector<std::int64_t>& symbols, std::string* reason) {
  // A guard that divides by a size does not hold if that size is 0.
  const auto is_met = [&](const SizeGuard& guard) {
    try {
      return holds(guard.relation, graph.sizes->evaluate(guard.left, symbols),
                   graph.sizes->evaluate(guard.right, symbols));
    } catch (const ValueError&) {
      return false;
    }
  };
  for (const SizeGuard& guard : graph.sizes->guards()) {
    if (is_met(guard)) continue;
    if (reason != nullptr) {
      std::vector<std::string> values;
      for (const std::size_t symbol : symbols_in(graph.sizes->text(guard)))
        values.push_back(fmt::format("s{} is {}", symbol, symbols[symbol]));
      *reason = fmt::format("{}: {} ({}, and {})", words_of(graph, guard), guard.source,
                            graph.sizes->text(guard), fmt::join(values, ", "));
    }
    return false;
  }
  return true;
}

}  // namespace pel::compiler
