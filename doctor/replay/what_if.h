// What-if questions: what would change with cheaper dispatch, without syncs, or on another device.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/analyses/analysis.h"
#include "doctor/replay/replay.h"

namespace pel::doctor {

// Above so many percent of the span that the graph does not explain, no answer is given.
inline constexpr double kMaxUnexplained = 5;

// Longer traces are replayed only if it was asked for: it takes as much memory as holding them.
inline constexpr std::size_t kMaxSpansToReplay = 8'000'000;

struct Question {
  std::string key, text;  // "dispatch=0.5", "dispatch costs half"
  Change change;
  std::string note{};  // what must be known of the answer; empty: nothing
};

// "dispatch=0.5; syncs=0; loading=0.2; kernels=0.5; gemm=0.5; device=H100". A ValueError says what may
// stand there.
Question parse_question(const Examined& examined, std::string_view text);

// Those that are asked of every trace.
std::vector<Question> usual_questions(const Examined& examined);

// The finding of that name: these questions first, then the usual ones.
std::optional<Finding> answer_questions(const Examined& examined, const std::vector<std::string>& questions);

struct Answer {
  std::int64_t span_ns = 0;
  std::int64_t step_ns =
      0;  // from the end of one step's last activity to that of the next, the median; 0: one step
  double times_faster = 1;  // of the span
};
class WhatIf {
 public:
  explicit WhatIf(const Examined& examined);
  Answer measured() const;
  Answer unchanged() const;  // the graph run again with nothing changed: how far it can be trusted
  Answer ask(const Change& change) const;
  // Why no answer can be given; empty: it can.
  std::string refusal() const;
  const ReplayGraph& graph() const { return graph_; }

 private:
  Answer answer_of(const Replayed& run) const;
  ReplayGraph graph_;
  std::int64_t measured_span_ns_;
};

}  // namespace pel::doctor
