#include "doctor/fleet/fleet_report.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/median.h"
#include "base/sort_stably.h"
#include "base/terminal.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/saturating.h"
#include "doctor/report/readable_value.h"

namespace pel::fleet {
namespace {

using doctor::Finding;
using doctor::grouped;
using doctor::IdleCause;
using doctor::percent_of;
using doctor::Table;
using doctor::TimeShares;
using doctor::Unit;
using doctor::Value;

constexpr std::size_t kNamed = 3;               // changes and hosts in sentences
constexpr std::size_t kInPicture = 40;          // jobs, and commits of a job, the last ones
constexpr std::size_t kJobsInPicture = 6;       // of commits
constexpr double kWaitThatCounts = 1;           // percent of a rank's time, as in ranks/compare_ranks.cc
constexpr std::int64_t kWaitAgainstOthers = 3;  // times that of the host in the middle

Value text_or_unknown(const std::string& text) { return text.empty() ? Value() : Value(text); }

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", grouped(static_cast<std::int64_t>(count)), count == 1 ? one : many);
}

// The cause of most idle time; none: there is none.
std::optional<IdleCause> main_cause(const TimeShares& time) {
  const auto most = std::ranges::max_element(time.idle_ns, {}, [](std::int64_t ns) { return ns; });
  if (*most <= 0) return {};
  return static_cast<IdleCause>(most - time.idle_ns.begin());
}

double computing(const TimeShares& time) {
  return percent_of(time.busy_ns - time.communication_ns, time.total());
}
double communicating(const TimeShares& time) { return percent_of(time.communication_ns, time.total()); }
double idle(const TimeShares& time) { return percent_of(time.idle(), time.total()); }

// A commit of a job, which several days may have.
struct CommitRow {
  std::string job, commit, date;
  std::int64_t begin_s = std::numeric_limits<std::int64_t>::max();
  std::int64_t days = 0;
  StepCounts counts{};
  Value kernels{}, syncs{};            // of the step in the middle
  Value more_kernels{}, more_syncs{};  // than the commit before
};

Value middle(const std::vector<std::int64_t>& values) {
  return values.empty() ? Value() : Value(lower_median_of(values));
}
Value minus(const Value& after, const Value& before) {
  if (!std::holds_alternative<std::int64_t>(after) || !std::holds_alternative<std::int64_t>(before))
    return {};
  return doctor::saturating_sub(std::get<std::int64_t>(after), std::get<std::int64_t>(before));
}
bool is_change(const Value& more) {
  return std::holds_alternative<std::int64_t>(more) && std::get<std::int64_t>(more) != 0;
}

// By job, then in the order in which they first ran.
std::vector<CommitRow> rows_of_commits(const std::vector<JobFigures>& jobs) {
  std::map<std::pair<std::string, std::string>, CommitRow> by_commit;
  for (const JobFigures& job : jobs) {
    for (const auto& [commit, counts] : job.commits) {
      CommitRow& row = by_commit[{job.job, commit}];
      row.job = job.job;
      row.commit = commit;
      if (job.begin_s < row.begin_s) row.date = job.date;
      row.begin_s = std::min(row.begin_s, job.begin_s);
      ++row.days;
      row.counts.kernels.insert(row.counts.kernels.end(), counts.kernels.begin(), counts.kernels.end());
      row.counts.syncs.insert(row.counts.syncs.end(), counts.syncs.begin(), counts.syncs.end());
    }
  }
  std::vector<CommitRow> rows;
  for (auto& [key, row] : by_commit) rows.push_back(std::move(row));
  sort_stably(rows, [](const CommitRow& a, const CommitRow& b) {
    return a.job != b.job ? a.job < b.job : a.begin_s < b.begin_s;
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].kernels = middle(rows[i].counts.kernels);
    rows[i].syncs = middle(rows[i].counts.syncs);
    if (i == 0 || rows[i - 1].job != rows[i].job) continue;
    rows[i].more_kernels = minus(rows[i].kernels, rows[i - 1].kernels);
    rows[i].more_syncs = minus(rows[i].syncs, rows[i - 1].syncs);
  }
  return rows;
}

std::string change_in_words(const CommitRow& row) {
  const auto part = [](const Value& now, const Value& more, std::string_view what) {
    const std::int64_t count = std::get<std::int64_t>(now), by = std::get<std::int64_t>(more);
    return fmt::format("{} {} instead of {}", grouped(count), what,
                       grouped(doctor::saturating_sub(count, by)));
  };
  std::string parts;
  if (is_change(row.more_kernels)) parts = part(row.kernels, row.more_kernels, "kernels");
  if (is_change(row.more_syncs))
    parts += (parts.empty() ? "" : " and ") + part(row.syncs, row.more_syncs, "syncs");
  return fmt::format("A step of {} has {} since {}, first run on {}.", row.job, parts,
                     row.commit.empty() ? "a commit without a label" : row.commit, row.date);
}

// Where a job has several commits, each with its counts.
Table picture_of_commits(const std::vector<CommitRow>& rows) {
  Table picture{.key = "commit_counts",
                .title = "kernels and syncs of a step",
                .columns = {{"job", ""}, {"commit", ""}, {"date", ""}, {"kernels", ""}, {"syncs", ""}},
                .rows = {}};
  std::size_t shown = 0;
  for (std::size_t begin = 0, end = 0; begin < rows.size() && shown < kJobsInPicture; begin = end) {
    while (end < rows.size() && rows[end].job == rows[begin].job) ++end;
    if (end - begin < 2) continue;
    ++shown;
    for (std::size_t i = std::max(begin, end - std::min(end, kInPicture)); i < end; ++i)
      picture.rows.push_back(
          {rows[i].job, text_or_unknown(rows[i].commit), rows[i].date, rows[i].kernels, rows[i].syncs});
  }
  return picture;
}

Finding commits(const std::vector<JobFigures>& jobs) {
  std::vector<CommitRow> rows = rows_of_commits(jobs);
  Finding finding{.key = "commits", .title = "Kernels and syncs of a step, by commit"};
  Table picture = picture_of_commits(rows);
  Table table{.key = "commits",
              .title = "the step in the middle, of all ranks and days",
              .columns = {{"job", "job"},
                          {"commit", "commit"},
                          {"date", "since"},
                          {"days", "days", Unit::Count},
                          {"steps", "steps", Unit::Count},
                          {"kernels", "kernels", Unit::Count},
                          {"more_kernels", "more", Unit::Count},
                          {"syncs", "syncs", Unit::Count},
                          {"more_syncs", "more", Unit::Count}},
              .rows = {},
              .shown = 12};
  sort_stably(rows, [](const CommitRow& a, const CommitRow& b) { return a.begin_s > b.begin_s; });
  std::size_t changes = 0;
  for (const CommitRow& row : rows) {
    if ((is_change(row.more_kernels) || is_change(row.more_syncs)) && ++changes <= kNamed)
      finding.sentences.push_back(change_in_words(row));
    table.rows.push_back({row.job, text_or_unknown(row.commit), row.date, row.days,
                          static_cast<std::int64_t>(row.counts.syncs.size()), row.kernels, row.more_kernels,
                          row.syncs, row.more_syncs});
  }
  if (rows.empty()) {
    finding.sentences.emplace_back("The traces mark no steps, so there is nothing to count by.");
    return finding;
  }
  if (changes == 0)
    finding.sentences.emplace_back("No commit changed how many kernels or syncs a step of a job has.");
  if (changes > kNamed)
    finding.sentences.push_back(
        fmt::format("{} commits before these changed a step, too.", changes - kNamed));
  if (!picture.rows.empty()) finding.tables.push_back(std::move(picture));
  finding.tables.push_back(std::move(table));
  return finding;
}

// The last job first.
Finding device_time(const std::vector<JobFigures>& jobs) {
  Finding finding{.key = "device_time", .title = "Device time and exposed communication"};
  Table table{.key = "jobs",
              .title = "device time of each job, all ranks together",
              .columns = {{"date", "date"},
                          {"job", "job"},
                          {"ranks", "ranks", Unit::Count},
                          {"device_ns", "device time", Unit::Nanoseconds},
                          {"computing", "computing", Unit::Percent},
                          {"exposed", "exposed collectives", Unit::Percent},
                          {"idle", "idle", Unit::Percent},
                          {"cause", "mostly"},
                          {"exposed_ns", "", Unit::Nanoseconds},
                          {"idle_ns", "", Unit::Nanoseconds}},
              .rows = {},
              .shown = 12};
  Table picture{.key = "job_shares",
                .title = "where the time went",
                .columns = {{"date", ""}, {"job", ""}, {"computing", ""}, {"exposed collectives", ""}},
                .rows = {}};
  for (std::size_t cause = 0; cause < doctor::kIdleCauseCount; ++cause)
    picture.columns.push_back({std::string(name(static_cast<IdleCause>(cause))), ""});
  const JobFigures* least = nullptr;
  const JobFigures* most = nullptr;
  for (std::size_t i = jobs.size(); i-- > 0;) {
    const JobFigures& job = jobs[i];
    if (job.time.total() == 0) continue;
    if (least == nullptr || communicating(job.time) < communicating(least->time)) least = &job;
    if (most == nullptr || communicating(job.time) > communicating(most->time)) most = &job;
    const std::optional<IdleCause> cause = main_cause(job.time);
    table.rows.push_back({job.date, job.job, job.ranks, job.time.total(), computing(job.time),
                          communicating(job.time), idle(job.time),
                          cause ? Value(std::string(name(*cause))) : Value(), job.time.communication_ns,
                          job.time.idle()});
    if (picture.rows.size() == kInPicture) continue;
    std::vector<Value> shares{job.date, job.job, job.time.busy_ns - job.time.communication_ns,
                              job.time.communication_ns};
    for (const std::int64_t ns : job.time.idle_ns) shares.emplace_back(ns);
    picture.rows.push_back(std::move(shares));
  }
  if (most == nullptr) {
    finding.sentences.emplace_back("No trace has device activity: the profiler recorded the host alone.");
    return finding;
  }
  finding.sentences.push_back(
      least == most
          ? fmt::format(
                "Exposed collectives, next to which nothing else runs, take {:.1f} % of the device time.",
                communicating(most->time))
          : fmt::format(
                "Exposed collectives, next to which nothing else runs, take {:.1f} % of the device time of "
                "{} of {} to {:.1f} % of that of {} of {}.",
                communicating(least->time), least->job, least->date, communicating(most->time), most->job,
                most->date));
  finding.tables.push_back(std::move(picture));
  finding.tables.push_back(std::move(table));
  return finding;
}

Finding idle_time(const std::vector<JobFigures>& jobs, const TimeShares& all) {
  Finding finding{.key = "idle", .title = "Idle time by cause"};
  Table table{.key = "causes",
              .title = "of all jobs, and the job that has most of it",
              .columns = {{"cause", "cause"},
                          {"idle_ns", "idle", Unit::Nanoseconds},
                          {"share", "of device time", Unit::Percent},
                          {"job", "most in"},
                          {"date", "of"},
                          {"job_share", "of its time", Unit::Percent}},
              .rows = {},
              .shown = doctor::kIdleCauseCount};
  std::vector<IdleCause> order;
  for (std::size_t cause = 0; cause < doctor::kIdleCauseCount; ++cause)
    if (all.idle_ns[cause] > 0) order.push_back(static_cast<IdleCause>(cause));
  sort_stably(order, [&](IdleCause a, IdleCause b) { return all.idle(a) > all.idle(b); });
  for (const IdleCause cause : order) {
    const auto share = [&](const JobFigures& job) {
      return percent_of(job.time.idle(cause), job.time.total());
    };
    const JobFigures& most = *std::ranges::max_element(jobs, {}, share);
    table.rows.push_back({std::string(name(cause)), std::int64_t{all.idle(cause)},
                          percent_of(all.idle(cause), all.total()), most.job, most.date, share(most)});
  }
  if (order.empty()) {
    finding.sentences.emplace_back("Devices are never idle.");
  } else {
    finding.sentences.push_back(
        fmt::format("Devices are idle for {:.1f} % of their time, {:.1f} % because of {}.", idle(all),
                    percent_of(all.idle(order[0]), all.total()), name(order[0])));
    finding.tables.push_back(std::move(table));
  }
  if (!std::ranges::all_of(jobs, &JobFigures::has_causes))
    finding.sentences.emplace_back(
        "Tables of some ranks were written by an older program, which did not say causes: their idle time is "
        "unexplained here.");
  return finding;
}

// A host over all jobs in which it has ranks.
struct HostRow {
  std::string host;
  HostWaits waits{};
  std::int64_t jobs = 0, late_in = 0;  // jobs; those in which its ranks make others wait for 1 % of the time
  doctor::SaturatingSum time_ns;       // of a rank, in these jobs
  double share() const { return percent_of(waits.waited_ns, time_ns); }
};

std::vector<HostRow> rows_of_hosts(const std::vector<JobFigures>& jobs) {
  std::map<std::string, HostRow> by_host;
  for (const JobFigures& job : jobs) {
    for (const auto& [host, waits] : job.hosts) {
      HostRow& row = by_host[host];
      row.host = host;
      row.waits.add(waits);
      row.time_ns += job.time_of_rank();
      ++row.jobs;
      if (percent_of(waits.waited_ns, job.time_of_rank()) >= kWaitThatCounts) ++row.late_in;
    }
  }
  std::vector<HostRow> rows;
  for (auto& [host, row] : by_host) rows.push_back(std::move(row));
  sort_stably(rows, [](const HostRow& a, const HostRow& b) { return a.waits.waited_ns > b.waits.waited_ns; });
  return rows;
}

Finding hosts(const std::vector<JobFigures>& jobs) {
  const std::vector<HostRow> rows = rows_of_hosts(jobs);
  Finding finding{.key = "hosts", .title = "Hosts that others wait for"};
  Table table{.key = "hosts",
              .title = "by what the typical other rank waits for those of a host",
              .columns = {{"host", "host"},
                          {"ranks", "ranks", Unit::Count},
                          {"waited_ns", "waited", Unit::Nanoseconds},
                          {"share", "of time", Unit::Percent},
                          {"late_in", "late in", Unit::Count},
                          {"jobs", "of jobs", Unit::Count},
                          {"collectives", "last in", Unit::Count},
                          {"cause", "mostly"}},
              .rows = {},
              .shown = 12};
  const std::int64_t middle_ns = rows.empty() ? 0 : std::int64_t{rows[rows.size() / 2].waits.waited_ns};
  for (const HostRow& row : rows) {
    const std::string cause = row.waits.cause();
    const bool counts =
        row.share() >= kWaitThatCounts &&
        (rows.size() == 1 || row.waits.waited_ns >= doctor::saturating_mul(kWaitAgainstOthers, middle_ns));
    if (counts && !row.host.empty() && finding.sentences.size() < kNamed)
      finding.sentences.push_back(fmt::format(
          "{} is slow: the ranks of other hosts wait for its ranks for {:.1f} % of their time, in {} of {} "
          "it is "
          "1 % or more{}.",
          row.host, row.share(), row.late_in, counted(static_cast<std::size_t>(row.jobs), "job", "jobs"),
          cause.empty() ? "" : fmt::format("; most of it is due to {}", cause)));
    if (row.waits.waited_ns == 0) continue;
    table.rows.push_back({text_or_unknown(row.host), row.waits.ranks, std::int64_t{row.waits.waited_ns},
                          row.share(), row.late_in, row.jobs, row.waits.collectives, text_or_unknown(cause)});
  }
  if (rows.size() == 1 && rows[0].host.empty())
    finding.sentences.emplace_back(
        "The tables do not name hosts: give --label host=NAME where ranks are reduced.");
  else if (finding.sentences.empty())
    finding.sentences.push_back(
        fmt::format("No host stands out: none makes the others wait for {:.0f} % of their time, and {} times "
                    "as long as the host in "
                    "the middle.",
                    kWaitThatCounts, kWaitAgainstOthers));
  if (!table.rows.empty()) finding.tables.push_back(std::move(table));
  return finding;
}

}  // namespace

