#include "compile/explain.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/source_location.h"

namespace pel::compiler {
namespace {

using Explained = CompileExplanation;

std::string place_of(const Site& site) { return site.line() == 0 ? "" : short_location(site); }

std::string words_of(const SymbolSource& source) {
  return fmt::format("the {} of axis {} of input {}",
                     source.what == SymbolSource::What::Size ? "size" : "stride", source.axis, source.input);
}

// f(number) for each symbol of a text of sizes, as "4*s0 + s12", gives what stands in its place.
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

class GraphExplanation {
 public:
  GraphExplanation(const CompiledGraph& compiled, const Plan& plan, const std::vector<std::int64_t>& symbols)
      : compiled_(compiled), graph_(compiled.graph), plan_(plan), symbols_(symbols) {}

  Explained::Graph run() {
    for (std::size_t i = 0; i < graph_.symbols.size(); ++i)
      made_.symbols.push_back({fmt::format("s{}", i), words_of(graph_.symbols[i]), symbols_[i]});
    add_guards();
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) add_input(i);
    for (const PlannedKernel& kernel : plan_.planned_kernels()) add_kernel(kernel);
    for (const Decision& d : compiled_.why.decisions) {
      auto& list = d.kind == Decision::Kind::Refused ? made_.not_fused : made_.decisions;
      list.push_back({d.pass, d.what, d.reason, place_of(d.site)});
    }
    made_.arena_bytes = plan_.arena_bytes();
    made_.result_bytes = plan_.result_bytes();
    made_.peak_bytes = plan_.peak_bytes();
    return std::move(made_);
  }

 private:
  void add_guards() {
    for (const SizeGuard& guard : graph_.sizes->guards()) {
      const std::string condition = graph_.sizes->text(guard);
      std::vector<std::size_t>& names = guard_symbols_.emplace_back();
      std::string words = with_symbols(condition, [&](std::size_t symbol) {
        names.push_back(symbol);
        return symbol < made_.symbols.size() ? made_.symbols[symbol].words : fmt::format("s{}", symbol);
      });
      constexpr std::pair<std::string_view, std::string_view> kSigns[] = {
          {" == ", " is "}, {" != ", " is not "}, {" <= ", " is at most "}, {" < ", " is less than "}};
      for (const auto& [sign, said] : kSigns) {
        if (const std::size_t at = words.find(sign); at != std::string::npos) {
          words.replace(at, sign.size(), said);
          break;
        }
      }
      made_.guards.push_back({condition, words, place_of(guard.site)});
    }
  }

  std::string dim_text(Dim dim) const {
    return dim.is_symbolic() ? graph_.sizes->text(dim) : std::to_string(dim.value());
  }
  std::string type_of(ValueId id) const {
    const GraphValue& value = graph_[id];
    std::vector<std::string> sizes;
    for (const Dim size : value.sizes) sizes.push_back(dim_text(size));
    return fmt::format("{}[{}]", name(value.dtype), fmt::join(sizes, ", "));
  }

  void add_input(std::size_t number) {
    Explained::Input& input = made_.inputs.emplace_back();
    const ValueId id = graph_.inputs[number];
    input.type = type_of(id);
    std::vector<std::string> said;
    for (std::size_t axis = 0; axis < graph_[id].sizes.size(); ++axis) {
      Explained::Axis& a = input.axes.emplace_back();
      a.size = dim_text(graph_[id].sizes[axis]);
      with_symbols(a.size, [&](std::size_t symbol) {
        for (std::size_t g = 0; g < guard_symbols_.size(); ++g)
          if (std::ranges::find(guard_symbols_[g], symbol) != guard_symbols_[g].end()) a.guards.push_back(g);
        return "";
      });
      if (a.guards.empty()) {
        said.push_back(fmt::format("axis {} may have any size", axis));
        continue;
      }
      std::vector<std::string> asked;
      for (const std::size_t g : a.guards) {
        const Explained::Guard& guard = made_.guards[g];
        asked.push_back(guard.place.empty() ? guard.condition
                                            : fmt::format("{} (asked by {})", guard.condition, guard.place));
      }
      said.push_back(fmt::format("axis {}, {}, must keep {}", axis, a.size, fmt::join(asked, " and ")));
    }
    const InputClass& kind = compiled_.guards.inputs[number];
    if (kind.same_as) said.push_back(fmt::format("it must be the tensor that input {} is", *kind.same_as));
    said.push_back(kind.layout.is_dense ? "another dtype, rank, device or order of strides compiles again"
                                        : "another dtype, rank, device or order of strides compiles again, "
                                          "and so does one without gaps");
    input.forecast = fmt::format("{}", fmt::join(said, "; "));
  }

  Explained::Call call_of(const GraphNode& node) const {
    std::vector<std::string> args, results;
    for (const GraphArg& arg : node.args) args.push_back(to_string(arg, *graph_.sizes));
    for (const GraphArg& result : node.results) results.push_back(to_string(result, *graph_.sizes));
    return {fmt::format("{}{}{}({})", fmt::join(results, ", "), results.empty() ? "" : " = ", node.label(),
                        fmt::join(args, ", ")),
            place_of(node.site)};
  }

  Explained::Value value_of(ValueId id) const {
    const GraphValue& value = graph_[id];
    std::int64_t factor = size_bytes(value.dtype), bytes = factor;
    std::string symbolic;
    for (const Dim size : value.sizes) {
      bytes *= graph_.sizes->evaluate(size, symbols_);
      if (!size.is_symbolic()) {
        factor *= size.value();
        continue;
      }
      const std::string text = dim_text(size);
      symbolic += text.find(' ') == std::string::npos ? "*" + text : fmt::format("*({})", text);
    }
    return {fmt::format("%{}", id.number), type_of(id), std::to_string(factor) + symbolic, bytes};
  }

  void add_kernel(const PlannedKernel& planned) {
    const GraphNode& node = graph_.nodes[planned.node];
    Explained::Kernel& kernel = made_.kernels.emplace_back();
    kernel.name = planned.name;
    kernel.bytes_read = planned.bytes_read;
    kernel.bytes_written = planned.bytes_written;
    kernel.reason = planned.reason;
    if (!node.is_fused() || !planned.is_whole_node) {
      kernel.calls.push_back(call_of(node));
      return;
    }
    for (const GraphNode& inner : node.body) {
      kernel.calls.push_back(call_of(inner));
      for (const GraphArg& result : inner.results) {
        for_values(result, [&](ValueId id) {
          const bool is_given = std::ranges::any_of(
              node.results, [&](const GraphArg& given) { return std::get<ValueId>(given) == id; });
          if (!is_given) kernel.saved.push_back(value_of(id));
        });
      }
    }
  }

  const CompiledGraph& compiled_;
  const Graph& graph_;
  const Plan& plan_;
  const std::vector<std::int64_t>& symbols_;
  Explained::Graph made_;
  std::vector<std::vector<std::size_t>> guard_symbols_;
};

}  // namespace

CompileExplanation::Graph explain(const CompiledGraph& compiled, const Plan& plan,
                                  const std::vector<std::int64_t>& symbols) {
  return GraphExplanation(compiled, plan, symbols).run();
}

}  // namespace pel::compiler
