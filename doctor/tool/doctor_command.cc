// pellucid doctor: what a run was bound by, from its trace.
#include "doctor/tool/doctor_command.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "pellucid/error.h"

#include "base/file_name.h"
#include "doctor/compare/diff.h"
#include "doctor/diagnosis/diagnose.h"
#include "doctor/fleet/fleet_folder.h"
#include "doctor/model/run_in_parallel.h"
#include "doctor/ranks/compare_ranks.h"
#include "doctor/ranks/read_ranks.h"
#include "doctor/report/html.h"
#include "doctor/report/json.h"
#include "doctor/report/text.h"

namespace pel::tool {
namespace {

struct DoctorOptions {
  std::vector<std::string> traces, only, what_if;
  std::string expect, html, before, parquet;
  bool is_strict = false, are_ranks = false;
  std::size_t top = 0;
};

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw FileError(fmt::format("{} cannot be written", path));
}

// How much was read of all traces, whichever threads read them.
class ReadingProgress {
 public:
  explicit ReadingProgress(std::span<const std::string> traces) : traces_(traces), done_(traces.size()) {}
  ReadingProgress(const ReadingProgress&) = delete;
  ReadingProgress& operator=(const ReadingProgress&) = delete;
  ~ReadingProgress() { show_progress("", 1); }  // clears the bar before the report

  void see(std::size_t trace, const doctor::SourceProgress& progress) {
    if (progress.all_bytes == 0) return;
    const std::scoped_lock lock(mutex_);
    done_[trace] = static_cast<double>(progress.done_bytes) / static_cast<double>(progress.all_bytes);
    std::string what = printable(file_name(traces_[trace]));
    if (traces_.size() > 1) what += fmt::format(", {} of {}", trace + 1, traces_.size());
    const double all = std::accumulate(done_.begin(), done_.end(), 0.0) / static_cast<double>(done_.size());
    show_progress(what, std::min(all, 0.99));
  }

 private:
  std::span<const std::string> traces_;
  std::mutex mutex_;
  std::vector<double> done_;
};

doctor::ReadOptions read_options(const DoctorOptions& asked) {
  doctor::ReadOptions options;
  options.reading = asked.is_strict ? doctor::Reading::Strict : doctor::Reading::Lenient;
  return options;
}

doctor::Diagnosis diagnose_one(const doctor::Examination& examination, const DoctorOptions& asked) {
  doctor::Diagnosis diagnosis = diagnose(examination, asked.what_if);
  if (!asked.before.empty()) {
    const doctor::Examination before(asked.before, read_options(asked));
    std::vector<doctor::Finding> changes = compare(before.examined(), examination.examined());
    diagnosis.before = asked.before;
    diagnosis.findings.insert(diagnosis.findings.begin(), changes.begin(), changes.end());
  }
  if (!asked.html.empty()) write_file(asked.html, html_report(diagnosis, examination.examined()));
  return diagnosis;
}

// One of several traces that cannot be read does not keep the others from being shown.
doctor::Report examine(const DoctorOptions& asked, const std::string& program, fleet::FleetFolder* tables) {
  const std::size_t count = asked.traces.size();
  const std::size_t max_at_once = tables == nullptr ? 1 : 0;  // tables are made of many traces
  std::vector<std::optional<doctor::Diagnosis>> diagnoses(count);
  std::vector<std::string> errors(count);
  {
    ReadingProgress progress(asked.traces);
    doctor::run_in_parallel(count, max_at_once, [&](std::size_t i) {
      doctor::ReadOptions options = read_options(asked);
      if (count > 1 && max_at_once != 1) options.parsing = doctor::Parsing::OnCallersThread;
      options.progress = [&](const doctor::SourceProgress& read) { progress.see(i, read); };
      std::optional<doctor::Examination> examination;
      try {
        examination.emplace(asked.traces[i], options);
      } catch (const FileError& error) {
        if (asked.is_strict || count == 1) throw;
        errors[i] = error.what();
        return;
      }
      diagnoses[i] = diagnose_one(*examination, asked);
      if (tables != nullptr)
        tables->add(i, examination->examined(), reduce_rank(examination->examined(), examination->path()));
    });
  }
  doctor::Report report;
  for (std::size_t i = 0; i < asked.traces.size(); ++i) {
    if (diagnoses[i]) {
      report.traces.push_back({std::move(*diagnoses[i])});
      continue;
    }
    const bool is_last_hope = i + 1 == asked.traces.size() && report.traces.empty();
    if (is_last_hope) throw FileError(errors[i]);
    complain(program, errors[i]);
    report.unread.push_back({asked.traces[i], errors[i]});
  }
  return report;
}

// Each rank is reduced as it is read; none is shown on its own.
doctor::Report examine_ranks(const DoctorOptions& asked, fleet::FleetFolder* tables) {
  ReadingProgress progress(asked.traces);
  doctor::RanksOptions options;
  options.read = read_options(asked);
  options.progress = [&](std::size_t i, const doctor::SourceProgress& read) { progress.see(i, read); };
  if (tables != nullptr)
    options.see = [&](std::size_t i, const doctor::Examined& examined, const doctor::RankFacts& facts) {
      tables->add(i, examined, facts);
    };
  doctor::Report report;
  report.together = compare_ranks(read_ranks(asked.traces, options));
  return report;
}

void check_expectations(doctor::Report& report, const std::vector<Condition>& conditions) {
  std::vector<const doctor::Diagnosis*> traces;
  for (const doctor::Report::Trace& trace : report.traces) traces.push_back(&trace.diagnosis);
  check_words(conditions, traces);
  for (doctor::Report::Trace& trace : report.traces) trace.expectations = check(conditions, trace.diagnosis);
}

std::vector<std::string_view> known_keys(const DoctorOptions& asked) {
  std::vector<std::string_view> keys = doctor::finding_keys();
  if (!asked.before.empty()) keys.insert(keys.end(), {"diff", "diff_ops", "diff_kernels"});
  return keys;
}

void run_doctor(const DoctorOptions& asked, const std::string& program, Context& context) {
  // What is wrong with what was asked is said before anything is read.
  if (!asked.html.empty() && asked.traces.size() != 1)
    throw CLI::ValidationError("--html writes the page of one trace: give exactly one");
  if (!asked.before.empty() && asked.traces.size() != 1)
    throw CLI::ValidationError("--before compares two traces: give exactly one other");
  if (asked.are_ranks && (asked.traces.size() < 2 || !asked.expect.empty() || !asked.only.empty()))
    throw CLI::ValidationError(
        "--ranks compares several traces and shows nothing else: give two or more, without --expect and "
        "--only");
  std::optional<fleet::FleetFolder> folder;
  if (!asked.parquet.empty()) {
    if (!fleet::can_write_parquet())
      throw CLI::ValidationError(
          "--parquet: this program was built without Arrow: use `pellucid doctor` of a build after ./dev "
          "setup");
    folder.emplace(asked.parquet);
  }
  fleet::FleetFolder* const tables = folder ? &*folder : nullptr;
  std::vector<Condition> conditions;
  if (!asked.expect.empty()) conditions = parse_conditions(asked.expect);
  doctor::Report report = asked.are_ranks ? examine_ranks(asked, tables) : examine(asked, program, tables);
  if (folder) {
    const fleet::FleetSize size = folder->finish();
    fmt::print(stderr, "{}: tables of {} traces, {:.2f} bytes for each of {} events\n",
               printable(asked.parquet), size.ranks,
               static_cast<double>(size.bytes) / static_cast<double>(std::max<std::uint64_t>(1, size.events)),
               size.events);
  }
  if (!conditions.empty()) check_expectations(report, conditions);
  if (!asked.only.empty()) keep_only(report, asked.only, known_keys(asked));
  if (asked.top != 0) show_rows(report, asked.top);
  context.print(context.wants_json ? json_report(report) : text_report(report, context.terminal));
  context.exit_code = !report.all_hold() ? kDoesNotHold : !report.is_whole() ? kReadInPart : kFine;
}

}  // namespace