FleetReport report_of(const std::vector<JobFigures>& jobs) {
  FleetReport report;
  TimeShares& all = report.overview.shares;
  std::set<std::string_view> dates, named_hosts;
  std::int64_t ranks = 0;
  for (const JobFigures& job : jobs) {
    all.add(job.time);
    ranks += job.ranks;
    dates.insert(job.date);
    for (const auto& [host, waits] : job.hosts)
      if (!host.empty()) named_hosts.insert(host);
  }
  const auto count = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  const std::optional<IdleCause> cause = main_cause(all);
  report.overview.title =
      fmt::format("{} of {}", counted(jobs.size(), "job", "jobs"),
                  dates.size() == 1 ? std::string(*dates.begin()) : counted(dates.size(), "day", "days"));
  report.overview.sentence = all.total() == 0
                                 ? report.overview.title + " without device activity."
                                 : fmt::format(
                                       "{}: devices compute for {:.0f} % of their time, wait for exposed "
                                       "collectives for {:.0f} % and "
                                       "are idle for {:.0f} %{}.",
                                       report.overview.title, computing(all), communicating(all), idle(all),
                                       cause ? fmt::format(", mostly because of {}", name(*cause)) : "");
  report.overview.totals = {{"jobs", "jobs", count(jobs.size()), Unit::Count},
                            {"days", "days", count(dates.size()), Unit::Count},
                            {"ranks", "ranks", ranks, Unit::Count},
                            {"hosts", "hosts", count(named_hosts.size()), Unit::Count},
                            {"device_ns", "device time", all.total(), Unit::Nanoseconds}};
  report.findings = {commits(jobs), device_time(jobs), idle_time(jobs, all), hosts(jobs)};
  return report;
}

}  // namespace pel::fleet
