// The meaning of a trace: which op launched which kernel, what a thread was doing, where steps begin, what
// ran on which stream.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doctor/model/event_table.h"
#include "doctor/readers/kineto.h"

namespace pel::doctor {

// A device activity: a kernel, memcpy or memset.
struct Activity {
  EventId event;
  EventId launch = kNoEvent;  // the call that launched it; kNoEvent if it is not in the trace
  std::int64_t begin_ns, end_ns;
  std::int32_t device, stream;
  std::uint32_t step = 0;  // of Model::steps, by the time of the launch; kNoStep: of none
};
inline constexpr std::uint32_t kNoStep = ~std::uint32_t{0};

struct Step {
  std::string name;
  std::int64_t begin_ns, end_ns;  // on the host
};

struct DeviceProperties {
  std::int64_t id = 0;
  std::string name;
  std::int64_t multiprocessors = 0;  // 0: the trace does not say
};

// What External id says in this file.
enum class ExternalIds : std::uint8_t { None, Ops, Correlations };

class Model {
 public:
  Model(EventTable table, TraceSummary summary);

  const EventTable& events() const { return events_; }
  const TraceSummary& summary() const { return summary_; }
  std::span<const Activity> activities() const { return activities_; }  // by begin
  std::span<const Step> steps() const { return steps_; }
  std::uint32_t step_at(std::int64_t time_ns) const;           // on the host; kNoStep: between them
  bool is_step_mark(EventId e) const;                          // ProfilerStep#3
  bool has_marked_steps() const { return has_marked_steps_; }  // else there is one step, the whole trace
  std::span<const DeviceProperties> devices() const { return devices_; }
  const DeviceProperties* device(std::int64_t id) const;
  ExternalIds external_ids() const { return external_ids_; }
  std::span<const std::int32_t> active_devices() const { return active_devices_; }  // ascending
  // The activities of one of active_devices(), by its place there: indices of activities(), by begin.
  std::span<const std::uint32_t> activities_of_device(std::size_t device) const {
    return std::span(device_activities_)
        .subspan(device_begins_[device], device_begins_[device + 1] - device_begins_[device]);
  }

  // What threads of the host did, by begin, what encloses before what is enclosed.
  std::span<const EventId> of_row(RowId row) const;
  std::span<const RowId> host_rows() const { return host_rows_; }
  EventId parent(EventId e) const { return parents_[e]; }  // the innermost span around it on its row
  // Itself, or the nearest around it, that is an op.
  EventId op_of(EventId e) const;
  EventId outermost_op_of(EventId e) const;
  // The op that a call was made for: by nesting, else by External id. kNoEvent: the trace does not say.
  EventId op_of_launch(EventId launch) const;
  EventId op_of_activity(const Activity& activity) const;
  // Of an op of the backward pass: the op whose gradient it computes.
  EventId forward_of(EventId op) const;
  // "aten::linear > aten::addmm", the outermost first.
  std::string op_chain(EventId launch) const;
  // Where in a program it was: the innermost frames of Python first, or the stack that the event carries.
  std::vector<std::string> stack_of(EventId e, std::size_t most) const;
  // The span that ran on a row at a time, the innermost; kNoEvent: nothing did.
  EventId running_at(RowId row, std::int64_t time_ns) const;
  // The activities that a call launched.
  std::span<const std::uint32_t> launched_by(EventId launch) const;  // indices of activities()

  std::size_t activities_without_launch() const { return activities_without_launch_; }
  // Activities ran inside of their launches, as on a CPU: there is no queue.
  bool is_synchronous() const { return 2 * activities_inside_launch_ > activities_.size(); }

 private:
  void order_rows();
  void nest();
  void link_activities();
  void find_steps();
  void read_properties();
  void link_ops();
  void link_backward();

  EventTable events_;
  TraceSummary summary_;
  std::vector<EventId> ordered_;         // spans of the host, row by row
  std::vector<std::size_t> row_begins_;  // in ordered_, by row; one more at the end
  std::vector<RowId> host_rows_;
  std::vector<EventId> parents_;
  std::vector<Activity> activities_;
  std::vector<std::int32_t> active_devices_;
  std::vector<std::uint32_t> device_activities_;
  std::vector<std::size_t> device_begins_;
  std::vector<EventId> launches_;  // of launched_activities_, ascending
  std::vector<std::uint32_t> launched_activities_;
  EventIndex launch_index_;
  std::unordered_map<std::int64_t, EventId> ops_by_external_id_;  // those that nesting does not give
  std::vector<std::pair<EventId, EventId>> forward_;              // backward op and forward op
  std::vector<Step> steps_;
  std::vector<std::int64_t> step_ends_;  // of each step and those before it, the last
  std::vector<DeviceProperties> devices_;
  bool has_marked_steps_ = false;
  ExternalIds external_ids_ = ExternalIds::None;
  std::size_t activities_without_launch_ = 0, activities_inside_launch_ = 0;
};

}  // namespace pel::doctor
