// The traces of a run's ranks as Parquet tables, for SQL: FOLDER/rank=3/events.parquet and its neighbours.
// docs/fleet.md has the columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "doctor/analyses/analysis.h"
#include "doctor/ranks/rank_facts.h"

namespace pel::fleet {

bool can_write_parquet();  // false: the module of parquet_file.h is not there

struct FleetSize {
  std::size_t ranks = 0;
  std::uint64_t events = 0;  // of the traces
  std::uint64_t bytes = 0;   // of the tables
};

// Whether tables of the same rank, that are there already, are replaced.
enum class Replace : std::uint8_t { IfSameTrace, Always };

// What the caller knows of the run, for `meta`; empty: nothing.
struct FleetLabels {
  std::string job, host, commit;  // a host that is given replaces that of the file's name
};

struct FleetOptions {
  std::int64_t rank = -1;  // of the only trace; -1: as the trace or its name says
  Replace replace = Replace::IfSameTrace;
  FleetLabels labels{};
};

class FleetFolder {
 public:
  explicit FleetFolder(std::string folder, FleetOptions options = {});

  // Writes all tables of a rank but `meta`. Several threads may call it, each with a rank of its own.
  void add(const doctor::Examined& examined, const doctor::RankFacts& facts);
  // Writes `meta` of all that were added: how their clocks stand to each other is known only now.
  FleetSize finish();

 private:
  struct Added {
    std::int64_t base_ns = 0;  // from which its tables count
    std::int64_t spans = 0, activities_without_launch = 0;
    std::string device;
    doctor::RankFacts facts;
  };
  std::string folder_of(std::int64_t rank) const;
  // Makes the folder of a rank. One of another trace is an error, or loses its tables.
  void claim(const std::string& folder, const Added& added) const;

  std::string folder_;
  FleetOptions options_;
  std::mutex mutex_;
  std::map<std::int64_t, Added> ranks_;
};

}  // namespace pel::fleet
