#include "doctor/compare/diff.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "base/readable.h"
#include "base/sort_stably.h"
#include "doctor/analyses/sums.h"
#include "doctor/compare/kernel_changes.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

constexpr double kSameStep = 0.005;   // so close are steps that take the same time
constexpr double kWorthSaying = 5;    // percent of the difference
constexpr double kOtherProgram = 30;  // percent of activities in ops of both; below, the programs may be two

struct Side {
  const StepSummary& step;
  const std::string& label;
  std::int64_t kernels = 0;  // of the step
  SaturatingSum kernel_ns;

  Side(const StepSummary& of, const std::string& name) : step(of), label(name) {
    for (std::uint32_t w = 0; w < of.activities.size(); ++w) {
      if (!of.kernel_of(w).is_kernel()) continue;
      ++kernels;
      kernel_ns += of.activities[w].duration_ns;
    }
  }
};

std::string signed_ns(std::int64_t ns) { return (ns < 0 ? "−" : "+") + readable_ns(std::abs(ns)); }

std::string times_text(double ratio) { return fmt::format("{:.2f}×", ratio); }

// What a part that saves time, or costs it, goes with.
std::string why_part(const TimePart& part, const Side& before, const Side& after) {
  const auto why = [&](std::string_view one, std::string_view many, std::int64_t count_before,
                       std::int64_t count_after) {
    const bool goes_with =
        (count_after < count_before) == (part.difference_ns() < 0) && count_after != count_before;
    return goes_with ? fmt::format("; {} {} instead of {}", count_after, count_after == 1 ? one : many,
                                   count_before)
                     : std::string();
  };
  if (part.key == "dispatch") return why("launch", "launches", before.step.launches, after.step.launches);
  if (part.key == "kernels") return why("kernel", "kernels", before.kernels, after.kernels);
  return "";
}

std::string sentence_of_step(const Side& before, const Side& after) {
  const auto old_ns = static_cast<double>(before.step.time.total()),
             new_ns = static_cast<double>(after.step.time.total());
  const std::string times =
      fmt::format("{} of device time in a step instead of {}", readable_ns(new_ns), readable_ns(old_ns));
  if (old_ns == new_ns)
    return fmt::format("{} takes the same time: {} of device time in a step.", after.label,
                       readable_ns(new_ns));
  if (std::abs(new_ns - old_ns) <= kSameStep * old_ns)
    return fmt::format("{} takes about the same time: {}.", after.label, times);
  return new_ns < old_ns
             ? fmt::format("{} is {} faster: {}.", after.label, times_text(old_ns / new_ns), times)
             : fmt::format("{} is {} slower: {}.", after.label, times_text(new_ns / old_ns), times);
}

// What the difference comes from, and what counteracts it.
std::string sentence_of_parts(const std::vector<TimePart>& parts, const Side& before, const Side& after) {
  const std::int64_t total = after.step.time.total() - before.step.time.total();
  std::vector<const TimePart*> order;
  for (const TimePart& part : parts) order.push_back(&part);
  sort_stably(order, [&](const TimePart* a, const TimePart* b) {
    return std::abs(a->difference_ns()) > std::abs(b->difference_ns());
  });
  std::string from, against;
  for (const TimePart* part : order) {
    const double share = percent_of(part->difference_ns(), total);
    if (std::abs(share) < kWorthSaying) continue;
    std::string& text = share > 0 ? from : against;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} ({}, {:.0f} %{})", part->label, signed_ns(part->difference_ns()), std::abs(share),
                        why_part(*part, before, after));
  }
  std::string sentence =
      fmt::format("It {1} {0}: {2}.", readable_ns(std::abs(total)), total < 0 ? "saves" : "costs", from);
  if (!against.empty()) sentence += fmt::format(" In the other direction: {}.", against);
  return sentence;
}

