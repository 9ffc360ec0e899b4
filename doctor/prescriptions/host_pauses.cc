// Pauses of the host in which it launches nothing: first calls, and what a program does between steps.
#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

// The frame or annotation that a pause passed in, from outside of ops.
std::string pause_place(const Patient& patient, const Patient::Pause& pause) {
  const EventId around = patient.model().running_at(patient.events().row(pause.call),
                                                    pause.begin_ns + (pause.end_ns - pause.begin_ns) / 2);
  if (std::string line = patient.line_of(around); !line.empty()) return line;
  return around == kNoEvent ? std::string() : std::string(patient.events().name(around));
}

}  // namespace

void propose_no_pauses(Patient& patient, std::vector<Prescription>& prescriptions) {
  Prescription first_calls, others;
  std::int64_t longest_call = 0, longest_other = 0;
  for (const Patient::Pause& pause : patient.pauses()) {
    const bool is_in_op = pause.in_op != kNoEvent;
    Prescription& p = is_in_op ? first_calls : others;
    std::int64_t& longest = is_in_op ? longest_call : longest_other;
    const std::int64_t ns = pause.end_ns - pause.begin_ns;
    patient.cut_host(p.change, patient.events().row(pause.call), pause.begin_ns, pause.end_ns);
    p.bound_ns = saturating_add(p.bound_ns, ns);
    ++p.count;
    if (ns <= longest) continue;
    longest = ns;
    p.where = is_in_op ? patient.place_of(pause.in_op) : pause_place(patient, pause);
  }
  if (first_calls.count != 0) {
    first_calls.key = "warm_up";
    first_calls.action = fmt::format(
        "Leave first calls out of the profile: {} longer than 1 ms to launch a kernel",
        first_calls.count == 1 ? std::string("an op takes") : fmt::format("{} ops take", first_calls.count));
    first_calls.how =
        "run a few steps before the profile, or schedule(wait=1, warmup=3, active=...): libraries and code "
        "are "
        "loaded at first use";
    first_calls.needs = "later steps do not pause so: the gain is of this trace, not of a long run";
    first_calls.effort = Effort::Setting;
    prescriptions.push_back(std::move(first_calls));
  }
  if (others.count == 0) return;
  others.key = "host_pauses";
  others.action = fmt::format("Do less on the host between launches: it pauses {} for {} in all",
                              others.count == 1 ? std::string("once") : fmt::format("{} times", others.count),
                              readable_ns(others.bound_ns));
  others.how =
      "move logging, checkpoints and preparation of inputs to another thread, or do them every hundredth "
      "step; "
      "at the beginning of a run: profile after some steps";
  others.needs = "the device has work in its queue meanwhile";
  prescriptions.push_back(std::move(others));
}

}  // namespace pel::doctor
