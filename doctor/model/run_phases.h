// The phases of a training step: forward, backward, optimizer, data and communication, by the marks that
// PyTorch leaves in a trace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "doctor/model/model.h"

namespace pel::doctor {

enum class RunPhase : std::uint8_t { Forward, Backward, Optimizer, Data, Communication, Other };
inline constexpr std::size_t kRunPhaseCount = 6;
std::string_view name(RunPhase phase);  // "forward"

class RunPhases {
 public:
  explicit RunPhases(const Model& model);

  // What an op or an annotation marks: Optimizer.step#, enumerate(DataLoader), nccl:all_reduce, a function of
  // the autograd engine. None: nothing by itself.
  std::optional<RunPhase> mark_of(EventId e);
  bool is_step(EventId e);  // as Model::is_step_mark
  bool has_forward(EventId op) const {
    return is_backward_[op];
  }  // it names the op whose gradient it computes
  // Of the nearest mark, itself or around it; without one, an op is forward, and everything else other.
  RunPhase of(EventId e);

 private:
  std::uint8_t mark_of_name(EventId e);

  const Model& model_;
  std::vector<bool> is_backward_;      // ops that have the number of a forward op
  std::vector<std::uint8_t> by_name_;  // by NameId: a RunPhase, or one of those below
};

}  // namespace pel::doctor