Table parts_table(const std::vector<TimePart>& parts, const Side& before, const Side& after) {
  Table table{.key = "parts",
              .title = "parts of the difference",
              .columns = {{"part", "part", Unit::None, true},
                          {"before_ns", before.label, Unit::Nanoseconds},
                          {"after_ns", after.label, Unit::Nanoseconds},
                          {"difference_ns", "difference", Unit::Nanoseconds},
                          {"share_percent", ""},  // of the difference; may be negative, and beyond 100
                          {"key", ""}},
              .rows = {}};
  const std::int64_t total = after.step.time.total() - before.step.time.total();
  for (const TimePart& part : parts)
    table.rows.push_back({std::string(part.label), part.before_ns, part.after_ns, part.difference_ns(),
                          percent_of(part.difference_ns(), total) + 0.0,  // no negative zero
                          std::string(part.key)});
  table.rows.push_back({std::string("all"), before.step.time.total(), after.step.time.total(), total,
                        total == 0 ? 0.0 : 100.0, std::string("all")});
  table.shown = table.rows.size();
  return table;
}

struct OpSum {
  std::int64_t runs_before = 0, runs_after = 0, activities_before = 0, activities_after = 0;
  SaturatingSum ns_before, ns_after;
  std::int64_t difference_ns() const { return ns_after - ns_before; }
  bool is_same() const {
    return runs_before == runs_after && activities_before == activities_after && difference_ns() == 0;
  }
};

std::map<std::string_view, OpSum> op_sums(const Side& before, const OpTree& tree_before, const Side& after,
                                          const OpTree& tree_after, const CommonNames& names) {
  std::map<std::string_view, OpSum> sums;
  const auto add = [&](const Side& side, const OpTree& tree, std::int64_t OpSum::* runs,
                       std::int64_t OpSum::* activities, SaturatingSum OpSum::* ns) {
    for (const std::uint32_t thread : tree.threads) {
      for (const std::uint32_t op : tree.nodes[thread].children) {
        OpSum& sum = sums[names[tree.nodes[op].name]];
        ++(sum.*runs);
        std::vector<std::uint32_t> of_op;
        tree.add_activities_of(op, of_op);
        sum.*activities += static_cast<std::int64_t>(of_op.size());
        for (const std::uint32_t w : of_op) sum.*ns += side.step.activities[w].duration_ns;
      }
    }
  };
  add(before, tree_before, &OpSum::runs_before, &OpSum::activities_before, &OpSum::ns_before);
  add(after, tree_after, &OpSum::runs_after, &OpSum::activities_after, &OpSum::ns_after);
  return sums;
}

Finding ops_finding(const Side& before, const OpTree& tree_before, const Side& after,
                    const OpTree& tree_after, const CommonNames& names, const Alignment& alignment) {
  std::int64_t aligned = 0, activities = 0;
  for (const Counterpart& part : alignment.parts) {
    const auto count = static_cast<std::int64_t>(part.before.size() + part.after.size());
    activities += count;
    if (part.is_aligned) aligned += count;
  }
  const auto sums = op_sums(before, tree_before, after, tree_after, names);
  Finding finding{.key = "diff_ops", .title = "Ops that changed"};
  finding.facts = {{"aligned", "activities in ops of both", percent_of(aligned, activities), Unit::Percent},
                   {"is_in_order", "aligned by order", !alignment.is_by_count}};
  if (activities != 0 && percent_of(aligned, activities) < kOtherProgram)
    finding.sentences.push_back(
        fmt::format("Only {:.0f} % of the activities belong to ops that both traces have: eager and "
                    "compiled, or two programs.",
                    percent_of(aligned, activities)));
  if (alignment.is_by_count)
    finding.sentences.emplace_back(
        "The order of the ops differs too much to align them: ops of the same name are compared in order.");
  Table table{.key = "ops",
              .title = "outermost ops, by change of kernel time",
              .columns = {{"difference_ns", "difference", Unit::Nanoseconds},
                          {"before_ns", before.label, Unit::Nanoseconds},
                          {"after_ns", after.label, Unit::Nanoseconds},
                          {"runs_before", "runs", Unit::Count},
                          {"runs_after", "now", Unit::Count},
                          {"activities_before", "activities", Unit::Count},
                          {"activities_after", "now", Unit::Count},
                          {"op", "op", Unit::None, true}},
              .rows = {}};
  for (const auto& [op, sum] : by_largest(sums, [](const OpSum& s) { return std::abs(s.difference_ns()); })) {
    if (sum->is_same()) continue;
    table.rows.push_back({sum->difference_ns(), sum->ns_before, sum->ns_after, sum->runs_before,
                          sum->runs_after, sum->activities_before, sum->activities_after, std::string(*op)});
  }
  if (table.rows.empty()) finding.sentences.emplace_back("No op changed.");
  finding.tables.push_back(std::move(table));
  return finding;
}