void add_doctor_options(CLI::App& command, Context& context) {
  auto asked = std::make_shared<DoctorOptions>();
  command.add_option("TRACE", asked->traces, "Traces of PyTorch's profiler or Pellucid's: JSON, .gz or .zst")
      ->required()
      ->type_name("");
  command.add_option("--expect", asked->expect, "Fail unless this holds: \"kernels == 5; syncs == 0\"")
      ->type_name("CONDITIONS");
  command
      .add_option("--what-if", asked->what_if,
                  "Predict: \"dispatch=0.5; syncs=0\", loading, kernels, gemm …, device")
      ->allow_extra_args(false)
      ->type_name("CHANGES");
  command.add_option("--before", asked->before, "Show what changed since this trace of the same program")
      ->type_name("TRACE");
  command.add_flag("--ranks", asked->are_ranks,
                   "The traces are the ranks of one run: show which ones are late");
  command.add_option("--html", asked->html, "Also write a page with a timeline, tables and what-if sliders")
      ->type_name("FILE");
  command.add_option("--parquet", asked->parquet, "Also write tables for SQL, a folder for each rank")
      ->type_name("FOLDER");
  command.add_option("--only", asked->only, "Show only these findings: comma-separated keys of the JSON")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FINDING");
  command.add_option("--top", asked->top, "Rows to show of each table; JSON has all")
      ->check([](const std::string& text) {
        return text == "0" ? std::string("give 1 row or more") : std::string();
      })
      ->type_name("N");
  command.add_flag("--strict", asked->is_strict,
                   "Refuse a broken trace; by default broken parts are skipped");
  command.footer(
      "Exit codes: 0 success, 1 an expectation does not hold, 2 wrong usage, 3 cannot be read,\n"
      "5 read in part: the file is truncated, or broken parts were skipped.");
  CLI::App* const parent = command.get_parent();
  command.callback([&context, asked, program = (parent != nullptr ? parent : &command)->get_name()] {
    run_doctor(*asked, program, context);
  });
}

void add_doctor(CLI::App& app, Context& context) {
  add_doctor_options(*app.add_subcommand("doctor", "Diagnose what bounds a run, from its trace"), context);
}

}  // namespace pel::tool
