#include "doctor/compare/op_tree.h"

#include <algorithm>
#include <map>

#include "base/sort_stably.h"
#include "doctor/compare/longest_common.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMaxEdits = 2000;  // between two lists of ops; 16 MB of memory

class Aligner {
 public:
  Aligner(const OpTree& before, const OpTree& after, const CommonNames& names)
      : before_(before), after_(after), names_(names) {}

  Alignment run() {
    for (const auto& [a, b] : pair_threads()) align_thread(a, b);
    return std::move(alignment_);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  using Counts = std::map<std::uint32_t, std::int64_t>;  // by name
  static std::vector<Counts> counts_of_threads(const OpTree& tree) {
    std::vector<Counts> counts(tree.threads.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      for (const std::uint32_t child : tree.nodes[tree.threads[i]].children)
        ++counts[i][tree.nodes[child].name];
    }
    return counts;
  }

  // Threads that have most ops in common first; one that has no counterpart is paired with none.
  std::vector<IndexPair> pair_threads() const {
    struct Candidate {
      std::int64_t common;
      std::uint32_t before, after;
    };
    std::vector<Candidate> candidates;
    const std::vector<Counts> of_before = counts_of_threads(before_), of_after = counts_of_threads(after_);
    for (std::size_t i = 0; i < of_before.size(); ++i) {
      for (std::size_t j = 0; j < of_after.size(); ++j) {
        std::int64_t common = 0;
        for (const auto& [name, count] : of_after[j]) {
          const auto at = of_before[i].find(name);
          if (at != of_before[i].end()) common += std::min(count, at->second);
        }
        candidates.push_back({common, before_.threads[i], after_.threads[j]});
      }
    }
    sort_stably(candidates, [](const Candidate& a, const Candidate& b) { return a.common > b.common; });
    std::vector<IndexPair> pairs;
    std::vector<bool> has_a(before_.nodes.size()), has_b(after_.nodes.size());
    for (const Candidate& c : candidates) {
      if (has_a[c.before] || has_b[c.after]) continue;
      has_a[c.before] = has_b[c.after] = true;
      pairs.emplace_back(c.before, c.after);
    }
    for (const std::uint32_t a : before_.threads) {
      if (!has_a[a]) pairs.emplace_back(a, kNone);
    }
    for (const std::uint32_t b : after_.threads) {
      if (!has_b[b]) pairs.emplace_back(kNone, b);
    }
    return pairs;
  }

  static std::span<const std::uint32_t> children_of(const OpTree& tree, std::uint32_t node) {
    if (node == kNone) return {};
    return tree.nodes[node].children;
  }
  static std::vector<std::uint32_t> names_of(const OpTree& tree, std::span<const std::uint32_t> nodes) {
    std::vector<std::uint32_t> names;
    for (const std::uint32_t node : nodes) names.push_back(tree.nodes[node].name);
    return names;
  }

  // Calls matched(a, b) for pairs of children and unmatched(begin_a, end_a, begin_b, end_b) for what is
  // between.
  template <class Matched, class Unmatched>
  void walk(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, Matched&& matched,
            Unmatched&& unmatched) {
    const std::vector<std::uint32_t> names_a = names_of(before_, a), names_b = names_of(after_, b);
    if (const auto pairs = longest_common(names_a, names_b, kMaxEdits)) {
      std::uint32_t next_a = 0, next_b = 0;
      const auto between = [&](std::uint32_t end_a, std::uint32_t end_b) {
        if (next_a != end_a || next_b != end_b)
          unmatched(a.subspan(next_a, end_a - next_a), b.subspan(next_b, end_b - next_b));
      };
      for (const auto& [i, j] : *pairs) {
        between(i, j);
        matched(a[i], b[j]);
        next_a = i + 1;
        next_b = j + 1;
      }
      between(static_cast<std::uint32_t>(a.size()), static_cast<std::uint32_t>(b.size()));
      return;
    }
    alignment_.is_by_count = true;
    std::vector<bool> has_a(a.size()), has_b(b.size());
    for (const auto& [i, j] : common_by_count(names_a, names_b)) {
      has_a[i] = has_b[j] = true;
      matched(a[i], b[j]);
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!has_a[i]) unmatched(a.subspan(i, 1), std::span<const std::uint32_t>());
    }
    for (std::size_t j = 0; j < b.size(); ++j) {
      if (!has_b[j]) unmatched(std::span<const std::uint32_t>(), b.subspan(j, 1));
    }
  }

  void align_thread(std::uint32_t a, std::uint32_t b) {
    walk(
        children_of(before_, a), children_of(after_, b),
        [&](std::uint32_t x, std::uint32_t y) { align_op(x, y, ""); },
        [&](std::span<const std::uint32_t> xs, std::span<const std::uint32_t> ys) {
          Counterpart part{.is_aligned = false, .chain = {}, .before = {}, .after = {}};
          for (const std::uint32_t x : xs) before_.add_activities_of(x, part.before);
          for (const std::uint32_t y : ys) after_.add_activities_of(y, part.after);
          alignment_.parts.push_back(std::move(part));
        });
  }

  void align_op(std::uint32_t a, std::uint32_t b, const std::string& around) {
    std::string chain = around;
    if (!chain.empty()) chain += " > ";
    chain += names_[before_.nodes[a].name];
    Counterpart part{.is_aligned = true,
                     .chain = chain,
                     .before = before_.nodes[a].activities,
                     .after = after_.nodes[b].activities};
    walk(
        children_of(before_, a), children_of(after_, b),
        [&](std::uint32_t x, std::uint32_t y) { align_op(x, y, chain); },
        [&](std::span<const std::uint32_t> xs, std::span<const std::uint32_t> ys) {
          for (const std::uint32_t x : xs) before_.add_activities_of(x, part.before);
          for (const std::uint32_t y : ys) after_.add_activities_of(y, part.after);
        });
    if (!part.before.empty() || !part.after.empty()) alignment_.parts.push_back(std::move(part));
  }

  const OpTree& before_;
  const OpTree& after_;
  const CommonNames& names_;
  Alignment alignment_;
};

}  // namespace

OpTree::OpTree(const StepSummary& step, CommonNames& names) {
  for (std::uint32_t i = 0; i < step.ops.size(); ++i) {
    const StepOp& op = step.ops[i];
    nodes.push_back({.name = names.add(step.texts[op.name]), .activities = op.activities});
    if (op.parent == StepOp::kNone) {
      threads.push_back(i);
    } else {
      nodes[op.parent].children.push_back(i);
    }
  }
}

void OpTree::add_activities_of(std::uint32_t node, std::vector<std::uint32_t>& activities) const {
  activities.insert(activities.end(), nodes[node].activities.begin(), nodes[node].activities.end());
  for (const std::uint32_t child : nodes[node].children) add_activities_of(child, activities);
}

Alignment align(const OpTree& before, const OpTree& after, const CommonNames& names) {
  return Aligner(before, after, names).run();
}

}  // namespace pel::doctor
