// A trace as a dependency graph, which can be replayed with other costs.
//
// Points are the beginning and the end of each call of the host to the driver, and of each device activity.
// A point happens when the latest of its edges says so. Durations of calls and activities, and the time that
// a thread spends between calls, are as measured; waits are not: they follow from the edges.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "doctor/model/device_time.h"
#include "doctor/model/model.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {

enum class EdgeKind : std::uint8_t {
  Call,        // from the beginning of a call to its end
  Thread,      // from a call to the next one of its thread
  HandOver,    // from a call to one of another thread, which had waited for it
  Launch,      // from a call to its activity
  Activity,    // from the beginning of an activity to its end
  Stream,      // from an activity to the next one of its stream
  StreamWait,  // from an activity to one of another stream, by a wait that the trace has
  Graph,       // into and out of a graph, which runs on the stream of its launch
  Sync,        // from an activity to the end of a call that waited for it
  FullQueue,   // from the beginning of an activity to the end of a launch that waited for a place
  Inferred,    // from an activity that ended, or ebbed away, when another began; the trace does not say why
};
inline constexpr std::size_t kEdgeKindCount = 11;
std::string_view name(EdgeKind kind);

using PointId = std::uint32_t;

struct Edge {
  PointId from;
  EdgeKind kind;
  bool is_last;  // of those that lead to the same point
  std::int64_t delay_ns;
  std::int64_t loading_ns = 0;  // of the delay: the host was loading data
};

// Latencies of the whole trace, which replace the measured waits.
struct Floors {
  std::int64_t launch_ns = 0;  // from a call to its activity, where the stream was empty
  bool from_call_begin = false;
  // From an activity to the next one of a stream: [whether the first is a kernel][whether the second is].
  std::array<std::array<std::int64_t, 2>, 2> stream_ns{};
  std::int64_t graph_ns = 0;  // likewise inside a graph
  std::int64_t wake_ns = 0;   // from the end of an activity to the end of the call that waited for it
  std::int64_t sync_ns = 0;   // a call that has nothing to wait for
};

class ReplayGraph {
 public:
  ReplayGraph(const Model& model, const DeviceTime& time);

  std::size_t size() const { return measured_.size(); }
  std::size_t calls() const { return calls_.size(); }
  EventId call(std::size_t i) const { return calls_[i]; }
  PointId call_begin(std::size_t i) const { return static_cast<PointId>(2 * i); }
  PointId call_end(std::size_t i) const { return static_cast<PointId>(2 * i + 1); }
  PointId activity_begin(std::size_t w) const { return static_cast<PointId>(2 * (calls_.size() + w)); }
  PointId activity_end(std::size_t w) const { return static_cast<PointId>(2 * (calls_.size() + w) + 1); }
  bool is_of_activity(PointId p) const { return p >= 2 * calls_.size(); }
  std::size_t activity_of(PointId p) const { return p / 2 - calls_.size(); }
  std::size_t call_of(PointId p) const { return p / 2; }

  std::int64_t measured_ns(PointId p) const { return measured_[p]; }
  std::int64_t first_ns() const { return first_ns_; }  // of all points
  // Each point after all that it depends on; first those that depend on nothing.
  const std::vector<PointId>& order() const { return order_; }
  std::size_t roots() const { return roots_; }  // how many depend on nothing
  // All edges in the order of the points that they lead to; those of points that wait for each other follow.
  std::span<const Edge> edges() const { return edges_; }
  std::span<const Edge> into(PointId p) const {
    return std::span(edges_).subspan(incoming_[p].first, incoming_[p].count);
  }
  const Floors& floors() const { return floors_; }
  std::size_t edges_of(EdgeKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  // Idle time of the devices that no edge explains, and that only inferred ones do.
  std::int64_t unexplained_ns() const { return unexplained_ns_; }
  std::int64_t inferred_ns() const { return inferred_ns_; }
  const Model& model() const { return model_; }

 private:
  struct Building;
  friend struct Building;
  struct Incoming {
    std::uint32_t first = 0, count = 0;  // in edges_
  };

  const Model& model_;
  std::vector<EventId> calls_;
  std::vector<std::int64_t> measured_;
  std::vector<Edge> edges_;
  std::vector<Incoming> incoming_;  // of each point
  std::vector<PointId> order_;
  std::size_t roots_ = 0;
  std::array<std::size_t, kEdgeKindCount> counts_{};
  Floors floors_;
  std::int64_t first_ns_ = 0;
  SaturatingSum unexplained_ns_, inferred_ns_;
};

}  // namespace pel::doctor
