#include "doctor/compare/summary_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/check.h"
#include "base/json_writer.h"
#include "doctor/model/saturating.h"
#include "doctor/readers/byte_source.h"

namespace pel::doctor {
namespace {

constexpr std::string_view kSummarySchema = "pellucid.doctor_summary/1";
constexpr std::size_t kMaxExpanded =
    2'000'000;  // ops and activities of a step, against files that are made up
constexpr std::uint32_t kMaxNesting = 64;
constexpr std::array<std::pair<std::string_view, std::uint64_t Totals::*>, 5> kTotals{
    {{"kernels", &Totals::kernels},
     {"memcpy", &Totals::memcpy},
     {"memset", &Totals::memset},
     {"graph_launches", &Totals::graph_launches},
     {"syncs", &Totals::syncs}}};
constexpr std::array<Category, 3> kActivities{Category::Kernel, Category::Memcpy, Category::Memset};

// Activities of an op that follow each other and are alike.
struct ActivityRun {
  std::uint32_t kernel = 0, chain = 0;
  std::int64_t times = 0;
  SaturatingSum all_ns{};  // of all ops that are this part
  auto key() const { return std::tuple(kernel, chain, times); }
};

// An op and all below it. Ops that are alike are one part.
struct Part {
  std::uint32_t name = 0;
  std::vector<ActivityRun> runs;
  std::vector<std::pair<std::uint32_t, std::int64_t>> children;  // parts, and how often in a row
};

class PartFinder {
 public:
  explicit PartFinder(const StepSummary& summary) : summary_(summary), children_(summary.ops.size()) {
    for (std::uint32_t op = 0; op < summary.ops.size(); ++op) {
      if (summary.ops[op].parent != StepOp::kNone) children_[summary.ops[op].parent].push_back(op);
    }
    std::vector<std::uint32_t> part_of(summary.ops.size());
    for (auto op = static_cast<std::uint32_t>(summary.ops.size()); op-- > 0;)  // children are after their op
      part_of[op] = find(op, part_of);
    for (std::uint32_t op = 0; op < summary.ops.size(); ++op) {
      if (summary.ops[op].parent == StepOp::kNone) threads.push_back(part_of[op]);
    }
  }

  std::vector<Part> parts;
  std::vector<std::uint32_t> threads;

 private:
  std::uint32_t find(std::uint32_t op, const std::vector<std::uint32_t>& part_of) {
    Part part{.name = summary_.ops[op].name, .runs = {}, .children = {}};
    for (const std::uint32_t w : summary_.ops[op].activities) {
      const StepActivity& activity = summary_.activities[w];
      if (part.runs.empty() || part.runs.back().kernel != activity.kernel ||
          part.runs.back().chain != activity.chain)
        part.runs.push_back({.kernel = activity.kernel, .chain = activity.chain});
      ++part.runs.back().times;
      part.runs.back().all_ns += activity.duration_ns;
    }
    for (const std::uint32_t child : children_[op]) {
      if (part.children.empty() || part.children.back().first != part_of[child])
        part.children.emplace_back(part_of[child], 0);
      ++part.children.back().second;
    }
    Key key{part.name, {}, part.children};
    for (const ActivityRun& run : part.runs) std::get<1>(key).push_back(run.key());
    const auto [at, is_new] = ids_.try_emplace(std::move(key), static_cast<std::uint32_t>(parts.size()));
    if (is_new) {
      parts.push_back(std::move(part));
    } else {
      for (std::size_t i = 0; i < part.runs.size(); ++i)
        parts[at->second].runs[i].all_ns += part.runs[i].all_ns;
    }
    return at->second;
  }

  using Key = std::tuple<std::uint32_t, std::vector<decltype(ActivityRun().key())>,
                         std::vector<std::pair<std::uint32_t, std::int64_t>>>;
  const StepSummary& summary_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::map<Key, std::uint32_t> ids_;
};

void write_quantities(JsonWriter& json, const Quantities& quantities) {
  json.begin_object();
  for (const auto& [name, number] : quantities) {
    if (number != 0) json.field(name, number);
  }
  json.end_object();
}

using Element = simdjson::dom::element;

// Makes errors of simdjson those of the file.
class SummaryReader {
 public:
  SummaryReader(const std::string& path, Element document) : path_(path), document_(document) {}

