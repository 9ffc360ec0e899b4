// Data that is loaded while the device waits.
#include <cmath>

#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/analyses/sums.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {

void propose_loading_ahead(Patient& patient, std::vector<Prescription>& prescriptions) {
  const Model& model = patient.model();
  Prescription p;
  SaturatingSum loading_ns;
  EventId longest = kNoEvent;
  const auto look_at = [&](RowId row) {
    std::int64_t until = std::numeric_limits<std::int64_t>::min();
    for (const EventId e : model.of_row(row)) {
      if (!patient.events().is_loading(e) || patient.events().begin_ns(e) < until) continue;
      until = patient.events().end_ns(e);
      loading_ns += patient.events().duration_ns(e);
      ++p.count;
      p.cuts.push_back({patient.events().begin_ns(e), until, 0});
      if (longest == kNoEvent || patient.events().duration_ns(e) > patient.events().duration_ns(longest))
        longest = e;
    }
  };
  if (patient.has_device()) {
    for (const RowId row : patient.examined().time.launching_rows()) look_at(row);
    p.bound_ns = patient.examined().time.all().idle(IdleCause::Input);
    p.cuts.clear();
    p.change.loading = 0;
  } else if (!patient.host_ops().empty()) {
    look_at(patient.host_row());
    std::erase_if(p.cuts, [&](const HostCut& cut) {
      return cut.begin_ns < patient.host_begin_ns() || cut.end_ns > patient.host_end_ns();
    });
    SaturatingSum inside;
    for (const HostCut& cut : p.cuts) inside += cut.end_ns - cut.begin_ns;
    p.bound_ns = inside;
  }
  if (p.count == 0 || p.bound_ns <= 0) return;
  const std::int64_t rest = std::max<std::int64_t>(1, saturating_sub(patient.total_ns(), p.bound_ns));
  // So many that together they load as fast as the rest of the step runs.
  const double workers = std::ceil(static_cast<double>(loading_ns) / static_cast<double>(rest));
  const bool has_workers = patient.events().name(longest).find("MultiProcessing") != std::string_view::npos;
  p.key = "load_ahead";
  p.action = has_workers ? "Load data faster: the workers of the loader are slower than the step"
                         : "Load data in other processes: the step waits while this one loads it";
  p.how = fmt::format("DataLoader(..., num_workers={}{}, prefetch_factor=2, pin_memory=True)",
                      has_workers ? "more than now, at least " : "", std::clamp(workers, 1.0, 64.0));
  p.where = patient.line_of(longest);
  if (p.where.empty()) p.where = patient.events().name(longest);
  p.needs = "there are free cores for the workers";
  p.effort = Effort::Setting;
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
