// RowFusion, in this order:
//   find_rows      all row calls reduce the same axes of the same sizes, in one type
//   find_levels    a value has one element for each element of a row, or one for the row
//   check_parts    operands and formulas that a row kernel can have
//   number_folds   the reductions of all calls, and values that are computed from them, in one list
//   count_costs    operations an element of each value takes
//   find_stages    elements that are computed once and stored, because several loops read them
//   build          the expressions of folds, stages and outputs
// The first six are `check`, which fuse_rows calls for each candidate; `build` runs once for a fused node.
#include "compile/row_loops.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "base/check.h"
#include "dispatch/pointwise.h"
#include "dispatch/rows.h"

namespace pel::compiler {
namespace {

using scalar::ScalarBuilder;
using scalar::ScalarExpr;
using scalar::ScalarNode;
using scalar::ScalarOp;
using scalar::Term;

// Operations on an element that several loops may each compute; a value that costs more is computed once and
// stored.
constexpr std::size_t kMaxInLoops = 12;

// Whether `values` can represent each value of `stored`.
bool holds(DType values, DType stored) {
  if (values == stored) return true;
  if (!is_floating(values) || !is_floating(stored)) return false;
  return values == kF64 || (values == kF32 && stored != kF64);
}

class RowFusion {
 public:
  RowFusion(const Graph& graph, const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs,
            const std::vector<FusedCall>& calls)
      : graph_(graph), inputs_(inputs), outputs_(outputs), calls_(calls) {}

  // Why not, or empty.
  const std::string& check() {
    if (!find_rows() || !find_levels() || !check_parts()) return reason_;
    number_folds();
    count_costs();
    find_stages();
    by_columns_ = std::ranges::any_of(calls_, [](const FusedCall& call) {
      const RowCall* rows = std::get_if<RowCall>(&call);
      return rows != nullptr && rows->is_by_columns;
    });
    if (folds_.size() > kMaxRowFolds) {
      refuse(fmt::format("they reduce to {} values, and a row kernel to at most {}", folds_.size(),
                         kMaxRowFolds));
    } else if (stages_.size() > kMaxRowStages) {
      refuse(
          fmt::format("{} of their values would be stored between reductions, and a row kernel stores at "
                      "most {}",
                      stages_.size(), kMaxRowStages));
    } else if (by_columns_ && (!stages_.empty() || !saving_.empty() || recomputes_elements())) {
      refuse("neighbours in memory belong to different rows: elements would be computed or read twice");
    }
    return reason_;
  }

  // After check.
  RowLoops build() const {
    RowLoops loops;
    loops.value = value_;
    for (const ValueId id : inputs_) loops.inputs.push_back(graph_[id].dtype);
    for (std::size_t f = 0; f < folds_.size(); ++f) loops.folds.push_back(fold_at(f));
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const Stage& stage = stages_[s];
      RowLoops::Stage& stored = loops.stages.emplace_back();
      stored.dtype = stage.dtype;
      stored.after = stage.after;
      if (stage.after == folds_.size() || loops.folds[stage.after].stage != static_cast<int>(s)) {
        Terms t;
        begin(t, Reads::Elements, stage.after);
        t.own_stage = s;
        stored.body = finish(t, staged_term(t, s));
      }
      const auto output = stage.value ? std::ranges::find(outputs_, *stage.value) : outputs_.end();
      stored.output = output == outputs_.end() ? -1 : static_cast<int>(output - outputs_.begin());
    }
    for (const ValueId id : outputs_) {
      RowLoops::Output& output = loops.outputs.emplace_back();
      const bool is_element = level_.at(id.number) == Level::Element;
      output.kind = is_element ? RowOutput::Kind::Row : RowOutput::Kind::Value;
      output.dtype = graph_[id].dtype;
      if (stage_of_.contains(id.number)) continue;
      Terms t;
      begin(t, is_element ? Reads::Elements : Reads::Values, folds_.size());
      output.body = finish(t, term_of(t, id));
    }
    return loops;
  }

