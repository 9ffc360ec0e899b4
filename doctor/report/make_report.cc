#include "doctor/report/make_report.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/file_name.h"
#include "base/terminal.h"
#include "doctor/compare/diff.h"
#include "doctor/compare/summary_file.h"
#include "doctor/diagnosis/diagnose.h"
#include "doctor/model/run_in_parallel.h"
#include "doctor/ranks/compare_ranks.h"
#include "doctor/ranks/read_ranks.h"

namespace pel::doctor {
namespace {

// How much was read of all traces, whichever threads read them.
class ReadingProgress {
 public:
  explicit ReadingProgress(const ReportRequest& request) : request_(request), done_(request.traces.size()) {}

  void see(std::size_t trace, const SourceProgress& progress) {
    if (progress.all_bytes == 0 || !request_.progress) return;
    const std::scoped_lock lock(mutex_);
    done_[trace] = static_cast<double>(progress.done_bytes) / static_cast<double>(progress.all_bytes);
    std::string what = printable(file_name(request_.traces[trace]));
    if (done_.size() > 1) what += fmt::format(", {} of {}", trace + 1, done_.size());
    const double all = std::accumulate(done_.begin(), done_.end(), 0.0) / static_cast<double>(done_.size());
    request_.progress(what, std::min(all, 0.99));
  }

 private:
  const ReportRequest& request_;
  std::mutex mutex_;
  std::vector<double> done_;
};

ReadOptions read_options(const ReportRequest& request) {
  ReadOptions options;
  options.reading = request.reading;
  options.stop = request.stop;
  return options;
}

Diagnosis diagnose_one(const Examination& examination, const ReportRequest& request) {
  Diagnosis diagnosis = diagnose(examination, request.what_if);
  if (!request.before.empty()) {
    std::optional<StepSummary> before = read_summary(request.before);
    if (!before) before = summarize(Examination(request.before, read_options(request)).examined());
    check_stop(request.stop);
    std::vector<Finding> changes = compare(*before, summarize(examination.examined()));
    for (Finding& change : changes) change.is_asked_for = true;
    diagnosis.before = request.before;
    diagnosis.counts_before = std::move(before->counts);
    diagnosis.findings.insert(diagnosis.findings.begin(), changes.begin(), changes.end());
  }
  return diagnosis;
}

// One of several traces that cannot be read does not keep the others from being shown.
MadeReport examine_each(const ReportRequest& request) {
  const std::size_t count = request.traces.size();
  const std::size_t max_at_once = request.see ? 0 : 1;
  std::vector<std::optional<Diagnosis>> diagnoses(count);
  std::vector<std::optional<FileError>> errors(count);
  MadeReport made;
  ReadingProgress progress(request);
  run_in_parallel(count, max_at_once, [&](std::size_t i) {
    ReadOptions options = read_options(request);
    if (count > 1 && max_at_once != 1) options.parsing = Parsing::OnCallersThread;
    options.progress = [&](const SourceProgress& read) { progress.see(i, read); };
    std::unique_ptr<Examination> examination;
    try {
      examination = std::make_unique<Examination>(request.traces[i], options);
    } catch (const FileError& error) {
      if (request.reading == Reading::Strict || count == 1) throw;
      errors[i] = error;
      return;
    }
    diagnoses[i] = diagnose_one(*examination, request);
    if (request.see)
      request.see(i, examination->examined(), reduce_rank(examination->examined(), examination->path()));
    if (request.keep_trace == KeepTrace::Yes) made.trace = std::move(examination);  // the only one
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (diagnoses[i]) {
      made.report.traces.push_back({std::move(*diagnoses[i])});
      continue;
    }
    const bool is_last_hope = i + 1 == count && made.report.traces.empty();
    if (is_last_hope) throw FileError(*errors[i]);
    if (request.unread) request.unread(errors[i]->what());
    made.report.unread.push_back({request.traces[i], errors[i]->what()});
  }
  return made;
}

// Each rank is reduced as it is read; none is shown on its own.
MadeReport examine_ranks(const ReportRequest& request) {
  ReadingProgress progress(request);
  RanksOptions options;
  options.read = read_options(request);
  options.progress = [&](std::size_t i, const SourceProgress& read) { progress.see(i, read); };
  options.see = request.see;
  MadeReport made;
  made.report.together = compare_ranks(read_ranks(request.traces, options));
  return made;
}

void check_expectations(Report& report, const std::vector<Condition>& conditions) {
  std::vector<const Diagnosis*> traces;
  for (const Report::Trace& trace : report.traces) traces.push_back(&trace.diagnosis);
  check_words(conditions, traces);
  for (Report::Trace& trace : report.traces) trace.expectations = check(conditions, trace.diagnosis);
}

}  // namespace

MadeReport make_report(const ReportRequest& request) {
  PEL_ASSERT(request.keep_trace == KeepTrace::No || request.traces.size() == 1, "a page shows one trace");
  PEL_ASSERT(request.before.empty() || request.traces.size() == 1, "two traces are compared");
  std::vector<Condition> conditions;
  if (!request.expect.empty()) conditions = parse_conditions(request.expect);
  for (const Condition& condition : conditions)
    PEL_CHECK(!request.before.empty() || !is_about_more(condition), ValueError,
              "the condition '{}' compares with another trace: give that one by --before", condition.text);
  MadeReport made = request.are == Traces::RanksOfOneRun ? examine_ranks(request) : examine_each(request);
  if (!conditions.empty()) check_expectations(made.report, conditions);
  return made;
}

}  // namespace pel::doctor
