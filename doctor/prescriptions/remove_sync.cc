// Waits of the host for the device that leave it without work; on a CPU, values that are read one by one.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "doctor/analyses/sums.h"
#include "doctor/names/name_text.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

struct WaitPlace {
  std::string chain, line;
  std::string_view call;
  auto operator<=>(const WaitPlace&) const = default;
};
struct WaitSum {
  SaturatingSum idle_ns;
  std::vector<EventId> calls;
};

struct Advice {
  std::string_view action, how;
};
Advice advice_for(const WaitPlace& place) {
  const auto has = [&](std::string_view op) { return place.chain.find(op) != std::string::npos; };
  if (has("aten::item") || has("_local_scalar_dense"))
    return {"Read values of the device less often: .item() waits until it is done",
            "keep sums on the device (loss_sum += loss.detach()) and call .item() every hundredth step"};
  if (has("aten::is_nonzero") || has("aten::equal"))
    return {"Do not branch on a tensor: the host waits for its value",
            "use torch.where, or decide from a value that the host has"};
  if (has("aten::nonzero") || has("aten::masked_select") || has("aten::index") || has("unique"))
    return {"Avoid sizes that depend on values: the host waits to learn them",
            "use torch.where or multiply by the mask instead of indexing by it; torch.nonzero_static has a "
            "fixed size"};
  if (has("aten::to") || has("aten::_to_copy") || has("aten::copy_"))
    return {"Copy results to the host without waiting",
            "x.to(\"cpu\", non_blocking=True) into pinned memory, and read it a step later"};
  if (place.chain.empty())
    return {"Remove the synchronization from the step",
            "delete torch.cuda.synchronize() (or stream.synchronize()) where it is not for timing"};
  return {"Avoid the wait for the device in this op", "keep its inputs and results on the device"};
}

// Those of copies from pageable memory are of another remedy.
std::unordered_set<EventId> ops_that_copy_to_device(const Patient& patient) {
  std::unordered_set<EventId> ops;
  for (const Activity& activity : patient.model().activities()) {
    if (patient.events().category(activity.event) != Category::Memcpy ||
        patient.events().name(activity.event).find("HtoD") == std::string_view::npos)
      continue;
    if (const EventId op = patient.model().op_of_activity(activity); op != kNoEvent) ops.insert(op);
  }
  return ops;
}

void add_syncs_on_device(Patient& patient, std::vector<Prescription>& prescriptions) {
  const Model& model = patient.model();
  std::unordered_map<EventId, SaturatingSum> idle;
  for (const Gap& gap : patient.examined().time.gaps()) {
    if (gap.cause == IdleCause::Sync && gap.blame != kNoEvent) idle[gap.blame] += gap.duration_ns();
  }
  const std::unordered_set<EventId> copying = ops_that_copy_to_device(patient);
  std::map<WaitPlace, WaitSum> places;
  for (const auto& [call, ns] : idle) {
    if (const EventId op = model.op_of_launch(call); op != kNoEvent && copying.contains(op)) continue;
    WaitSum& sum = places[{model.op_chain(call), patient.line_of(call), patient.events().name(call)}];
    sum.idle_ns += ns;
    sum.calls.push_back(call);
  }
  for (const auto& [place, sum] : places) {
    const Advice advice = advice_for(place);
    Prescription& p = prescriptions.emplace_back();
    p.key = "remove_sync";
    p.action = advice.action;
    p.how = advice.how;
    p.where = !place.line.empty() ? place.line : place.chain.empty() ? std::string(place.call) : place.chain;
    p.needs = "nothing after it needs the value at once";
    p.count = static_cast<std::int64_t>(sum.calls.size());
    p.bound_ns = sum.idle_ns;
    for (const EventId call : sum.calls) patient.leave_out_wait(p.change, call);
  }
}

bool is_view(std::string_view op) {
  return op == "aten::select" || op == "aten::unbind" || op == "aten::slice" || op == "aten::squeeze" ||
         op == "aten::view";
}

// On a CPU .item() waits for nothing and costs its call: what counts is how many there are.
void add_syncs_on_host(Patient& patient, std::vector<Prescription>& prescriptions) {
  const EventTable& events = patient.events();
  const std::vector<EventId>& ops = patient.host_ops();
  std::map<std::string, Prescription> places;
  std::int64_t ops_end_ns = std::numeric_limits<std::int64_t>::min();  // of what the last one took with it
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (events.name(ops[i]) != "aten::item") continue;
    Prescription& p = places[patient.line_of(ops[i])];
    // With the views that were made to be read, and what Python does until the next one is read.
    std::size_t first = i, next = i + 1;
    while (first > 0 && ops_end_ns <= events.begin_ns(ops[first - 1]) && is_view(events.name(ops[first - 1])))
      --first;
    while (next < ops.size() && is_view(events.name(ops[next]))) ++next;
    const bool is_in_loop = next < ops.size() && events.name(ops[next]) == "aten::item" &&
                            patient.model().step_at(events.begin_ns(ops[next])) ==
                                patient.model().step_at(events.begin_ns(ops[i]));
    const std::int64_t end_ns = is_in_loop ? events.begin_ns(ops[next]) : events.end_ns(ops[i]);
    p.cuts.push_back({events.begin_ns(ops[first]), end_ns, 0});
    ops_end_ns = end_ns;
    p.bound_ns = saturating_add(p.bound_ns, p.cuts.back().end_ns - p.cuts.back().begin_ns);
    ++p.count;
  }
  for (auto& [line, p] : places) {
    p.key = "remove_sync";
    p.action = "Read values in one call instead of one by one: each .item() is a call of its own";
    p.how = "x.tolist() for many values at once; keep sums in a tensor and read them at the end";
    p.where = line;
    p.needs = "the values are not needed one after the other";
    prescriptions.push_back(std::move(p));
  }
}

}  // namespace

void propose_fewer_syncs(Patient& patient, std::vector<Prescription>& prescriptions) {
  if (patient.has_device()) {
    add_syncs_on_device(patient, prescriptions);
  } else {
    add_syncs_on_host(patient, prescriptions);
  }
}

}  // namespace pel::doctor
