// pellucid fleet: the tables of many ranks and jobs.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "command.h"
#include "doctor/fleet/fleet_report.h"
#include "doctor/fleet/pack.h"
#include "doctor/report/findings.h"

namespace pel::tool {
namespace {

struct PackOptions {
  fleet::PackRequest request;  // of sources the last is the destination
  bool has_events = false, replaces = false;
};

std::string wrong_date(const std::string& text) {
  bool is_right = text.size() == 10;
  for (std::size_t i = 0; is_right && i < text.size(); ++i)
    is_right = i == 4 || i == 7 ? text[i] == '-' : text[i] >= '0' && text[i] <= '9';
  return is_right ? "" : printable(text) + " is not a date: expected one such as 2026-11-17";
}

void check_module() {
  if (!fleet::can_write_parquet())
    throw CLI::ValidationError(
        "there is no libpellucid_parquet.so, which reads and writes tables with Arrow: use a build after "
        "./dev setup");
}

std::string json_of(const std::vector<fleet::PackedJob>& jobs) {
  JsonWriter json("pellucid.fleet/1");
  json.key("jobs").begin_array();
  for (const fleet::PackedJob& job : jobs) {
    json.begin_object().field("job", job.job).field("date", job.date).field("folder", job.folder);
    json.field("ranks", job.ranks).field("collectives", job.collectives).field("meetings", job.meetings);
    json.field("bytes", job.bytes).end_object();
  }
  json.end_array();
  return json.finish();
}

std::string text_of(const std::vector<fleet::PackedJob>& jobs, const Terminal& terminal) {
  std::string text;
  for (const fleet::PackedJob& job : jobs)
    text +=
        fmt::format("{}: ranks {}, collectives {}, meetings {}, {}\n", terminal.bold(printable(job.folder)),
                    job.ranks, job.collectives, job.meetings, readable_bytes(static_cast<double>(job.bytes)));
  return text;
}

void run_pack(const PackOptions& asked, const std::string& program, Context& context) {
  fleet::PackRequest request = asked.request;
  if (request.sources.size() < 2)
    throw CLI::ValidationError(
        "expected SOURCE… DEST, two folders or more: those of ranks, and where to pack");
  for (const std::string& folder : request.sources)
    if (folder.find("://") != std::string::npos)
      throw CLI::ValidationError(
          fmt::format("{} is not a folder of this machine: copy the tables of ranks here first, and what is "
                      "packed back after it",
                      printable(folder)));
  request.destination = request.sources.back();
  request.sources.pop_back();
  check_module();
  if (asked.has_events) request.large = fleet::LargeTables::Yes;
  if (asked.replaces) request.replace = fleet::Replace::Always;
  request.progress = show_progress;
  request.unread = [&](const std::string& reason) {
    complain(program, reason);
    context.exit_code = kReadInPart;
  };
  std::vector<fleet::PackedJob> jobs;
  try {
    jobs = fleet::pack(request);
  } catch (...) {
    show_progress("", 1);
    throw;
  }
  show_progress("", 1);
  context.print(context.wants_json ? json_of(jobs) : text_of(jobs, context.terminal));
}

void add_pack(CLI::App& fleet, const std::string& program, Context& context) {
  CLI::App& command =
      *fleet.add_subcommand("pack", "Pack the tables of ranks into one file for each table and job");
  auto asked = std::make_shared<PackOptions>();
  command
      .add_option("FOLDERS", asked->request.sources,
                  "SOURCE… DEST: those that doctor --parquet wrote, and where to write date=…/job=…")
      ->required()
      ->type_name("");
  command.add_option("--job", asked->request.job, "The job of all ranks, instead of their labels")
      ->type_name("NAME");
  command.add_option("--date", asked->request.date, "The day of the jobs, instead of that of their traces")
      ->check(wrong_date)
      ->type_name("YYYY-MM-DD");
  command.add_flag("--events", asked->has_events, "Also pack the large tables: events, launches and gaps");
  command.add_flag("--replace", asked->replaces, "Replace jobs that are packed already");
  command.footer(
      "Exit codes: 0 success, 2 wrong usage, 3 a table cannot be read or written,\n"
      "5 ranks without meta.parquet were left out: they are not finished.");
  command.callback([&context, asked, program] { run_pack(*asked, program, context); });
}

struct ReportOptions {
  std::string folder, html, openmetrics;
};

void run_report(const ReportOptions& asked, Context& context) {
  check_module();
  std::vector<fleet::JobFigures> jobs;
  try {
    jobs = fleet::read_fleet(asked.folder, show_progress);
  } catch (...) {
    show_progress("", 1);
    throw;
  }
  show_progress("", 1);
  const fleet::FleetReport report = report_of(jobs);
  if (!asked.html.empty()) write_file(asked.html, html_of_findings(report.findings, report.overview));
  if (!asked.openmetrics.empty()) write_file(asked.openmetrics, openmetrics_of(jobs));
  if (context.wants_json) {
    context.print(json_findings("pellucid.fleet_report/1", report.overview.sentence, report.findings));
    return;
  }
  context.print(text_findings(report.overview.sentence, report.findings, context.terminal));
}

void add_report(CLI::App& fleet, Context& context) {
  CLI::App& command =
      *fleet.add_subcommand("report", "Report kernels by commit, idle time and slow hosts over packed jobs");
  auto asked = std::make_shared<ReportOptions>();
  command.add_option("FOLDER", asked->folder, "The folder that fleet pack wrote to")
      ->required()
      ->type_name("");
  command.add_option("--html", asked->html, "Also write a page")->type_name("FILE");
  command
      .add_option("--openmetrics", asked->openmetrics,
                  "Also write gauges for Prometheus, with the time of each job")
      ->type_name("FILE");
  command.footer("Exit codes: 0 success, 2 wrong usage, 3 a table cannot be read, or a file not written.");
  command.callback([&context, asked] { run_report(*asked, context); });
}

}  // namespace

void add_fleet(CLI::App& app, Context& context) {
  CLI::App* fleet =
      app.add_subcommand("fleet", "Pack the tables of many ranks and jobs for SQL, and report on them");
  fleet->require_subcommand(1);
  add_pack(*fleet, app.get_name(), context);
  add_report(*fleet, context);
}

}  // namespace pel::tool
