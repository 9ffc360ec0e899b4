// The predicted duration of the run with other costs.
#include "doctor/replay/what_if.h"

#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/shared.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"
#include "doctor/replay/other_device.h"

namespace pel::doctor {

std::optional<Finding> analyse_what_if(const Examined& examined) { return answer_questions(examined, {}); }

std::optional<Finding> answer_questions(const Examined& examined, const std::vector<std::string>& questions) {
  std::vector<Question> asked;
  for (const std::string& question : questions) asked.push_back(parse_question(examined, question));
  if (examined.model.activities().empty() ||
      examined.model.activities().size() == examined.model.activities_without_launch())
    return std::nullopt;
  if (questions.empty() && examined.model.events().size() > kMaxSpansToReplay)
    return Finding{
        .key = "what_if",
        .title = "What if",
        .sentences = {fmt::format("The trace has {} spans. Replaying it takes as much memory as holding it, "
                                  "so it is replayed only with --what-if.",
                                  examined.model.events().size())}};
  const std::shared_ptr<const WhatIf> replay = replay_of(examined);
  const WhatIf& what_if = *replay;
  const Answer measured = what_if.measured(), unchanged = what_if.unchanged();
  Finding finding{.key = "what_if", .title = "What if"};
  finding.facts = {
      {"measured_ns", "measured", measured.span_ns, Unit::Nanoseconds},
      {"replayed_ns", "replayed, nothing changed", unchanged.span_ns, Unit::Nanoseconds},
      {"unexplained", "unexplained idle time", percent_of(what_if.graph().unexplained_ns(), measured.span_ns),
       Unit::Percent},
      {"inferred_edges", "inferred waits",
       static_cast<std::int64_t>(what_if.graph().edges_of(EdgeKind::Inferred)), Unit::Count},
  };
  if (std::string why = what_if.refusal(); !why.empty()) {
    finding.sentences.push_back(std::move(why));
    return finding;
  }
  Table table{.key = "answers",
              .title = "from the first activity to the end of the last",
              .columns = {{"question", ""},
                          {"text", "if", Unit::None, true},
                          {"span_ns", "it takes", Unit::Nanoseconds},
                          {"saved", "saved", Unit::Percent},
                          {"times_faster", "times faster"}},
              .rows = {}};
  for (Question& question : usual_questions(examined)) asked.push_back(std::move(question));
  for (const Question& question : asked) {
    if (!question.note.empty()) finding.sentences.push_back(question.note);
    const Answer answer = what_if.ask(question.change);
    table.rows.push_back({question.key, question.text, answer.span_ns,
                          percent_of(saturating_sub(measured.span_ns, answer.span_ns), measured.span_ns),
                          fmt::format("{:.2f}", answer.times_faster)});
  }
  if (!finding.sentences.empty())
    finding.sentences.push_back(
        fmt::format("This is a roofline estimate without collectives: matmuls scale with the peaks of the "
                    "data sheets, other "
                    "kernels and copies with memory bandwidth; activities of at most {} keep their time.",
                    readable_ns(kTooShortNs)));
  finding.tables.push_back(std::move(table));
  return finding;
}

}  // namespace pel::doctor