Finding kernels_finding(const Side& before, const Side& after, const std::vector<KernelChange>& changes) {
  const auto text_of = [](const StepKernel* kernel, std::string StepKernel::* text) {
    return kernel == nullptr ? Value() : Value(kernel->*text);
  };
  Finding finding{.key = "diff_kernels", .title = "Kernels that changed"};
  std::array<OpSum, 6> kinds{};
  Table table{.key = "kernels",
              .title = "by change of time; = is the same name",
              .columns = {{"change", "change"},
                          {"difference_ns", "difference", Unit::Nanoseconds},
                          {"before_ns", before.label, Unit::Nanoseconds},
                          {"after_ns", after.label, Unit::Nanoseconds},
                          {"count_before", "runs", Unit::Count},
                          {"count_after", "now", Unit::Count},
                          {"before", "kernel"},
                          {"after", "now"},
                          {"chain", "launched by", Unit::None, true},
                          {"is_same_name", ""},
                          {"name_before", ""},
                          {"name_after", ""}},
              .rows = {}};
  for (const KernelChange& change : changes) {
    OpSum& sum = kinds[static_cast<std::size_t>(change.kind)];
    sum.activities_before += change.count_before;
    sum.activities_after += change.count_after;
    sum.ns_before += change.ns_before;
    sum.ns_after += change.ns_after;
    if (change.kind == ChangeKind::Same) continue;
    const bool has_both = change.before != nullptr && change.after != nullptr;
    const bool is_same_name = has_both && change.kind != ChangeKind::Replaced;
    table.rows.push_back(
        {std::string(name(change.kind)), change.difference_ns(), change.ns_before, change.ns_after,
         change.count_before, change.count_after, text_of(change.before, &StepKernel::title),
         is_same_name ? Value(std::string("=")) : text_of(change.after, &StepKernel::title), change.chain,
         is_same_name, text_of(change.before, &StepKernel::name), text_of(change.after, &StepKernel::name)});
  }
  Table summary{.key = "changes",
                .title = "by kind",
                .columns = {{"change", "change", Unit::None, true},
                            {"count_before", "runs", Unit::Count},
                            {"count_after", "now", Unit::Count},
                            {"before_ns", before.label, Unit::Nanoseconds},
                            {"after_ns", after.label, Unit::Nanoseconds},
                            {"difference_ns", "difference", Unit::Nanoseconds}},
                .rows = {}};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const OpSum& sum = kinds[i];
    if (sum.activities_before + sum.activities_after == 0) continue;
    summary.rows.push_back({std::string(name(static_cast<ChangeKind>(i))), sum.activities_before,
                            sum.activities_after, sum.ns_before, sum.ns_after, sum.difference_ns()});
  }
  if (table.rows.empty()) finding.sentences.emplace_back("No kernel changed.");
  finding.tables.push_back(std::move(summary));
  finding.tables.push_back(std::move(table));
  return finding;
}

}  // namespace

