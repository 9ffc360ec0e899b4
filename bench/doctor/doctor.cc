// Loading a trace from disk until it can be queried. The traces are generated, see doctor_traces.h: 20 MB for
// HTA, which takes seconds for that, and 256 MB; the one of 5 GB is generated while it is read, without a
// file.
#include <cstdint>
#include <string>
#include <vector>

#include "../support/memory_peak.h"
#include "../support/server.h"
#include "doctor/diagnosis/diagnose.h"
#include "traces.h"

namespace {

using namespace pel::doctor;

std::size_t load_whole(const std::string& path) { return diagnose(path).counts.totals.kernels; }

// Reads a generated trace of this size and stores nothing: the cost of the reader itself.
double reader_memory(std::uint64_t bytes) {
  return bench::memory_peak([&] {
    pel::test::MadeSource source(bench::training_plan(), bytes);
    read_kineto(source, [](const TraceEvent&) {});
  });
}
// Also builds the model and runs all analyses.
double diagnosis_memory(std::uint64_t bytes) {
  return bench::memory_peak([&] {
    pel::test::MadeSource source(bench::training_plan(), bytes);
    diagnose(Examination(source));
  });
}

}  // namespace

int main(int argc, char** argv) {
  using bench::Case, bench::trace_path;
  bench::make_traces();
  std::vector<Case> cases;
  const auto load = [&](const char* name, const char* file) {
    cases.emplace_back(name, [path = trace_path(file)] { return load_whole(path); });
  };
  load("load_20MB", "small.json");
  load("load_20MB_gz", "small.json.gz");
  load("plain_256MB", "large.json");
  load("gz_256MB", "large.json.gz");
  load("gz_256MB_zlib", "large.json.gz");
  load("zst_256MB", "large.json.zst");
  constexpr std::uint64_t kFiveGigabytes = 5'000'000'000;
  cases.emplace_back("reader_5GB", [] { reader_memory(kFiveGigabytes); });
  cases.back().measure = [](std::int64_t) { return reader_memory(kFiveGigabytes); };
  cases.emplace_back("diagnosis_5GB", [] { diagnosis_memory(kFiveGigabytes); });
  cases.back().measure = [](std::int64_t) { return diagnosis_memory(kFiveGigabytes); };
  return bench::serve(argc, argv, cases);
}
