#include "doctor/replay/what_if.h"

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

#include "pellucid/error.h"

#include "base/median.h"
#include "base/readable.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"
#include "doctor/replay/other_device.h"

namespace pel::doctor {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Collectives are left out: their time holds the waits of other ranks.
template <class F>
void scale_activities(const Examined& examined, Change& change, F&& factor_of) {
  const std::span<const Activity> activities = examined.model.activities();
  if (change.activity_scale.empty()) change.activity_scale.assign(activities.size(), 1);
  for (std::size_t w = 0; w < activities.size(); ++w) {
    if (!examined.kernels.is_collective(activities[w].event))
      change.activity_scale[w] *= static_cast<float>(factor_of(activities[w], w));
  }
}

void move_to(const Examined& examined, Question& question, std::string_view name) {
  const Device* target = find_device_by_label(name);
  if (target == nullptr) {
    std::vector<std::string> labels;
    for (const Device& device : known_devices()) labels.push_back(label_of(device));
    throw ValueError(
        fmt::format("what if: there is no data sheet for the device \"{}\"; known devices are {}", name,
                    fmt::join(labels, ", ")));
  }
  const OtherDevice other(examined);
  if (!other.refusal().empty())
    throw ValueError(
        fmt::format("what if: \"device={}\" cannot be answered because {}", name, other.refusal()));
  SaturatingSum activities_ns;
  double moved_ns = 0;
  scale_activities(examined, question.change, [&](const Activity& activity, std::size_t w) {
    const float factor = other.factor(other.class_of(w), *target);
    activities_ns += activity.end_ns - activity.begin_ns;
    moved_ns += factor * static_cast<double>(activity.end_ns - activity.begin_ns);
    return factor;
  });
  const std::string label = label_of(*target);
  question.text += fmt::format("on {}, roofline estimate", label);
  question.note = fmt::format("On {} kernels and copies take {} in total instead of {}.", label,
                              readable_ns(moved_ns), readable_ns(activities_ns));
}

}  // namespace

Question parse_question(const Examined& examined, std::string_view text) {
  Question question{.key = std::string(trimmed(text)), .text = {}, .change = {}};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view part = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const std::string_view key = trimmed(part.substr(0, equals));
    const std::string_view value = equals == std::string_view::npos ? "" : trimmed(part.substr(equals + 1));
    double factor = 0;
    const auto [past, error] = std::from_chars(value.data(), value.data() + value.size(), factor);
    const bool is_number =
        error == std::errc() && past == value.data() + value.size() && factor >= 0 && factor <= 1000;
    const auto number = [&] {
      if (!is_number)
        throw ValueError(
            fmt::format("what if: \"{}\" needs a number from 0 to 1000, such as {}=0.5", part, key));
      return factor;
    };
    if (!question.text.empty()) question.text += ", ";
    if (key == "dispatch") {
      question.change.dispatch = number();
      question.text += fmt::format("dispatch x {}", value);
    } else if (key == "loading") {
      question.change.loading = number();
      question.text += fmt::format("loading data x {}", value);
    } else if (key == "syncs") {
      if (number() != 0) throw ValueError("what if: syncs can only be left out: write syncs=0");
      question.change.without_syncs = true;
      question.text += "without syncs";
    } else if (key == "kernels") {
      const double scale = number();
      scale_activities(examined, question.change, [&](const Activity&, std::size_t) { return scale; });
      question.text += fmt::format("kernels x {}", value);
    } else if (key == "device") {
      move_to(examined, question, value);
    } else if (const auto family = family_of(key); family != KernelFamily::Unknown) {
      const double scale = number();
      scale_activities(examined, question.change, [&](const Activity& activity, std::size_t) {
        return examined.kernels.family(activity.event) == family ? scale : 1.0;
      });
      question.text += fmt::format("{} x {}", key, value);
    } else {
      throw ValueError(
          fmt::format("what if: \"{}\" cannot be changed; give dispatch, loading, syncs, kernels, device, or "
                      "a kernel family "
                      "such as gemm",
                      key));
    }
  }
  if (question.text.empty()) throw ValueError("what if: the question is empty; try dispatch=0.5 or syncs=0");
  return question;
}

std::vector<Question> usual_questions(const Examined& examined) {
  std::vector<Question> questions;
  const auto ask = [&](std::string_view key, std::string_view text) {
    questions.push_back(parse_question(examined, key));
    questions.back().text = text;
  };
  ask("dispatch=0.5", "dispatch takes half the time");
  ask("dispatch=0", "dispatch takes no time: the bound for a CUDA graph");
  if (examined.time.all().idle(IdleCause::Input) != 0) ask("loading=0", "data loading takes no time");
  ask("syncs=0", "the host never waits for the device");
  ask("kernels=0.5", "kernels take half the time, except collectives");
  return questions;
}

WhatIf::WhatIf(const Examined& examined)
    : graph_(examined.model, examined.time), measured_span_ns_(doctor::measured(graph_).span_ns) {}

Answer WhatIf::answer_of(const Replayed& run) const {
  Answer answer{.span_ns = run.span_ns};
  std::vector<std::int64_t> periods;
  for (std::size_t i = 1; i < run.step_ends_ns.size(); ++i)
    periods.push_back(saturating_sub(run.step_ends_ns[i], run.step_ends_ns[i - 1]));
  answer.step_ns = median_of(std::move(periods));
  answer.times_faster =
      run.span_ns <= 0 ? 1 : static_cast<double>(measured_span_ns_) / static_cast<double>(run.span_ns);
  return answer;
}
Answer WhatIf::measured() const { return answer_of(doctor::measured(graph_)); }
Answer WhatIf::unchanged() const { return answer_of(replay(graph_)); }
Answer WhatIf::ask(const Change& change) const { return answer_of(replay(graph_, change)); }

std::string WhatIf::refusal() const {
  const double unexplained = percent_of(graph_.unexplained_ns(), measured_span_ns_);
  if (unexplained > kMaxUnexplained)
    return fmt::format(
        "{:.1f} % of the span is idle time that nothing in the trace explains, more than {:.0f} %: no "
        "prediction is possible.",
        unexplained, kMaxUnexplained);
  const double off =
      100 * (static_cast<double>(unchanged().span_ns) / static_cast<double>(measured_span_ns_) - 1);
  if (off > kMaxUnexplained || off < -kMaxUnexplained)
    return fmt::format(
        "Replayed with nothing changed, the span is off by {:+.1f} %: no prediction is "
        "possible.",
        off);
  return {};
}

}  // namespace pel::doctor