std::vector<TimePart> time_parts(const TimeShares& before, const TimeShares& after) {
  std::vector<TimePart> parts{
      {"kernels", "kernels and copies", before.busy_ns - before.communication_ns,
       after.busy_ns - after.communication_ns},
      {"communication", "exposed collectives", before.communication_ns, after.communication_ns}};
  const auto add_idle = [&](std::string_view key, std::string_view label, IdleCause cause) {
    parts.push_back({key, label, before.idle(cause), after.idle(cause)});
  };
  add_idle("dispatch", "waiting for dispatch", IdleCause::Dispatch);
  add_idle("sync", "idle after syncs", IdleCause::Sync);
  add_idle("input", "waiting for input", IdleCause::Input);
  TimePart rest{"other", "other idle", before.total(), after.total()};
  for (const TimePart& part : parts) {
    rest.before_ns = saturating_sub(rest.before_ns, part.before_ns);
    rest.after_ns = saturating_sub(rest.after_ns, part.after_ns);
  }
  parts.push_back(rest);
  return parts;
}

std::vector<Finding> compare(const StepSummary& before, const StepSummary& after,
                             const CompareLabels& labels) {
  const Side old_side(before, labels.before), new_side(after, labels.after);
  Finding finding{.key = "diff", .title = fmt::format("From {} to {}", labels.before, labels.after)};
  if (old_side.step.activities.empty() || new_side.step.activities.empty()) {
    const bool is_old = old_side.step.activities.empty();
    finding.sentences.push_back(
        fmt::format("{} has no device activity: record it with activities=[ProfilerActivity.CPU, "
                    "ProfilerActivity.CUDA].",
                    is_old ? labels.before : labels.after));
    return {std::move(finding)};
  }
  const TimeShares &old_time = old_side.step.time, &new_time = new_side.step.time;
  const std::vector<TimePart> parts = time_parts(old_time, new_time);
  CommonNames names;
  const OpTree old_tree(before, names), new_tree(after, names);
  const Alignment alignment = align(old_tree, new_tree, names);
  const std::vector<KernelChange> changes = kernel_changes(before, after, alignment, names);

  const bool is_unchanged =
      std::all_of(parts.begin(), parts.end(), [](const TimePart& p) { return p.difference_ns() == 0; }) &&
      std::all_of(changes.begin(), changes.end(),
                  [](const KernelChange& c) { return c.kind == ChangeKind::Same; });
  if (is_unchanged)
    finding.sentences.emplace_back("Nothing changed: the kernels and their times are the same.");
  finding.sentences.push_back(sentence_of_step(old_side, new_side));
  const auto difference = static_cast<double>(new_time.total() - old_time.total());
  if (std::abs(difference) > kSameStep * static_cast<double>(old_time.total()))
    finding.sentences.push_back(sentence_of_parts(parts, old_side, new_side));
  if (before.device != after.device && !before.device.empty() && !after.device.empty())
    finding.sentences.push_back(
        fmt::format("{} ran on {}, {} on {}.", labels.before, before.device, labels.after, after.device));

  Table table{.key = "steps",
              .title = "the compared steps, of median device time",
              .columns = {{"trace", "trace"},
                          {"step", "step", Unit::None, true},
                          {"steps", "of steps", Unit::Count},
                          {"device_ns", "device time", Unit::Nanoseconds},
                          {"launches", "launches", Unit::Count},
                          {"kernels", "kernels", Unit::Count},
                          {"kernel_ns", "kernel time", Unit::Nanoseconds}},
              .rows = {}};
  for (const Side* side : {&old_side, &new_side})
    table.rows.push_back({side->label, side->step.step, static_cast<std::int64_t>(side->step.steps),
                          side->step.time.total(), side->step.launches, side->kernels, side->kernel_ns});
  finding.facts = {{"speedup", "speedup",
                    static_cast<double>(old_time.total()) /
                        static_cast<double>(std::max<std::int64_t>(1, new_time.total()))},
                   {"difference_ns", "difference", new_time.total() - old_time.total(), Unit::Nanoseconds}};
  finding.tables.push_back(std::move(table));
  finding.tables.push_back(parts_table(parts, old_side, new_side));

  std::vector<Finding> findings;
  findings.push_back(std::move(finding));
  findings.push_back(ops_finding(old_side, old_tree, new_side, new_tree, names, alignment));
  findings.push_back(kernels_finding(old_side, new_side, changes));
  return findings;
}

}  // namespace pel::doctor
