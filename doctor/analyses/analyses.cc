#include "doctor/analyses/analysis.h"

namespace pel::doctor {

std::span<const Analysis> all_analyses() {
  static constexpr Analysis kAll[] = {
      {"device_time", analyse_device_time},
      {"host_ops", analyse_host_ops},
      {"kernels", analyse_kernels},
      {"dispatch", analyse_dispatch},
      {"syncs", analyse_syncs},
      {"copies", analyse_copies},
      {"matmuls", analyse_matmuls},
      {"occupancy", analyse_occupancy},
      {"recompiles", analyse_recompiles},
      {"utilisation", analyse_utilisation},
      {"phases", analyse_phases},
      {"modules", analyse_modules},
      {"memory", analyse_memory},
      {"pipeline", analyse_pipeline},
      {"chains", analyse_chains},
      {"what_if", analyse_what_if},
  };
  return kAll;
}

}  // namespace pel::doctor