 private:
  enum class Level : std::uint8_t { Element, Row };
  // One value that is reduced, or computed from those before it.
  struct FoldPart {
    std::size_t call;
    std::size_t fold = 0;  // of a RowCall
  };

  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  bool same_sizes(const std::vector<Dim>& a, const std::vector<Dim>& b) const {
    return std::ranges::equal(a, b, [&](Dim x, Dim y) { return graph_.sizes->is_known_equal(x, y); });
  }

  bool find_rows() {
    for (const FusedCall& call : calls_) {
      const RowCall* rows = std::get_if<RowCall>(&call);
      if (rows == nullptr) continue;
      const std::vector<Dim>& sizes = rows->sizes;
      const DType value = rows->program->value_type(rows->compute);
      if (first_ == nullptr) {
        first_ = rows;
        sizes_ = sizes;
        value_ = value;
      }
      if (rows->reduced != first_->reduced || !same_sizes(sizes, sizes_)) return refuse("their rows differ");
      if (value != value_)
        return refuse(fmt::format("one reduces values of {} and the other of {}", name(value_), name(value)));
      for (const RowOutput& output : rows->program->outputs)
        if (output.kind == RowOutput::Kind::Index) return refuse("it finds the index of a value");
    }
    return first_ != nullptr || refuse("none of them is a row reduction");
  }

  bool is_produced(ValueId id) const { return producer_.contains(id.number); }

