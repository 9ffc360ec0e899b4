// The tree of a step's ops that launched activities, and the alignment of two such trees.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "doctor/compare/step_summary.h"

namespace pel::doctor {

// Texts of two steps with common numbers. Views are of their summaries.
class CommonNames {
 public:
  std::uint32_t add(std::string_view text) {
    const auto [at, is_new] = ids_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  std::string_view operator[](std::uint32_t id) const { return texts_[id]; }

 private:
  std::unordered_map<std::string_view, std::uint32_t> ids_;
  std::vector<std::string_view> texts_;
};

struct OpNode {
  std::uint32_t name = 0;
  std::vector<std::uint32_t> children{};    // by begin
  std::vector<std::uint32_t> activities{};  // its own, of StepSummary::activities
};

struct OpTree {
  std::vector<OpNode> nodes;
  std::vector<std::uint32_t> threads;  // nodes without an op, one for each row that launched
  OpTree(const StepSummary& step, CommonNames& names);
  void add_activities_of(std::uint32_t node,
                         std::vector<std::uint32_t>& activities) const;  // and of all below
};

// Activities that stand for each other: those of an op that both have, or those between two such ops.
struct Counterpart {
  bool is_aligned;    // an op of both
  std::string chain;  // of that op: "aten::linear > aten::addmm"
  std::vector<std::uint32_t> before, after;
};

struct Alignment {
  std::vector<Counterpart> parts;
  bool is_by_count = false;  // too different for the order of ops: the k-th op of a name with the k-th
};
Alignment align(const OpTree& before, const OpTree& after, const CommonNames& names);

}  // namespace pel::doctor
