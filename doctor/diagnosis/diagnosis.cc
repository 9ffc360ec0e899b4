#include "doctor/diagnosis/diagnosis.h"

namespace pel::doctor {

std::string_view name(Bound bound) {
  static constexpr std::array<std::string_view, 8> kNames{
      "overhead-bound",      "compute-bound", "memory-bound", "input-bound",
      "communication-bound", "sync-bound",    "unexplained",  "cpu-only"};
  return kNames[static_cast<std::size_t>(bound)];
}

std::array<std::pair<std::string_view, std::uint64_t>, 5> named(const Totals& totals) {
  return {{{"kernels", totals.kernels},
           {"memcpy", totals.memcpy},
           {"memset", totals.memset},
           {"graph_launches", totals.graph_launches},
           {"syncs", totals.syncs}}};
}

}  // namespace pel::doctor
