#include "doctor/report/totals_line.h"

#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/report/readable_value.h"

namespace pel::doctor {

std::string count_of(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", grouped(static_cast<std::int64_t>(count)), count == 1 ? one : many);
}

std::string totals_line(const Diagnosis& diagnosis) {
  const Totals& totals = diagnosis.counts.totals;
  std::string line = count_of(totals.kernels, "kernel", "kernels");
  line += " · " + count_of(totals.memcpy, "memcpy", "memcpys");
  line += " · " + count_of(totals.memset, "memset", "memsets");
  line += " · " + count_of(totals.graph_launches, "graph launch", "graph launches");
  line += " · " + count_of(totals.syncs, "sync", "syncs");
  line += fmt::format(" · {}, {}", count_of(diagnosis.summary.events, "event", "events"),
                      readable_bytes(diagnosis.summary.bytes));
  return line;
}

}  // namespace pel::doctor
