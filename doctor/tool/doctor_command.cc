// pellucid doctor: what a run was bound by, from its trace.
#include "doctor/tool/doctor_command.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pellucid/error.h"

#include "doctor/compare/summary_file.h"
#include "doctor/diagnosis/diagnose.h"
#include "doctor/fleet/fleet_folder.h"
#include "doctor/report/html.h"
#include "doctor/report/json.h"
#include "doctor/report/make_report.h"
#include "doctor/report/markdown.h"
#include "doctor/report/text.h"
#include "doctor/tool/watch.h"

namespace pel::tool {
namespace {

struct DoctorOptions {
  std::vector<std::string> traces, only, what_if, labels;
  std::string expect, html, before, parquet, watch, summary, markdown;
  bool is_strict = false, are_ranks = false, is_full = false;
  bool replaces = false;
  std::int64_t rank = -1;
  std::size_t top = 0;

  bool prints_markdown() const { return markdown == "-"; }
};

// Of "job=llama", "host=node7", "commit=4f2a91".
fleet::FleetLabels labels_of(const std::vector<std::string>& given) {
  fleet::FleetLabels labels;
  const std::array<std::pair<std::string_view, std::string*>, 3> known{
      {{"job", &labels.job}, {"host", &labels.host}, {"commit", &labels.commit}}};
  for (const std::string& label : given) {
    const std::size_t equals = std::min(label.find('='), label.size());
    const auto at =
        std::ranges::find_if(known, [&](const auto& one) { return one.first == label.substr(0, equals); });
    if (at == known.end() || equals + 1 >= label.size())
      throw CLI::ValidationError(
          fmt::format("--label {}: expected job=NAME, host=NAME or commit=NAME", printable(label)));
    *at->second = label.substr(equals + 1);
  }
  return labels;
}

// The bar on stderr, which is gone before the report.
struct ClearProgress {
  ClearProgress() = default;
  ClearProgress(const ClearProgress&) = delete;
  ClearProgress& operator=(const ClearProgress&) = delete;
  ~ClearProgress() { show_progress("", 1); }
};

doctor::ReportRequest request_of(const DoctorOptions& asked, const std::string& program,
                                 fleet::FleetFolder* tables) {
  doctor::ReportRequest request{asked.traces};
  if (asked.are_ranks) request.are = doctor::Traces::RanksOfOneRun;
  request.what_if = asked.what_if;
  request.before = asked.before;
  request.expect = asked.expect;
  if (asked.is_strict) request.reading = doctor::Reading::Strict;
  if ((!asked.html.empty() || !asked.summary.empty()) && !asked.are_ranks)
    request.keep_trace = doctor::KeepTrace::Yes;
  request.progress = show_progress;
  request.unread = [program](const std::string& reason) { complain(program, reason); };
  if (tables != nullptr)
    request.see = [tables](std::size_t, const doctor::Examined& examined, const doctor::RankFacts& facts) {
      tables->add(examined, facts);
    };
  return request;
}

doctor::MadeReport make_with_progress(const doctor::ReportRequest& request) {
  const ClearProgress clear;
  return doctor::make_report(request);
}

std::vector<std::string_view> known_keys(const DoctorOptions& asked) {
  std::vector<std::string_view> keys = doctor::finding_keys();
  if (!asked.before.empty()) keys.insert(keys.end(), {"diff", "diff_ops", "diff_kernels"});
  return keys;
}

void check_options(const DoctorOptions& asked, const Context& context) {
  if (asked.prints_markdown()) context.refuse_json("Markdown");
  if (asked.traces.empty() == asked.watch.empty())
    throw CLI::ValidationError(asked.watch.empty()
                                   ? "TRACE is required: give a trace, or a folder to --watch"
                                   : "--watch diagnoses traces as they are written: give no other");
  if (!asked.watch.empty() &&
      (!asked.html.empty() || asked.are_ranks || !asked.parquet.empty() || !asked.summary.empty() ||
       (!asked.markdown.empty() && !asked.prints_markdown())))
    throw CLI::ValidationError(
        "--watch prints one report after the other: give it without --html, --ranks, --parquet, --summary "
        "and "
        "files of --markdown");
  if (!asked.summary.empty() && (asked.traces.size() != 1 || asked.are_ranks))
    throw CLI::ValidationError("--summary writes what one trace is compared by: give exactly one");
  if (!asked.html.empty() && asked.traces.size() != 1 && !asked.are_ranks)
    throw CLI::ValidationError(
        "--html writes the page of one trace: give exactly one, or --ranks for the page of all of them");
  if (!asked.before.empty() && asked.watch.empty() && asked.traces.size() != 1)
    throw CLI::ValidationError("--before compares two traces: give exactly one other");
  if (asked.are_ranks && (asked.traces.size() < 2 || !asked.expect.empty() || !asked.only.empty()))
    throw CLI::ValidationError(
        "--ranks compares several traces and shows nothing else: give two or more, without --expect and "
        "--only");
  if (asked.parquet.empty() && (asked.rank >= 0 || asked.replaces || !asked.labels.empty()))
    throw CLI::ValidationError("--rank, --replace and --label are about tables: give --parquet, too");
  labels_of(asked.labels);
  constexpr std::string_view kStore = "s3://";
  const bool names_bucket = asked.parquet.starts_with(kStore) &&
                            asked.parquet.find_first_of("/?", kStore.size()) != kStore.size() &&
                            asked.parquet.size() > kStore.size();
  if (asked.parquet.find("://") != std::string::npos && !names_bucket)
    throw CLI::ValidationError(fmt::format(
        "--parquet {}: expected a folder of this machine, or s3://bucket/folder", printable(asked.parquet)));
  if (asked.rank >= 0 && asked.traces.size() != 1)
    throw CLI::ValidationError("--rank is the rank of one trace: give exactly one");
  if (!asked.parquet.empty() && !fleet::can_write_parquet())
    throw CLI::ValidationError(
        "--parquet: there is no libpellucid_parquet.so, which writes tables with Arrow: use a build after "
        "./dev setup");
}

std::string text_of(const doctor::Report& report, const DoctorOptions& asked, const Context& context) {
  if (asked.prints_markdown()) return markdown_report(report);
  if (context.wants_json) return json_report(report);
  return text_report(report, context.terminal, asked.is_full ? doctor::Detail::Full : doctor::Detail::Short);
}

void run_doctor(const DoctorOptions& asked, const std::string& program, Context& context) {
  std::optional<fleet::FleetFolder> folder;
  if (!asked.parquet.empty())
    folder.emplace(asked.parquet, fleet::FleetOptions{.rank = asked.rank,
                                                      .replace = asked.replaces ? fleet::Replace::Always
                                                                                : fleet::Replace::IfSameTrace,
                                                      .labels = labels_of(asked.labels)});
  doctor::MadeReport made = make_with_progress(request_of(asked, program, folder ? &*folder : nullptr));
  doctor::Report& report = made.report;
  if (!asked.html.empty())
    write_file(asked.html, asked.are_ranks ? doctor::html_of_ranks(report.together, asked.traces.size())
                                           : html_report(report.traces[0].diagnosis, made.trace->examined()));
  if (folder) {
    const fleet::FleetSize size = folder->finish();
    fmt::print(stderr, "{}: tables of {} traces, {:.2f} bytes for each of {} events\n",
               printable(asked.parquet), size.ranks,
               static_cast<double>(size.bytes) / static_cast<double>(std::max<std::uint64_t>(1, size.events)),
               size.events);
  }
  if (!asked.summary.empty()) write_file(asked.summary, summary_text(summarize(made.trace->examined())));
  if (!asked.only.empty()) keep_only(report, asked.only, known_keys(asked));
  if (asked.top != 0) show_rows(report, asked.top);
  if (!asked.markdown.empty() && !asked.prints_markdown())
    write_file(asked.markdown, markdown_report(report));
  context.print(text_of(report, asked, context));
  context.exit_code = !report.all_hold() ? kDoesNotHold : !report.is_whole() ? kReadInPart : kFine;
}

[[noreturn]] void watch_folder(const DoctorOptions& asked, const std::string& program, Context& context) {
  WatchedFolder folder(asked.watch);
  fmt::print(stderr, "{}: waiting for traces in {}; Ctrl-C ends it\n", program, printable(asked.watch));
  watch(folder, [&](const std::string& trace) {
    DoctorOptions one = asked;
    one.traces = {trace};
    context.print(fmt::format("\n{}\n", context.terminal.bold(printable(trace))));
    try {
      run_doctor(one, program, context);
    } catch (const Error& error) {  // the next one may be better
      complain(program, error.what());
    }
    std::fflush(stdout);
  });
}

}  // namespace

void add_doctor_options(CLI::App& command, Context& context) {
  auto asked = std::make_shared<DoctorOptions>();
  command.add_option("TRACE", asked->traces, "Traces of PyTorch, Pellucid, JAX, nsys, rocprofv3 or Perfetto")
      ->type_name("");
  command.add_option("--expect", asked->expect, "Fail unless this holds: \"kernels == 5; syncs == 0\"")
      ->type_name("CONDITIONS");
  command
      .add_option("--what-if", asked->what_if,
                  "Predict: \"dispatch=0.5; syncs=0\", loading, kernels, gemm …, device")
      ->allow_extra_args(false)
      ->type_name("CHANGES");
  command
      .add_option("--before", asked->before,
                  "Show what changed since this trace of the same program, or its summary")
      ->type_name("TRACE");
  command
      .add_option("--summary", asked->summary, "Also write what --before needs of the trace, at most 50 kB")
      ->type_name("FILE");
  command.add_flag("--ranks", asked->are_ranks,
                   "The traces are the ranks of one run: show which ones are late");
  command.add_option("--html", asked->html, "Also write a page with a timeline, tables and what-if sliders")
      ->type_name("FILE");
  command
      .add_option("--parquet", asked->parquet,
                  "Also write tables for SQL, a folder for each rank; s3://… too")
      ->type_name("FOLDER");
  command.add_option("--rank", asked->rank, "With --parquet: the rank of the trace, if it does not say")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command.add_flag("--replace", asked->replaces,
                   "With --parquet: replace tables of the same rank of another trace");
  command
      .add_option("--label", asked->labels, "With --parquet: job=NAME, host=NAME or commit=NAME of the run")
      ->allow_extra_args(false)
      ->type_name("KEY=NAME");
  command.add_option("--only", asked->only, "Show only these findings: comma-separated keys of the JSON")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FINDING");
  command.add_option("--top", asked->top, "Rows to show of each table; JSON has all")
      ->check([](const std::string& text) {
        return text == "0" ? std::string("give 1 row or more") : std::string();
      })
      ->type_name("N");
  command.add_flag("--full", asked->is_full, "Show every finding; by default the verdict and what to do");
  command
      .add_option("--markdown", asked->markdown,
                  "Also write Markdown, for a pull request; - prints it instead")
      ->type_name("FILE");
  command
      .add_option("--watch", asked->watch, "Diagnose each trace that is written to this folder, until Ctrl-C")
      ->type_name("FOLDER");
  command.add_flag("--strict", asked->is_strict,
                   "Refuse a broken trace; by default broken parts are skipped");
  command.footer(
      "Exit codes: 0 success, 1 an expectation does not hold, 2 wrong usage, 3 cannot be read,\n"
      "5 read in part: the file is truncated, or broken parts were skipped.");
  CLI::App* const parent = command.get_parent();
  command.callback([&context, asked, program = (parent != nullptr ? parent : &command)->get_name()] {
    check_options(*asked, context);  // before anything is read
    if (!asked->watch.empty()) watch_folder(*asked, program, context);
    run_doctor(*asked, program, context);
  });
}

void add_doctor(CLI::App& app, Context& context) {
  add_doctor_options(*app.add_subcommand("doctor", "Diagnose what bounds a run, from its trace"), context);
}

}  // namespace pel::tool
