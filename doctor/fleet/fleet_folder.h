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

bool can_write_parquet();  // false: this program was built without Arrow, or has lost it

struct FleetSize {
  std::size_t ranks = 0;
  std::uint64_t events = 0;  // of the traces
  std::uint64_t bytes = 0;   // of the tables
};

class FleetFolder {
 public:
  explicit FleetFolder(std::string folder);

  // Writes all tables of a rank but `meta`. Several threads may call it, each with a rank of its own. `place`
  // is that of the trace among all that were given, and its rank where the trace does not say.
  void add(std::size_t place, const doctor::Examined& examined, const doctor::RankFacts& facts);
  // Writes `meta` of all that were added: how their clocks stand to each other is known only now.
  FleetSize finish();

 private:
  struct Added {
    std::size_t place = 0;
    std::int64_t base_ns = 0;  // from which its tables count
    std::int64_t spans = 0, activities_without_launch = 0;
    std::string device;
    doctor::RankFacts facts;
  };
  std::string folder_of(std::int64_t rank) const;

  std::string folder_;
  std::mutex mutex_;
  std::map<std::int64_t, Added> ranks_;
};

}  // namespace pel::fleet