  bool find_levels() {
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      if (const RowCall* rows = std::get_if<RowCall>(&calls_[c])) {
        for (std::size_t o = 0; o < rows->outputs.size(); ++o) {
          if (!rows->outputs[o]) continue;
          const bool is_row = rows->program->outputs[o].kind == RowOutput::Kind::Row;
          level_[rows->outputs[o]->number] = is_row ? Level::Element : Level::Row;
          producer_[rows->outputs[o]->number] = {c, o};
        }
        continue;
      }
      const ElementwiseCall& loop = std::get<ElementwiseCall>(calls_[c]);
      bool is_of_row = false, reads_elements = false;
      for (const ElementwiseInput& input : loop.inputs) {
        if (!input.value) continue;
        const bool is_row = is_produced(*input.value) && level_[input.value->number] == Level::Row;
        (is_row ? is_of_row : reads_elements) = true;
      }
      const Level level = is_of_row && !reads_elements ? Level::Row : Level::Element;
      level_[loop.output.number] = level;
      producer_[loop.output.number] = {c, 0};
      if (level == Level::Element && graph_[loop.output].sizes.size() > sizes_.size())
        return refuse("their rows differ");
      if (level == Level::Row && !same_sizes(graph_[loop.output].sizes, row_sizes(loop.output)))
        return refuse("a value of a row would be broadcast");
    }
    for (const ValueId id : outputs_) {
      if (level_.at(id.number) == Level::Element && !same_sizes(graph_[id].sizes, sizes_))
        return refuse(
            fmt::format("%{} has fewer elements than the rows, and other calls consume it", id.number));
    }
    return true;
  }
  // Sizes of a value that each row has one of, with the rank of `like`.
  std::vector<Dim> row_sizes(ValueId like) const {
    const bool with_ones = graph_[like].sizes.size() == sizes_.size();
    std::vector<Dim> sizes;
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
      const bool is_reduced = first_->reduced >> axis & 1;
      if (!is_reduced) sizes.push_back(sizes_[axis]);
      if (is_reduced && with_ones) sizes.emplace_back(1);
    }
    return sizes;
  }

  bool check_parts() {
    if (inputs_.size() > kMaxRowInputs || outputs_.size() > kMaxRowOutputs)
      return refuse(
          fmt::format("together they have {} inputs and {} outputs, and a row kernel at most {} and {}",
                      inputs_.size(), outputs_.size(), kMaxRowInputs, kMaxRowOutputs));
    for (const ValueId made : outputs_) {
      for (const ValueId read : inputs_)
        if (graph_[made].storage == graph_[read].storage)
          return refuse("it would overwrite an input that it still reads");
    }
    for (const FusedCall& call : calls_) {
      const ElementwiseCall* loop = std::get_if<ElementwiseCall>(&call);
      if (loop == nullptr || loop->facts == nullptr) continue;
      const ScalarExpr expr = make_expr(*loop->facts, loop->computation.formula, loop->computation.dtype);
      for (const ScalarNode& node : expr.nodes) {
        if ((node.op == ScalarOp::Div || node.op == ScalarOp::Rem) && !is_floating(node.type))
          return refuse("an integer division reports a divisor of 0, which a row kernel cannot");
      }
    }
    return true;
  }

  // Folds of the calls in their order. A value of a row that elementwise loops read is computed once a row.
  void number_folds() {
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      folds_before_.push_back(folds_.size());
      if (const RowCall* rows = std::get_if<RowCall>(&calls_[c])) {
        for (std::size_t f = 0; f < rows->program->folds.size(); ++f) folds_.push_back({c, f});
        continue;
      }
      const ValueId made = std::get<ElementwiseCall>(calls_[c]).output;
      if (level_.at(made.number) != Level::Row || !holds(value_, graph_[made].dtype) || !elements_read(made))
        continue;
      derived_[made.number] = folds_.size();
      folds_.push_back({c, 0});
    }
    folds_before_.push_back(folds_.size());
  }
  bool elements_read(ValueId id) const {
    for (const FusedCall& call : calls_) {
      if (const RowCall* rows = std::get_if<RowCall>(&call)) {
        if (std::ranges::find(rows->inputs, id) != rows->inputs.end()) return true;
        continue;
      }
      const ElementwiseCall& loop = std::get<ElementwiseCall>(call);
      if (level_.at(loop.output.number) != Level::Element) continue;
      for (const ElementwiseInput& input : loop.inputs)
        if (input.value && *input.value == id) return true;
    }
    return false;
  }

  // Operations that an element of each value takes if nothing is stored.
  void count_costs() {
    const auto cost_of = [&](ValueId id) { return is_produced(id) ? cost_[id.number] : std::size_t{0}; };
    for (const FusedCall& call : calls_) {
      if (const RowCall* rows = std::get_if<RowCall>(&call)) {
        std::size_t inputs = 0;
        for (const ValueId id : rows->inputs) inputs += cost_of(id);
        for (std::size_t o = 0; o < rows->outputs.size(); ++o) {
          if (!rows->outputs[o] || level_.at(rows->outputs[o]->number) != Level::Element) continue;
          cost_[rows->outputs[o]->number] =
              inputs + output_expr(*rows->program, o, rows->compute).nodes.size();
        }
        continue;
      }
      const ElementwiseCall& loop = std::get<ElementwiseCall>(call);
      std::size_t cost = operations_of(loop);
      for (const ElementwiseInput& input : loop.inputs) cost += input.value ? cost_of(*input.value) : 0;
      cost_[loop.output.number] = cost;
    }
  }

  // From the last value to the first: how many loops compute it, and whether it is stored for them.
  void find_stages() {
    std::unordered_map<std::uint32_t, std::size_t> loops;  // that read it
    const auto is_output = [&](ValueId id) { return std::ranges::find(outputs_, id) != outputs_.end(); };
    std::vector<std::pair<std::size_t, std::uint32_t>> found;  // the number of its call, the value
    const auto decide = [&](std::size_t call, ValueId id) -> std::size_t {
      const std::size_t others = loops[id.number];
      const bool is_stored = (is_output(id) && others > 0) || (others > 1 && cost_[id.number] > kMaxInLoops);
      if (is_stored && same_sizes(graph_[id].sizes, sizes_)) {
        found.emplace_back(call, id.number);
        return 1;
      }
      return others + (is_output(id) ? 1 : 0);
    };
    for (std::size_t c = calls_.size(); c-- > 0;) {
      if (const RowCall* rows = std::get_if<RowCall>(&calls_[c])) {
        std::size_t consumers = 0;
        for (const RowFold& fold : rows->program->folds) consumers += fold.element ? 1 : 0;
        for (const std::optional<ValueId>& output : rows->outputs) {
          if (!output || level_.at(output->number) != Level::Element) continue;
          consumers += decide(c, *output);
        }
        for (const ValueId id : rows->inputs) loops[id.number] += consumers;
        if (rows->program->keeps >= 0) saving_.push_back(c);
        continue;
      }
      const ElementwiseCall& loop = std::get<ElementwiseCall>(calls_[c]);
      if (level_.at(loop.output.number) == Level::Row) continue;
      const std::size_t consumers = decide(c, loop.output);
      for (const ElementwiseInput& input : loop.inputs)
        if (input.value) loops[input.value->number] += consumers;
    }
    // In the order in which they can be computed. Elements of a fold that are read again come before its
    // call's rows.
    std::ranges::sort(found);
    std::ranges::sort(saving_);
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      if (std::ranges::find(saving_, c) != saving_.end()) {
        const auto fold =
            folds_before_[c] + static_cast<std::size_t>(std::get<RowCall>(calls_[c]).program->keeps);
        stage_of_fold_[fold] = stages_.size();
        stages_.push_back({fold, std::nullopt, value_});
      }
      for (const auto& [call, value] : found) {
        if (call != c) continue;
        stage_of_[value] = stages_.size();
        stages_.push_back({folds_before_[c + 1], ValueId{value}, graph_.values[value].dtype});
      }
    }
  }

  bool recomputes_elements() const {
    std::size_t count = 0;
    for (const FusedCall& call : calls_) {
      const RowCall* rows = std::get_if<RowCall>(&call);
      if (rows == nullptr) continue;
      for (const RowFold& fold : rows->program->folds) count += fold.element ? 1 : 0;
    }
    for (const ValueId id : outputs_) count += level_.at(id.number) == Level::Element ? 1 : 0;
    return count > 1 && has_prologue();
  }
  // Whether an element of a fold is more than an input.
  bool has_prologue() const {
    for (const FusedCall& call : calls_) {
      if (const RowCall* rows = std::get_if<RowCall>(&call))
        for (const ValueId id : rows->inputs)
          if (is_produced(id) && level_.at(id.number) == Level::Element) return true;
    }
    return false;
  }

  // One expression under construction.
  struct Terms {
    ScalarBuilder builder;
    std::vector<Term> inputs, stages, values;
    std::optional<Term> count;
    std::vector<std::vector<Term>> numbers;  // of each call
    std::unordered_map<std::uint32_t, Term> known;
    std::optional<std::size_t> own_stage;
  };
  enum class Reads : std::uint8_t { Values, Elements };

  void begin(Terms& t, Reads reads, std::size_t values) const {
    if (reads == Reads::Elements) {
      for (const ValueId id : inputs_) t.inputs.push_back(t.builder.input(graph_[id].dtype));
      for (const Stage& stage : stages_) t.stages.push_back(t.builder.input(stage.dtype));
    }
    for (std::size_t v = 0; v < values; ++v) t.values.push_back(t.builder.input(value_));
    t.count = t.builder.param(value_);
    for (const FusedCall& call : calls_) {
      std::vector<Term>& numbers = t.numbers.emplace_back();
      if (const RowCall* rows = std::get_if<RowCall>(&call)) {
        for (int i = 0; i < rows->program->param_count; ++i) numbers.push_back(t.builder.param(value_));
        continue;
      }
      const ElementwiseCall& loop = std::get<ElementwiseCall>(call);
      for (const ElementwiseInput& input : loop.inputs)
        if (!input.value) numbers.push_back(t.builder.param(input.dtype));
      for (int i = 0; loop.facts != nullptr && i < loop.facts->param_count; ++i)
        numbers.push_back(t.builder.param(value_type(loop.computation.dtype)));
    }
  }
  static ScalarExpr finish(Terms& t, Term result) { return t.builder.finish({&result, 1}); }
  static ScalarExpr finish(Terms& t, Term result, Term also) {
    const Term both[] = {result, also};
    return t.builder.finish({both, 2});
  }

  Term term_of(Terms& t, ValueId id) const {
    if (const auto found = t.known.find(id.number); found != t.known.end()) return found->second;
    const Term made = make_term(t, id);
    t.known.emplace(id.number, made);
    return made;
  }
  Term make_term(Terms& t, ValueId id) const {
    const auto producer = producer_.find(id.number);
    if (producer == producer_.end())
      return t.inputs[static_cast<std::size_t>(std::ranges::find(inputs_, id) - inputs_.begin())];
    if (const auto stage = stage_of_.find(id.number);
        stage != stage_of_.end() && t.own_stage != stage->second)
      return t.stages[stage->second];
    if (const auto derived = derived_.find(id.number);
        derived != derived_.end() && derived->second < t.values.size())
      return cast(t.values[derived->second], graph_[id].dtype);
    const auto [c, o] = producer->second;
    if (const RowCall* rows = std::get_if<RowCall>(&calls_[c])) {
      const RowOutput& output = rows->program->outputs[o];
      RowTerms terms = row_terms(t, c, rows->program->folds.size(), output.kind == RowOutput::Kind::Row);
      if (output.kind == RowOutput::Kind::Row && rows->program->keeps >= 0) {
        const std::size_t fold = folds_before_[c] + static_cast<std::size_t>(rows->program->keeps);
        terms.kept.push_back(t.stages[stage_of_fold_.at(fold)]);
      }
      return cast(output.formula(terms), rows->program->stored_output(o, rows->compute));
    }
    return loop_value(t, c);
  }
  Term loop_value(Terms& t, std::size_t c) const {
    const ElementwiseCall& loop = std::get<ElementwiseCall>(calls_[c]);
    std::size_t next = 0;
    return element_term(
        loop, graph_[loop.output].dtype,
        [&](const ElementwiseInput& input) { return term_of(t, *input.value); },
        [&](DType) { return t.numbers[c][next++]; });
  }

  // The terms that the formulas of a call are over, with the first `folded` of its own values.
  RowTerms row_terms(Terms& t, std::size_t c, std::size_t folded, bool with_elements) const {
    const RowCall& rows = std::get<RowCall>(calls_[c]);
    RowTerms terms{{}, {}, t.numbers[c], {}, *t.count, rows.compute};
    for (std::size_t i = 0; with_elements && i < rows.inputs.size(); ++i) {
      const DType stored = rows.program->stored_input(static_cast<int>(i), rows.compute);
      terms.in.push_back(cast(cast(term_of(t, rows.inputs[i]), stored),
                              rows.program->casts_elements ? value_ : value_type(stored)));
    }
    for (std::size_t f = 0; f < folded; ++f) terms.values.push_back(t.values[folds_before_[c] + f]);
    return terms;
  }

  Term element_of(Terms& t, std::size_t fold) const {
    const auto [c, f] = folds_[fold];
    return std::get<RowCall>(calls_[c]).program->folds[f].element(row_terms(t, c, f, true));
  }

  Term staged_term(Terms& t, std::size_t s) const {
    return stages_[s].value ? term_of(t, *stages_[s].value) : element_of(t, stages_[s].after);
  }
  // The stage that the loop of a fold computes too: the last one before it, if it reads that.
  std::optional<std::size_t> stage_in_loop(std::size_t f) const {
    const RowCall* rows = std::get_if<RowCall>(&calls_[folds_[f].call]);
    std::optional<std::size_t> last;
    for (std::size_t s = 0; s < stages_.size(); ++s)
      if (stages_[s].after == f) last = s;
    if (!last || !stages_[*last].value) return last;
    if (rows == nullptr || stage_of_fold_.contains(f)) return std::nullopt;
    return std::ranges::find(rows->inputs, *stages_[*last].value) == rows->inputs.end() ? std::nullopt : last;
  }
  RowLoops::Fold fold_at(std::size_t f) const {
    RowLoops::Fold fold;
    const auto [c, number] = folds_[f];
    Terms finished;
    begin(finished, Reads::Values, f + 1);
    const RowCall* rows = std::get_if<RowCall>(&calls_[c]);
    if (rows == nullptr) {  // a value that is computed from others
      finished.values.pop_back();
      fold.finish = finish(finished, cast(loop_value(finished, c), value_));
      return fold;
    }
    const RowFold& facts = rows->program->folds[number];
    fold.kind = facts.kind;
    if (facts.finish) fold.finish = finish(finished, facts.finish(row_terms(finished, c, number + 1, false)));
    if (!facts.element) return fold;
    Terms t;
    begin(t, Reads::Elements, f);
    if (const std::optional<std::size_t> stage = stage_in_loop(f)) {
      t.own_stage = stage;
      const Term stored = staged_term(t, *stage);
      fold.stage = static_cast<int>(*stage);
      fold.element = finish(t, stages_[*stage].value ? element_of(t, f) : stored, stored);
    } else {
      const auto own = stage_of_fold_.find(f);
      fold.element = finish(t, own == stage_of_fold_.end() ? element_of(t, f) : t.stages[own->second]);
    }
    if (!by_columns_) return fold;
    Terms after;
    const Term before = after.builder.input(value_);
    begin(after, Reads::Elements, f);
    fold.accumulate = finish(after, combine(facts.kind, before, element_of(after, f)));
    return fold;
  }

  struct Stage {
    std::size_t after;             // this many folds
    std::optional<ValueId> value;  // none: the elements of fold `after`
    DType dtype;
  };

  const Graph& graph_;
  const std::vector<ValueId>&inputs_, &outputs_;
  const std::vector<FusedCall>& calls_;
  std::string reason_;
  bool by_columns_ = false;
  const RowCall* first_ = nullptr;
  std::vector<Dim> sizes_;
  DType value_{};
  std::unordered_map<std::uint32_t, Level> level_;  // of values produced here
  std::unordered_map<std::uint32_t, std::pair<std::size_t, std::size_t>> producer_;  // call and its output
  std::vector<FoldPart> folds_;
  std::vector<std::size_t> folds_before_;  // each call
  std::unordered_map<std::uint32_t, std::size_t> derived_, cost_, stage_of_;
  std::map<std::size_t, std::size_t> stage_of_fold_;
  std::vector<std::size_t> saving_;  // calls that read elements of a fold a second time
  std::vector<Stage> stages_;
};

}  // namespace

std::string why_rows_cannot_fuse(const Graph& graph, const std::vector<ValueId>& inputs,
                                 const std::vector<ValueId>& outputs, const std::vector<FusedCall>& calls) {
  return RowFusion(graph, inputs, outputs, calls).check();
}

LoopSource source_of(const Graph& graph, const GraphNode& fused, const std::vector<FusedCall>& calls) {
  LoopSource source{.name = fused.name};
  if (fused.kind == NodeKind::FusedRows) {
    std::vector<ValueId> inputs, outputs;
    for (const GraphArg& arg : fused.args) inputs.push_back(std::get<ValueId>(arg));
    for (const GraphArg& result : fused.results) outputs.push_back(std::get<ValueId>(result));
    RowFusion fusion(graph, inputs, outputs, calls);
    const std::string& reason = fusion.check();
    PEL_CHECK(reason.empty(), InternalError, "{}: {}", fused.name, reason);
    source.rows = fusion.build();
    return source;
  }
  std::vector<ElementwiseCall> loops;
  for (const FusedCall& call : calls) loops.push_back(std::get<ElementwiseCall>(call));
  source.body = fused_expression(graph, fused, loops);
  return source;
}

}  // namespace pel::compiler
