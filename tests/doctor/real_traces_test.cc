// Traces of PyTorch from many machines and years, with what is known of each: PELLUCID_TRACES names the
// folder, which has an EXPECTED.json beside them.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "doctor/readers/kineto.h"
#include "doctor/sources.h"

namespace pel::doctor {
namespace {

TEST(RealTraces, AreReadWholeWithTheCountsThatAreKnown) {
  const char* folder = std::getenv("PELLUCID_TRACES");
  if (folder == nullptr || !std::filesystem::exists(std::string(folder) + "/EXPECTED.json"))
    GTEST_SKIP() << "PELLUCID_TRACES names no folder with an EXPECTED.json";
  simdjson::dom::parser parser;
  int traces = 0;
  for (const auto [name, expected] :
       simdjson::dom::object(parser.load(std::string(folder) + "/EXPECTED.json").value())) {
    const std::string path = std::string(folder) + "/" + std::string(name);
    if (!std::filesystem::exists(path)) continue;
    ++traces;
    test::UnpackedSource source(path);
    const TraceSummary summary = read_kineto(source, [](const TraceEvent&) {});
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
  }
  EXPECT_GT(traces, 0);
}

}  // namespace
}  // namespace pel::doctor
