// Device memory that is allocated and freed by the driver during the steps.
#include <algorithm>

#include <fmt/format.h>

#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

bool frees(std::string_view call) { return call == "cudaFree" || call == "hipFree" || call == "cuMemUnmap"; }
bool allocates(std::string_view call) {
  return call == "cudaMalloc" || call == "hipMalloc" || call == "cuMemCreate" || call == "cuMemMap" ||
         call == "cudaMallocManaged" || call == "cudaHostAlloc";
}

}  // namespace

void propose_steady_memory(Patient& patient, std::vector<Prescription>& prescriptions) {
  Prescription p;
  std::int64_t freed = 0;
  for (const RowId row : patient.examined().time.launching_rows()) {
    for (const EventId e : patient.model().of_row(row)) {
      if (!patient.events().is_call(e)) continue;
      const std::string_view name = patient.events().name(e);
      if (!frees(name) && !allocates(name)) continue;
      if (patient.model().has_marked_steps() &&
          patient.model().step_at(patient.events().begin_ns(e)) == kNoStep)
        continue;
      freed += frees(name) ? 1 : 0;
      patient.leave_out_call(p.change, e);
      patient.leave_out_wait(p.change, e);
      p.bound_ns = saturating_add(p.bound_ns, patient.events().duration_ns(e));
      if (p.where.empty()) p.where = patient.place_of(e);
      ++p.count;
    }
  }
  if (p.count == 0) return;
  p.key = "steady_memory";
  p.action =
      freed != 0
          ? "Stop giving memory back to the driver during steps: it is allocated again, and freeing waits"
          : "Let the allocator settle: memory is allocated by the driver during steps";
  p.how = freed != 0 ? "remove torch.cuda.empty_cache() from the loop; if memory is short, set "
                       "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True or use a smaller batch"
                     : "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and run the largest size first";
  p.needs = freed != 0 ? "there is memory enough for the peak" : "these are not the first steps";
  p.effort = Effort::Setting;
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
