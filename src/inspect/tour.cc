#include "inspect/tour.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/wrapped.h"

namespace pel::inspect {
namespace {

constexpr int kIndent = 13;

constexpr int kMaxLaunches = 8;  // shown per piece of evidence; the rest are counted

std::string evidence_text(const Evidence& evidence, const Terminal& terminal) {
  if (evidence.launches.empty())
    return fmt::format("  {} {}\n", pad_right(evidence.what, 24), terminal.dim("no kernel"));
  std::string out;
  std::string what = evidence.what;
  for (std::size_t i = 0; i < evidence.launches.size() && i < kMaxLaunches; ++i) {
    const Launch& launch = evidence.launches[i];
    out += fmt::format(
        "  {} {} {} {} {}\n", pad_right(what, 24), pad_right(launch.op, 7), pad_right(launch.kernel, 40),
        pad_left(readable_bytes(static_cast<double>(launch.bytes)), 9), pad_left(readable_ns(launch.ns), 9));
    what.clear();
  }
  if (evidence.launches.size() > kMaxLaunches)
    out += terminal.dim(
        fmt::format("  {} and {} more\n", pad_right("", 24), evidence.launches.size() - kMaxLaunches));
  return out;
}

std::size_t number_of(const TourStep& step) {
  return static_cast<std::size_t>(&step - tour_steps().data()) + 1;
}

}  // namespace

std::uint64_t Evidence::bytes() const {
  std::uint64_t sum = 0;
  for (const Launch& launch : launches) sum += launch.bytes;
  return sum;
}
double Evidence::kernel_ns() const {
  double sum = 0;
  for (const Launch& launch : launches) sum += launch.ns;
  return sum;
}

const TourStep* find_step(std::string_view name_or_number) {
  for (const TourStep& step : tour_steps()) {
    if (step.name == name_or_number || std::to_string(number_of(step)) == name_or_number) return &step;
  }
  return nullptr;
}

std::string step_list(const Terminal& terminal) {
  std::string out;
  for (const TourStep& step : tour_steps())
    out += fmt::format("{}  {}{}\n", number_of(step), terminal.bold(pad_right(step.name, 12)), step.title);
  return out;
}

std::string heading(const TourStep& step, const Terminal& terminal) {
  // The first line follows the word.
  std::string hypothesis;
  for (const std::string& line : wrapped(step.hypothesis, terminal.columns - kIndent))
    hypothesis += (hypothesis.empty() ? "" : "\n" + pad_right("", kIndent)) + line;
  return fmt::format("{}  {}\n\n  {} {}\n  {} {}\n\n", terminal.dim(std::to_string(number_of(step))),
                     terminal.bold(step.title), terminal.dim("hypothesis"), hypothesis,
                     terminal.dim("run       "), step.run);
}

std::string text(const Finding& finding, const Terminal& terminal) {
  std::string out;
  for (const Evidence& evidence : finding.evidence) out += evidence_text(evidence, terminal);
  for (const std::string& line : finding.figures) out += "  " + line + '\n';
  out +=
      fmt::format("\n  {} {}\n\n", finding.holds ? terminal.green("holds:") : terminal.red("does not hold:"),
                  finding.verdict);
  return out;
}

std::string summary(const std::vector<TakenStep>& taken, const Terminal& terminal) {
  std::size_t holding = 0;
  for (const TakenStep& step : taken) holding += step.finding.holds ? 1 : 0;
  const std::string line = fmt::format("{} of {} hold.\n", holding, taken.size());
  return holding == taken.size() ? terminal.green(line) : terminal.red(line);
}

std::string json(const std::vector<TakenStep>& taken) {
  JsonWriter json("pellucid.tour/1");
  json.key("steps").begin_array();
  for (const TakenStep& one : taken) {
    json.begin_object().field("name", one.step->name).field("title", one.step->title);
    json.field("hypothesis", one.step->hypothesis).field("holds", one.finding.holds);
    json.field("verdict", one.finding.verdict).key("evidence").begin_array();
    for (const Evidence& evidence : one.finding.evidence) {
      json.begin_object().field("what", evidence.what).field("syncs", evidence.syncs);
      json.key("launches").begin_array();
      for (const Launch& launch : evidence.launches) {
        json.begin_object().field("op", launch.op).field("kernel", launch.kernel);
        json.field("bytes", launch.bytes).field("ns", launch.ns).end_object();
      }
      json.end_array().end_object();
    }
    json.end_array().end_object();
  }
  return json.end_array().finish();
}

}  // namespace pel::inspect