  StepSummary run() {
    StepSummary summary;
    summary.step = text(field(document_, "step"));
    summary.steps = static_cast<std::size_t>(natural(field(document_, "steps")));
    summary.device = text(field(document_, "device"));
    summary.launches = natural(field(document_, "launches"));
    for (const Element one : list(field(document_, "texts"))) summary.texts.push_back(text(one));
    require(!summary.texts.empty() && summary.texts[0].empty(), "its first text is not empty");
    for (const Element one : list(field(document_, "kernels"))) {
      const std::vector<Element> values = list(one);
      require(values.size() == 2, "a kernel has a name and a category");
      const auto category = static_cast<std::size_t>(natural(values[1]));
      require(category < kActivities.size(), "a kernel has an unknown category");
      summary.kernels.emplace_back(text(values[0]), kActivities[category]);
    }
    read_time(summary.time);
    read_counts(summary.counts);
    read_parts(summary);
    count_parts();
    for (const Element thread : list(field(document_, "threads")))
      expand(summary, index(thread, parts_.size()), StepOp::kNone, 0);
    return summary;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw FileError(fmt::format("{} is not a whole summary: {}; write it again with --summary", path_, what));
  }
  void require(bool holds, std::string_view what) const {
    if (!holds) fail(what);
  }
  Element field(Element object, std::string_view key) const {
    Element value;
    if (object[key].get(value) != simdjson::SUCCESS) fail(fmt::format("it has no '{}'", key));
    return value;
  }
  std::string text(Element value) const {
    std::string_view view;
    require(value.get(view) == simdjson::SUCCESS, "a text was expected");
    return std::string(view);
  }
  std::int64_t natural(Element value) const {
    std::int64_t number = -1;
    require(value.get(number) == simdjson::SUCCESS && number >= 0, "a number of 0 or more was expected");
    return number;
  }
  std::uint32_t index(Element value, std::size_t below) const {
    const std::int64_t number = natural(value);
    require(static_cast<std::uint64_t>(number) < below, "a number refers to nothing");
    return static_cast<std::uint32_t>(number);
  }
  std::vector<Element> list(Element value) const {
    simdjson::dom::array array;
    require(value.get(array) == simdjson::SUCCESS, "a list was expected");
    return {array.begin(), array.end()};
  }
  Quantities quantities(Element value) const {
    simdjson::dom::object object;
    require(value.get(object) == simdjson::SUCCESS, "an object was expected");
    Quantities found;
    for (const auto& [key, number] : object) {
      double amount = 0;
      require(number.get(amount) == simdjson::SUCCESS, "a number was expected");
      found.emplace_back(std::string(key), amount);
    }
    return found;
  }

  void read_time(TimeShares& time) const {
    const std::vector<Element> values = list(field(document_, "time"));
    require(values.size() == 3 + kIdleCauseCount, "its time has other parts");
    time.busy_ns = natural(values[0]);
    time.collective_ns = natural(values[1]);
    time.communication_ns = natural(values[2]);
    for (std::size_t cause = 0; cause < kIdleCauseCount; ++cause)
      time.idle_ns[cause] = natural(values[3 + cause]);
  }

  void read_counts(RunCounts& counts) const {
    for (auto& [name, number] : quantities(field(document_, "counts"))) {
      const auto at = std::ranges::find(kTotals, name, [](const auto& total) { return total.first; });
      if (at == kTotals.end()) {
        counts.quantities.emplace_back(name, number);
      } else {
        counts.totals.*at->second = number < 9e15 ? static_cast<std::uint64_t>(std::max(0.0, number)) : 0;
      }
    }
    const std::vector<Element> step = list(field(document_, "counts_of_step"));
    if (!step.empty()) counts.steps.push_back(quantities(step[0]));
  }

  void read_parts(const StepSummary& summary) {
    for (const Element one : list(field(document_, "parts"))) {
      const std::vector<Element> values = list(one);
      require(values.size() == 3, "a part has a name, activities and parts");
      Part part{.name = index(values[0], summary.texts.size()), .runs = {}, .children = {}};
      const std::vector<Element> runs = list(values[1]), children = list(values[2]);
      require(runs.size() % 4 == 0 && children.size() % 2 == 0, "a part is cut off");
      for (std::size_t i = 0; i < runs.size(); i += 4)
        part.runs.push_back({.kernel = index(runs[i], summary.kernels.size()),
                             .chain = index(runs[i + 1], summary.texts.size()),
                             .times = natural(runs[i + 2]),
                             .all_ns = natural(runs[i + 3])});
      for (std::size_t i = 0; i < children.size(); i += 2)
        part.children.emplace_back(index(children[i], parts_.size()),
                                   natural(children[i + 1]));  // written before
      parts_.push_back(std::move(part));
    }
  }

  // How many ops are each part. Parts are before those that contain them.
  void count_parts() {
    std::vector<std::int64_t> ops(parts_.size());
    for (const Element thread : list(field(document_, "threads"))) ++ops[index(thread, parts_.size())];
    for (std::size_t part = parts_.size(); part-- > 0;) {
      for (const auto& [child, times] : parts_[part].children)
        ops[child] = saturating_add(ops[child], saturating_mul(times, ops[part]));
    }
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      for (const ActivityRun& run : parts_[part].runs)
        left_.push_back({saturating_mul(run.times, ops[part]), run.all_ns});
      first_left_.push_back(left_.size() - parts_[part].runs.size());
    }
  }

