// A loop of Python over small ops.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/median.h"
#include "doctor/model/op_cost.h"
#include "doctor/names/op_families.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMaxPeriod = 8;  // ops of one turn
constexpr std::size_t kMinTurns = 16;
constexpr std::int64_t kSmallNs = 50'000;  // ops that take longer have work of their own

bool is_layer(std::string_view op) {
  const auto family = names::known_family_of_op(without_namespace(op));
  return op == "aten::linear" || op == "aten::matmul" || (family && uses_tensor_cores(*family));
}

}  // namespace

void propose_vectorised_loop(Patient& patient, std::vector<Prescription>& prescriptions) {
  if (patient.has_device()) return;  // there a CUDA graph is the first remedy
  const std::vector<EventId>& ops = patient.host_ops();
  const EventTable& events = patient.events();
  const auto is_same = [&](std::size_t a, std::size_t b) {
    return events.name_id(ops[a]) == events.name_id(ops[b]) &&
           patient.model().step_at(events.begin_ns(ops[a])) ==
               patient.model().step_at(events.begin_ns(ops[b]));
  };
  std::map<std::string, Prescription> places;  // by the ops of one turn
  for (std::size_t at = 0; at < ops.size();) {
    std::size_t period = 0, turns = 0;
    for (std::size_t length = 1; length <= kMaxPeriod && period == 0; ++length) {
      std::size_t end = at + length;
      while (end < ops.size() && is_same(end - length, end)) ++end;
      if ((end - at) / length >= kMinTurns) {
        period = length;
        turns = (end - at) / length;
      }
    }
    // Reading values one by one is another remedy; matmuls are layers, each with its own weight.
    const auto turn_ops = std::span(ops).subspan(at, period);
    if (period == 0 || events.name(ops[at]) == "aten::item" ||
        std::ranges::any_of(turn_ops, [&](EventId op) { return is_layer(events.name(op)); })) {
      at += period == 0 ? 1 : period * turns;
      continue;
    }
    // One that takes long now and then was interrupted.
    std::vector<std::int64_t> durations;
    for (std::size_t i = at; i < at + period * turns; ++i) durations.push_back(events.duration_ns(ops[i]));
    if (median_of(std::move(durations)) > kSmallNs) {
      at += period * turns;
      continue;
    }
    std::string turn;
    for (std::size_t i = 0; i < period; ++i)
      turn += fmt::format("{}{}", i == 0 ? "" : ", ", without_namespace(events.name(ops[at + i])));
    Prescription& p = places[turn];
    const std::int64_t begin = events.begin_ns(ops[at]), end = events.end_ns(ops[at + period * turns - 1]);
    p.cuts.push_back({begin, end, 1.0 / static_cast<double>(turns)});
    p.bound_ns = saturating_add(p.bound_ns, end - begin);
    p.count += static_cast<std::int64_t>(turns);
    if (p.where.empty()) p.where = patient.line_of(ops[at]);
    at += period * turns;
  }
  for (auto& [turn, p] : places) {
    p.key = "vectorise_loop";
    p.action =
        fmt::format("Replace the loop of Python by ops on whole tensors: {} turns of {}", p.count, turn);
    p.how =
        "stack the pieces and compute them at once: torch.stack, broadcasting, torch.vmap; or torch.compile "
        "the loop";
    p.needs = "a turn does not need the result of the one before";
    prescriptions.push_back(std::move(p));
  }
}

}  // namespace pel::doctor
