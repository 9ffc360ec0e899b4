// What packed jobs say of a fleet over days: kernels and syncs of their steps, device time, slow hosts. Reads
// the folder that pack.h writes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "doctor/model/device_time.h"

namespace pel::fleet {

// Counts of steps, one for each step of each rank.
struct StepCounts {
  std::vector<std::int64_t> kernels;  // of steps with a kernel
  std::vector<std::int64_t> syncs;    // of all steps; copies that wait are not counted
};

// The ranks of a host, and what the others waited for them.
struct HostWaits {
  std::int64_t ranks = 0;
  doctor::SaturatingSum waited_ns;
  std::int64_t collectives = 0;                         // in which one of them came last
  std::map<std::string, doctor::SaturatingSum> causes;  // of that time

  void add(const HostWaits& other);
  std::string cause() const;  // of most of the time; "": the tables do not say
};

struct JobFigures {
  std::string job, date, folder;
  std::int64_t ranks = 0;
  std::int64_t begin_s = 0;   // since 1970: of the first event, or of the date if traces have no time of day
  doctor::TimeShares time{};  // of all devices; without collective_ns
  bool has_causes = true;     // false: idle time of some ranks is unexplained, because their tables are older
  std::map<std::string, StepCounts> commits{};  // "": of ranks without one
  std::map<std::string, HostWaits> hosts{};     // likewise

  std::int64_t time_of_rank() const { return ranks == 0 ? 0 : time.total() / ranks; }  // of the mean rank
};

using FleetProgress = std::function<void(const std::string& what, double share)>;

// By date, then by job. A FileError names the file or folder that is the cause.
std::vector<JobFigures> read_fleet(const std::string& folder, const FleetProgress& progress = {});

}  // namespace pel::fleet