  void expand(StepSummary& summary, std::uint32_t part, std::uint32_t parent, std::uint32_t depth) {
    require(depth < kMaxNesting, "its ops are nested too deep");
    const auto op = static_cast<std::uint32_t>(summary.ops.size());
    require(summary.ops.size() + summary.activities.size() < kMaxExpanded, "it has too many ops");
    summary.ops.push_back({.name = parts_[part].name, .parent = parent});
    for (std::size_t i = 0; i < parts_[part].runs.size(); ++i) {
      const ActivityRun& run = parts_[part].runs[i];
      Left& left = left_[first_left_[part] + i];
      for (std::int64_t time = 0; time < run.times; ++time) {
        require(summary.activities.size() < kMaxExpanded && left.times > 0, "it has too many activities");
        const std::int64_t ns = left.ns / left.times;
        left.ns -= ns;
        --left.times;
        summary.ops[op].activities.push_back(static_cast<std::uint32_t>(summary.activities.size()));
        summary.activities.push_back({.kernel = run.kernel, .chain = run.chain, .duration_ns = ns});
      }
    }
    for (const auto& [child, times] : parts_[part].children) {
      for (std::int64_t time = 0; time < times; ++time) expand(summary, child, op, depth + 1);
    }
  }

  struct Left {
    std::int64_t times, ns;
  };
  const std::string& path_;
  Element document_;
  std::vector<Part> parts_;
  std::vector<Left> left_;  // of runs, in the order of parts
  std::vector<std::size_t> first_left_;
};

std::string without_blanks(const std::string& json) {
  simdjson::dom::parser parser;
  Element document;
  const simdjson::error_code error = parser.parse(json).get(document);
  PEL_ASSERT(error == simdjson::SUCCESS, "JsonWriter writes JSON");
  return simdjson::minify(document) + "\n";
}

std::string all_of(ByteSource& source, std::string text) {
  std::array<char, 4096> buffer;
  while (const std::size_t count = source.read(buffer.data(), buffer.size())) {
    text.append(buffer.data(), count);
    if (text.size() > 100 * kMaxSummaryBytes) break;  // no summary is so long
  }
  return text;
}

}  // namespace

std::string summary_text(const StepSummary& summary) {
  const PartFinder found(summary);
  JsonWriter json(kSummarySchema);
  json.field("step", summary.step).field("steps", summary.steps).field("device", summary.device);
  json.field("launches", summary.launches);
  json.key("time").begin_array();
  for (const std::int64_t ns : {std::int64_t{summary.time.busy_ns}, std::int64_t{summary.time.collective_ns},
                                std::int64_t{summary.time.communication_ns}})
    json.value(ns);
  for (const std::int64_t ns : summary.time.idle_ns) json.value(ns);
  json.end_array();
  json.key("counts");
  write_quantities(json, all_quantities(summary.counts));
  json.key("counts_of_step").begin_array();
  if (const auto typical = typical_counts(summary.counts)) write_quantities(json, *typical);
  json.end_array();
  json.key("texts").begin_array();
  for (const std::string& text : summary.texts) json.value(text);
  json.end_array().key("kernels").begin_array();
  for (const StepKernel& kernel : summary.kernels) {
    const auto at = std::ranges::find(kActivities, kernel.category);
    json.begin_array()
        .value(kernel.name)
        .value(at == kActivities.end() ? 0 : at - kActivities.begin())
        .end_array();
  }
  json.end_array().key("parts").begin_array();
  for (const Part& part : found.parts) {
    json.begin_array().value(part.name).begin_array();
    for (const ActivityRun& run : part.runs)
      json.value(run.kernel).value(run.chain).value(run.times).value(std::int64_t{run.all_ns});
    json.end_array().begin_array();
    for (const auto& [child, times] : part.children) json.value(child).value(times);
    json.end_array().end_array();
  }
  json.end_array().key("threads").begin_array();
  for (const std::uint32_t thread : found.threads) json.value(thread);
  json.end_array();
  const std::string text = without_blanks(json.finish());
  PEL_CHECK(
      text.size() <= kMaxSummaryBytes, ValueError,
      "the summary takes {} bytes, and may take {}: its step has {} kernels of {} names; keep the trace "
      "instead, and give it to --before",
      text.size(), kMaxSummaryBytes, summary.activities.size(), summary.kernels.size());
  return text;
}

std::optional<StepSummary> read_summary(const std::string& path) {
  if (path == "-") return {};  // it can be read once only
  const std::string begins = fmt::format(R"({{"schema":"{}")", kSummarySchema);
  const std::unique_ptr<ByteSource> source = open_source(path);
  std::string text(begins.size(), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const std::size_t count = source->read(text.data() + filled, text.size() - filled);
    if (count == 0) break;
    filled += count;
  }
  if (text != begins) return {};
  text = all_of(*source, std::move(text));
  simdjson::dom::parser parser;
  Element document;
  PEL_CHECK(parser.parse(text).get(document) == simdjson::SUCCESS, FileError,
            "{} is not a whole summary: its JSON is broken; write it again with --summary", path);
  return SummaryReader(path, document).run();
}

}  // namespace pel::doctor
