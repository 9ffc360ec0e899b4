// The formats of databases, one file each.
#pragma once

#include <string>
#include <string_view>

#include "doctor/readers/event_counts.h"
#include "doctor/readers/sqlite/database.h"

namespace pel::doctor {

// Where the events of a database go.
struct DatabaseVisit {
  EventVisitor visit;
  EventCounts counts{};
  TraceSummary summary{};

  void operator()(const TraceEvent& event) {
    counts.note(event);
    visit(event);
  }
};

struct DatabaseFormat {
  std::string_view name;
  bool (*fits)(const Database&);
  void (*read)(const Database&, DatabaseVisit&);
};

bool is_nsys(const Database& database);
void read_nsys(const Database& database, DatabaseVisit& visit);
bool is_rocpd(const Database& database);
void read_rocpd(const Database& database, DatabaseVisit& visit);

// deviceProperties, as PyTorch's profiler writes them.
class DevicePropertiesJson {
 public:
  void add(std::int64_t id, std::string_view name, std::int64_t multiprocessors);
  void add_to(TraceSummary& summary) const;

 private:
  std::string list_;
};

}  // namespace pel::doctor
