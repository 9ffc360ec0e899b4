// The trace for which remedies are looked for, and changes of it that they propose.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/analyses/shared.h"
#include "doctor/prescriptions/prescription.h"

namespace pel::doctor {

class Patient {
 public:
  explicit Patient(const Examined& examined);

  const Examined& examined() const { return examined_; }
  const Model& model() const { return examined_.model; }
  const EventTable& events() const { return examined_.model.events(); }
  bool has_device() const { return !examined_.model.activities().empty(); }
  // Null: the trace has no device, is too large, or leaves too much unexplained.
  const WhatIf* replay() const { return replay_.get(); }
  std::int64_t total_ns() const { return total_ns_; }  // of the device, or else of host_row()
  std::int64_t steps() const { return steps_; }        // that do something; 1 where none is marked

  // Without a device: the thread that spends most time in ops, where its ops lie, and its outermost ops in
  // order.
  RowId host_row() const { return host_row_; }
  const std::vector<EventId>& host_ops() const { return host_ops_; }
  std::int64_t host_begin_ns() const { return host_begin_ns_; }
  std::int64_t host_end_ns() const { return host_end_ns_; }
  std::size_t ops_in(std::size_t host_op) const {
    return ops_in_[host_op];
  }  // itself among them; by index of host_ops()
  // How long a piece of that thread would have taken without a profiler.
  double unprofiled_ns(std::int64_t begin_ns, std::int64_t end_ns) const;

  // "train.py(42): step > llama/modeling_llama.py(70): forward": of the frames around an event, the innermost
  // that is not of a library; of an op of the backward pass, around the op whose gradient it computes. Empty:
  // the trace has no frames.
  std::string line_of(EventId e) const;
  // The line, or else the ops, outermost first.
  std::string place_of(EventId launch_or_op) const;
  // The line of an activity's launch.
  std::string place_of_activity(std::uint32_t activity) const;

  // Spans of the host whose name begins so, by row and begin.
  std::vector<EventId> spans_named(std::string_view prefix) const;
  // Of each span, the activities that were launched within it, in the order of their launch.
  std::vector<std::vector<std::uint32_t>> launched_within(const std::vector<EventId>& spans) const;

  // Longer than the host takes to launch a kernel: it did something else. `call` came after it.
  struct Pause {
    EventId call;
    std::int64_t begin_ns, end_ns;
    EventId in_op;  // the op that it passed in; kNoEvent: in none, or in several
  };
  const std::vector<Pause>& pauses() const { return pauses_; }
  // Calls, and what the host spends before them, take no time; pauses keep theirs.
  void launch_at_once(Change& change) const;

  // Of the threads whose time counts: those that launch, or host_row().
  std::span<const RowId> rows() const {
    return has_device() ? std::span<const RowId>(examined_.time.launching_rows()) : std::span(&host_row_, 1);
  }
  // A span of one of them takes no time.
  void cut(Prescription& prescription, EventId span) const;

  // Changes. Those of calls have no effect where there is no replay.
  void leave_out(Change& change, std::uint32_t activity) const;  // with its launch
  void scale(Change& change, std::uint32_t activity, double factor) const;
  // One kernel, in the place of the first of them, that takes `ns`.
  void fuse(Change& change, std::span<const std::uint32_t> activities, double ns) const;
  void leave_out_wait(Change& change, EventId call) const;
  void leave_out_call(Change& change, EventId call) const;
  void cut_host(Change& change, RowId row, std::int64_t begin_ns, std::int64_t end_ns) const;

  // Kernels that one remedy replaces are left alone by others.
  bool is_claimed(std::uint32_t activity) const { return claimed_[activity]; }
  void claim(std::uint32_t activity) { claimed_[activity] = true; }

  std::int64_t duration_ns(std::uint32_t activity) const {
    const Activity& a = examined_.model.activities()[activity];
    return a.end_ns - a.begin_ns;
  }
  // The name of the op that launched it; empty: not known.
  std::string_view op_name(std::uint32_t activity) const;

 private:
  void find_host();
  void find_pauses();
  static constexpr std::uint32_t kNoCall = ~std::uint32_t{0};
  std::uint32_t call_of(EventId call) const;  // of the replay

  const Examined& examined_;
  std::shared_ptr<const WhatIf> replay_;
  std::vector<std::uint32_t> calls_;                   // by event
  std::vector<std::vector<std::uint32_t>> row_calls_;  // by row: its calls in the replay, in order
  std::vector<bool> claimed_;
  std::vector<Pause> pauses_;
  std::int64_t total_ns_ = 0, steps_ = 1;
  RowId host_row_ = 0;
  std::vector<EventId> host_ops_;
  std::vector<std::size_t> ops_in_;
  std::vector<std::int64_t> span_begins_;  // of all that was recorded of that thread
  std::int64_t host_begin_ns_ = 0, host_end_ns_ = 0;
};

}  // namespace pel::doctor
