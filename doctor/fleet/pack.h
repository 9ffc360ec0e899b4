// Packs the tables of ranks into one file for each table and job:
// DEST/date=2026-11-17/job=llama/facts.parquet. doctor/docs/fleet.md has the columns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "doctor/fleet/fleet_folder.h"

namespace pel::fleet {

enum class LargeTables : std::uint8_t { No, Yes };  // events, launches and gaps

struct PackRequest {
  std::vector<std::string> sources;  // folders with rank=0, rank=1, …
  std::string destination;
  std::string job;   // of all ranks; empty: the one of each rank's label
  std::string date;  // "2026-11-17"; empty: that of the first event, in UTC
  LargeTables large = LargeTables::No;
  Replace replace = Replace::IfSameTrace;  // Always: jobs that are there already
  std::function<void(const std::string& what, double share)> progress{};
  std::function<void(const std::string& reason)> unread{};  // a rank that is left out
};

struct PackedJob {
  std::string job, date, folder;
  std::uint64_t ranks = 0, collectives = 0, meetings = 0, bytes = 0;
};

// By job. A FileError names the file or folder that is the cause, and a job whose packing failed has
// no folder.
std::vector<PackedJob> pack(const PackRequest& request);

}  // namespace pel::fleet
