// Device time: what ran, and one cause for each gap.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "doctor/model/kernel_catalog.h"
#include "doctor/model/model.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {

enum class IdleCause : std::uint8_t {
  Dispatch,    // the host had not yet launched the next activity
  Sync,        // the host had waited for the device, so its queue was empty
  Input,       // the host was loading data
  Guards,      // the host was looking up or compiling code
  Allocation,  // the host was allocating device memory
  Profiler,    // the host was busy with the profiler itself
  Latency,     // the activity was launched in time and began after the usual latency
  Dependency,  // the activity waited for another stream
  NoLaunch,    // its launch is not in the trace
  Unexplained,
};
inline constexpr std::size_t kIdleCauseCount = 10;
std::string_view name(IdleCause cause);  // "dispatch"

struct Gap {
  std::int64_t begin_ns, end_ns;
  std::uint32_t next;  // the activity that ended it, of Model::activities()
  IdleCause cause;
  EventId blame = kNoEvent;  // the sync, the loader, or the op whose launch came late
  std::int64_t duration_ns() const { return end_ns - begin_ns; }
};

// Nanoseconds of device time. What an activity's beginning was waited for, and what it added, is counted for
// its step.
struct TimeShares {
  SaturatingSum busy_ns;
  SaturatingSum collective_ns;     // of busy: collectives ran
  SaturatingSum communication_ns;  // of that: and nothing else
  std::array<SaturatingSum, kIdleCauseCount> idle_ns{};

  SaturatingSum idle(IdleCause cause) const { return idle_ns[static_cast<std::size_t>(cause)]; }
  SaturatingSum idle() const;
  std::int64_t total() const { return busy_ns + idle(); }
  void add(const TimeShares& other);
};

// The time of a collective in which nothing else ran, and no other collective that was counted before.
struct ExposedCollective {
  std::uint32_t activity;  // of Model::activities()
  std::int64_t exposed_ns;
  std::int64_t own_ns;  // without the part that overlaps an earlier collective
};
std::vector<ExposedCollective> exposed_collectives(const Model& model, const KernelCatalog& kernels);

class DeviceTime {
 public:
  DeviceTime(const Model& model, const KernelCatalog& kernels);

  const std::vector<Gap>& gaps() const { return gaps_; }
  const TimeShares& all() const { return all_; }                         // of all devices together
  const std::vector<TimeShares>& of_steps() const { return of_steps_; }  // as Model::steps()
  const TimeShares& outside() const { return outside_; }                 // of activity of no step
  // From the end of a call to the beginning of its activity where the device was idle, the median; 0: not
  // known.
  std::int64_t launch_latency_ns() const { return launch_latency_ns_; }
  // Between activities that were launched long before, the median; 0: not known.
  std::int64_t usual_gap_ns() const { return usual_gap_ns_; }
  const std::vector<RowId>& launching_rows() const { return launching_rows_; }
  bool is_wait(EventId call) const { return is_wait_[call]; }  // returns when the device is done

 private:
  void find_gaps(const Model& model);
  void find_causes(const Model& model);
  void sum_up(const Model& model, const KernelCatalog& kernels);
  TimeShares& shares_of(const Activity& activity);

  std::vector<Gap> gaps_;
  std::vector<bool> is_wait_;  // of each event
  std::vector<RowId> launching_rows_;
  TimeShares all_, outside_;
  std::vector<TimeShares> of_steps_;
  std::int64_t launch_latency_ns_ = 0, usual_gap_ns_ = 0;
};

}  // namespace pel::doctor
