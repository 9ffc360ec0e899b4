// Traces of PyTorch from many machines and years, with what is known of each: PELLUCID_TRACES names the
// folder, which also has an EXPECTED.json.
#include "doctor/tests/real_traces.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "doctor/diagnosis/diagnose.h"
#include "doctor/diagnosis/examination.h"
#include "doctor/readers/kineto.h"

namespace pel::doctor {
namespace {

using Json = simdjson::dom::element;

class RealTraces : public testing::Test {
 protected:
  void SetUp() override {
    PEL_SKIP_WITHOUT_TRACE("EXPECTED.json");
    folder_ = test::real_trace();
  }
  // Calls see(name, path, expected) for each that is there.
  template <class F>
  void each(F&& see) {
    simdjson::dom::parser parser;
    int traces = 0;
    for (const auto [name, expected] :
         simdjson::dom::object(parser.load(folder_ + "/EXPECTED.json").value())) {
      const std::string path = folder_ + "/" + std::string(name);
      if (!std::filesystem::exists(path)) continue;
      ++traces;
      SCOPED_TRACE(std::string(name));
      see(std::string(name), path, expected);
    }
    EXPECT_GT(traces, 0);
  }
  std::string folder_;
};

TEST_F(RealTraces, AreReadWholeWithTheCountsThatAreKnown) {
  each([](const std::string& name, const std::string& path, Json expected) {
    const TraceSummary summary = read_kineto(path, [](const TraceEvent&) {});
    EXPECT_EQ(summary.events, std::uint64_t(expected["events"])) << name;
    EXPECT_EQ(summary.bytes, std::uint64_t(expected["raw_bytes"])) << name;
    EXPECT_TRUE(summary.other_categories.empty()) << name << ": " << summary.other_categories.begin()->first;
    for (const auto [phase, count] : simdjson::dom::object(expected["phases"]))
      EXPECT_EQ(summary.count(phase_of(phase)), std::uint64_t(count)) << name << " " << phase;
    std::map<Category, std::uint64_t> categories;
    for (const auto [category, count] : simdjson::dom::object(expected["cats"]))
      categories[category == "None" ? Category::None : category_of(category)] += std::uint64_t(count);
    for (const auto& [category, count] : categories)
      EXPECT_EQ(summary.count(category), count) << name << " " << doctor::name(category);
    std::int64_t base;
    if (expected["meta"]["baseTimeNanoseconds"].get(base) == simdjson::SUCCESS) {
      EXPECT_EQ(summary.base_time_ns, base) << name;
    }
  });
}

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

bool contains(std::string_view text, std::string_view piece) {
  return text.find(piece) != std::string_view::npos;
}

// The value that so many percent of all are not above.
double quantile(std::vector<double>& values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

// Both round to so many digits.
constexpr double kThreeDigits = 0.0006, kTwoDigits = 0.006, kOneDigit = 0.06;

void expect_counts(Json expected, const std::map<std::string, std::int64_t>& seen) {
  std::map<std::string, std::int64_t> wanted;
  for (const auto [name, count] : simdjson::dom::object(expected))
    wanted[std::string(name)] = std::int64_t(count);
  EXPECT_EQ(seen, wanted);
}

// What is known of launches, devices, waits and steps was counted by another program.
TEST_F(RealTraces, MeanWhatIsKnownOfThem) {
  each([](const std::string&, const std::string& path, Json expected) {
    const Examination examination(path);
    const Model& model = examination.model();
    const DeviceTime& time = examination.examined().time;
    const EventTable& events = model.events();
    // It computed in doubles, which are that far apart at the times of the trace; ours are whole nanoseconds.
    const double last_us = model.activities().empty() ? 0 : microseconds(model.activities().back().end_ns);
    const double apart = std::nextafter(last_us, std::numeric_limits<double>::infinity()) - last_us;

    EXPECT_EQ(model.activities_without_launch(),
              std::uint64_t(expected["gpu_events_without_launch_in_trace"]));
    std::set<NameId> names;
    std::set<EventId> graphs;
    std::map<std::string, std::int64_t> via, sync_calls, sync_ops;
    std::vector<double> delays, durations;
    std::int64_t under_graph = 0, shorter = 0, copies_to_host = 0, kernel_ns = 0, below_10 = 0, sync_ns = 0;
    for (const Activity& activity : model.activities()) {
      const std::int64_t ns = activity.end_ns - activity.begin_ns;
      if (events.category(activity.event) == Category::Kernel) {
        names.insert(events.name_id(activity.event));
        durations.push_back(microseconds(ns));
        kernel_ns += ns;
        below_10 += ns < 10'000 ? 1 : 0;
      }
      copies_to_host += events.name(activity.event).starts_with("Memcpy DtoH") ? 1 : 0;
      if (activity.launch == kNoEvent) continue;
      ++via[std::string(events.name(activity.launch))];
      if (contains(events.name(activity.launch), "GraphLaunch")) {
        ++under_graph;
        graphs.insert(activity.launch);
        continue;
      }
      delays.push_back(std::max(0.0, microseconds(activity.begin_ns - events.end_ns(activity.launch))));
      shorter += ns < events.duration_ns(activity.launch) ? 1 : 0;
    }
    for (EventId e = 0; e < events.size(); ++e) {
      const std::string name(events.name(e));
      if (events.is_call(e) && contains(name, "Synchronize")) {
        ++sync_calls[name];
        sync_ns += events.duration_ns(e);
      }
      if (events.category(e) == Category::CpuOp &&
          (name == "aten::item" || name == "aten::_local_scalar_dense" || name == "aten::nonzero" ||
           name == "aten::is_nonzero"))
        ++sync_ops[name];
    }
    EXPECT_EQ(names.size(), std::uint64_t(expected["distinct_kernel_names"]));
    EXPECT_EQ(graphs.size(), std::uint64_t(expected["graph_launches_with_kernels"]));
    EXPECT_EQ(under_graph, std::int64_t(expected["gpu_events_under_graph"]));
    EXPECT_EQ(copies_to_host, std::int64_t(expected["dtoh_copies"]));
    EXPECT_EQ(shorter, std::int64_t(expected["gpu_events_shorter_than_their_launch_call"]));
    expect_counts(expected["launched_via"], via);
    expect_counts(expected["sync_calls"], sync_calls);
    expect_counts(expected["sync_ops"], sync_ops);
    EXPECT_NEAR(microseconds(sync_ns), double(expected["sync_time_us"]), kOneDigit);
    EXPECT_EQ(delays.size(), std::uint64_t(expected["launch_delay_us"]["n"]));
    if (!delays.empty()) {
      EXPECT_NEAR(quantile(delays, 0.5), double(expected["launch_delay_us"]["p50"]),
                  kThreeDigits + 4 * apart);
      EXPECT_NEAR(quantile(delays, 0.9), double(expected["launch_delay_us"]["p90"]),
                  kThreeDigits + 4 * apart);
    }
    double span_us;
    EXPECT_EQ(model.activities().empty(), expected["gpu_span_us"].get(span_us) != simdjson::SUCCESS);
    if (!model.activities().empty()) {
      const TimeShares& all = time.all();
      EXPECT_NEAR(microseconds(all.total()), span_us, kThreeDigits + 4 * apart);
      EXPECT_NEAR(microseconds(all.busy_ns), double(expected["gpu_busy_us"]),
                  kThreeDigits + 2 * apart * static_cast<double>(model.activities().size()));
      EXPECT_NEAR(100 * static_cast<double>(all.idle()) / static_cast<double>(all.total()),
                  double(expected["gpu_idle_pct"]), kTwoDigits);
      EXPECT_NEAR(microseconds(kernel_ns), double(expected["kernel_dur_us"]["sum"]), kThreeDigits);
      EXPECT_NEAR(quantile(durations, 0.5), double(expected["kernel_dur_us"]["p50"]), kThreeDigits);
      EXPECT_EQ(below_10, std::int64_t(expected["kernel_dur_us"]["lt10us"]));
    }
    for (const auto [name, known] : simdjson::dom::object(expected["per_step_by_launch_time"])) {
      std::int64_t activities = 0, of_kernels = 0;
      for (const Activity& activity : model.activities()) {
        if (activity.step == kNoStep || model.steps()[activity.step].name != name) continue;
        ++activities;
        of_kernels += events.category(activity.event) == Category::Kernel ? 1 : 0;
      }
      EXPECT_EQ(activities, std::int64_t(known["gpu_events"])) << name;
      EXPECT_EQ(of_kernels, std::int64_t(known["kernels"])) << name;
    }
  });
}

// Each verdict with its numbers, read and judged by eye. PELLUCID_WRITE_DOCS=1 writes them again.
TEST_F(RealTraces, GetTheVerdictsThatWereJudged) {
  const std::string golden = PELLUCID_SOURCE_DIR "/doctor/tests/golden/real_verdicts.txt";
  std::string text;
  each([&](const std::string& name, const std::string& path, Json expected) {
    const Diagnosis diagnosis = diagnose(path);
    const auto known = [&](const char* key) { return std::uint64_t(expected[key]); };
    EXPECT_EQ(diagnosis.counts.totals.kernels, known("kernels"));
    EXPECT_EQ(diagnosis.counts.totals.memcpy, known("memcpy"));
    EXPECT_EQ(diagnosis.counts.totals.memset, known("memset"));
    EXPECT_EQ(diagnosis.counts.totals.graph_launches, known("graph_launches_with_kernels"));
    std::uint64_t syncs = 0;
    for (const auto [call, count] : simdjson::dom::object(expected["sync_calls"]))
      syncs += std::uint64_t(count);
    EXPECT_EQ(diagnosis.counts.totals.syncs, syncs);
    text += fmt::format("{}\n  {}: {}\n", name, doctor::name(diagnosis.verdict.bound),
                        diagnosis.verdict.sentence);
    for (const std::string& reason : diagnosis.verdict.reasons) text += fmt::format("  - {}\n", reason);
  });
  if (std::getenv("PELLUCID_WRITE_DOCS") != nullptr) std::ofstream(golden) << text;
  std::ifstream file(golden);
  const std::string judged((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text, judged);
}

}  // namespace
}  // namespace pel::doctor
