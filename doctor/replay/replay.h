// Replays the graph of a trace with other costs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "doctor/replay/replay_graph.h"

namespace pel::doctor {

struct Change {
  double dispatch = 1;  // of what the host spends in calls and between them
  double loading = 1;   // of what it spends in loading data
  bool without_syncs = false;
  std::array<bool, kEdgeKindCount> without{};  // edges of these kinds are left out
  // By index of Model::activities(); none: as measured.
  std::vector<float> activity_scale{};   // of its duration
  std::vector<bool> without_activity{};  // it does not run, and there is no gap before it
  // By ReplayGraph::call; none: as measured.
  std::vector<float> call_scale{};          // of the call, and of what its thread spent before it
  std::vector<std::int64_t> host_cut_ns{};  // taken from what its thread spent before it
  std::vector<bool> without_sync{};         // the call does not wait for the device
};

// Both changes at once.
Change combined(Change a, const Change& b);

struct Replayed {
  std::vector<std::int64_t> times;         // of each point
  std::int64_t span_ns = 0;                // from the first activity to the end of the last
  std::vector<std::int64_t> step_ends_ns;  // of the last activity of each step that has any
  std::size_t stuck = 0;                   // points that wait for each other: 0, or the graph is wrong
};

Replayed replay(const ReplayGraph& graph, const Change& change = {});
Replayed measured(const ReplayGraph& graph);

}  // namespace pel::doctor
