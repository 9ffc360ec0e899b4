#include "doctor/model/run_phases.h"

namespace pel::doctor {
namespace {

constexpr int kMaxPhaseLevels = 1000;
constexpr std::uint8_t kStepMark = 0xFD, kNoMark = 0xFE, kNotAsked = 0xFF;

std::uint8_t phase_of_name(std::string_view name) {
  const auto is = [](RunPhase phase) { return static_cast<std::uint8_t>(phase); };
  if (name.starts_with("ProfilerStep")) return kStepMark;
  if (name.starts_with("autograd::engine::evaluate_function")) return is(RunPhase::Backward);
  if (name.starts_with("Optimizer.")) return is(RunPhase::Optimizer);
  if (contains(name, "DataLoader")) return is(RunPhase::Data);
  for (const std::string_view prefix : {"nccl:", "gloo:", "mpi:", "ucc:", "xccl:", "hccl:", "c10d::",
                                        "_c10d_functional::", "record_param_comms"}) {
    if (name.starts_with(prefix)) return is(RunPhase::Communication);
  }
  return kNoMark;
}

}  // namespace

std::string_view name(RunPhase phase) {
  static constexpr std::array<std::string_view, kRunPhaseCount> kNames{
      "forward", "backward", "optimizer", "data", "communication", "other"};
  return kNames[static_cast<std::size_t>(phase)];
}

RunPhases::RunPhases(const Model& model)
    : model_(model), is_backward_(model.events().size()), by_name_(model.events().names.size(), kNotAsked) {
  const EventTable& events = model.events();
  for (std::size_t i = 0; i < events.sequence_count(); ++i) {
    const OpSequence& op = events.sequence_at(i);
    if (op.forward_thread != 0) is_backward_[op.event] = true;
  }
}

std::uint8_t RunPhases::mark_of_name(EventId e) {
  std::uint8_t& phase = by_name_[model_.events().name_id(e)];
  if (phase == kNotAsked) phase = phase_of_name(model_.events().name(e));
  return phase;
}

bool RunPhases::is_step(EventId e) {
  const Category category = model_.events().category(e);
  return (category == Category::CpuOp || category == Category::UserAnnotation) &&
         mark_of_name(e) == kStepMark;
}

std::optional<RunPhase> RunPhases::mark_of(EventId e) {
  const EventTable& events = model_.events();
  const Category category = events.category(e);
  if (category != Category::CpuOp && category != Category::UserAnnotation) return std::nullopt;
  const std::uint8_t phase = mark_of_name(e);
  if (phase < kStepMark) return static_cast<RunPhase>(phase);
  return is_backward_[e] ? std::optional(RunPhase::Backward) : std::nullopt;
}

RunPhase RunPhases::of(EventId e) {
  bool is_in_op = false;
  for (int level = 0; e != kNoEvent && level < kMaxPhaseLevels; ++level, e = model_.parent(e)) {
    if (const auto mark = mark_of(e)) return *mark;
    is_in_op |= model_.events().category(e) == Category::CpuOp && !is_step(e);
  }
  return is_in_op ? RunPhase::Forward : RunPhase::Other;
}

}  // namespace pel::doctor
