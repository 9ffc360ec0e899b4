// The threads of the doctor: one unpacks, one reads, the caller's visits, and the last two parse.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "doctor/diagnosis/diagnose.h"
#include "doctor/diagnosis/examination.h"
#include "doctor/readers/kineto.h"
#include "doctor/tests/made_trace.h"
#include "doctor/tests/packed.h"
#include "doctor/tests/sources.h"
#include "doctor/tests/trace_text.h"

namespace pel::doctor {
namespace {

std::string text_with_faults(int events, int fault_every) {
  test::TraceText text;
  for (int i = 0; i < events; ++i)
    text.op(2, "op" + std::to_string(i) + (i % fault_every == fault_every - 1 ? "\"" : ""), i + 0.5, 2);
  return text.text();
}

std::vector<std::string> names_of(const std::string& packed, Parsing parsing) {
  ReadOptions options;
  options.reading = Reading::Lenient;
  options.parsing = parsing;
  options.block_bytes = 2000;
  const auto source = unpacked(std::make_unique<test::TextSource>(packed, 1000));
  std::vector<std::string> names;
  read_kineto(*source, [&](const TraceEvent& e) { names.emplace_back(e.name); }, options);
  return names;
}

TEST(Traces, AreReadByThreeThreadsAsByOne) {
  for (const int fault_every : {300, 3000, 100000}) {
    const std::string packed = test::gzip_of(text_with_faults(8000, fault_every));
    EXPECT_EQ(names_of(packed, Parsing::Ahead), names_of(packed, Parsing::OnCallersThread)) << fault_every;
  }
}

TEST(Traces, AreDiagnosedByAllThreads) {
  test::MadeSource source({.steps = 1, .streams = 2, .has_shapes = true}, 4'000'000);
  EXPECT_GT(diagnose(Examination(source)).counts.totals.kernels, 1000u);
}

}  // namespace
}  // namespace pel::doctor
