// Reads traces and makes the report about them that was requested: from a command line, or from Python.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "doctor/diagnosis/examination.h"
#include "doctor/ranks/rank_facts.h"
#include "doctor/report/report.h"

namespace pel::doctor {

enum class Traces : std::uint8_t { Separate, RanksOfOneRun };
enum class KeepTrace : std::uint8_t { No, Yes };

struct ReportRequest {
  std::vector<std::string> traces;
  Traces are = Traces::Separate;
  std::vector<std::string> what_if{};  // each a question: "dispatch=0.5; syncs=0"
  std::string before{};                // a trace to compare the only one with; empty: none
  std::string expect{};                // conditions; empty: none
  Reading reading = Reading::Lenient;
  KeepTrace keep_trace = KeepTrace::No;  // the only one, for a page
  const StopFlag* stop = nullptr;
  // The name of the trace that is being read, and the share that is done of all traces. One call at a time.
  std::function<void(const std::string& what, double share)> progress{};
  // A trace that cannot be read, while others can.
  std::function<void(const std::string& reason)> unread{};
  // Each trace before it is forgotten. With it traces are read in parallel, and it is called by several
  // threads.
  std::function<void(std::size_t trace, const Examined&, const RankFacts&)> see{};
};

struct MadeReport {
  Report report;
  std::unique_ptr<Examination> trace{};  // with KeepTrace::Yes
};

// A FileError is about a trace: one of several that cannot be read is listed in the report, if reading is
// lenient. A ValueError is about what was requested, and most are thrown before anything is read.
MadeReport make_report(const ReportRequest& request);

}  // namespace pel::doctor
