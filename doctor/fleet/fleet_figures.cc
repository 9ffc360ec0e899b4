#include "doctor/fleet/fleet_figures.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "doctor/fleet/columns.h"
#include "doctor/fleet/partitions.h"
#include "doctor/fleet/table_reader.h"
#include "doctor/model/run_in_parallel.h"

namespace pel::fleet {
namespace {

using Rows = std::span<const ColumnRows>;

std::string text_or_none(const ColumnRows& column, std::size_t row) {
  return column.is_there[row] != 0 ? column.texts[static_cast<std::size_t>(column.values[row])] : "";
}

// The columns of `meta` that are read, after `rank`.
enum MetaColumn : std::size_t { kRank, kHost, kCommit, kBase, kDevice, kBusy, kExposed, kFirstCause };

std::span<const FleetColumn> read_of_meta() {
  static const std::vector<FleetColumn> columns = [] {
    std::vector<FleetColumn> some{{"rank"}};
    for (const FleetColumn& column : meta_columns()) {
      static constexpr std::string_view kRead[] = {"host",      "commit",  "base_ns",
                                                   "device_ns", "busy_ns", "exposed_ns"};
      if (std::ranges::find(kRead, column.name) != std::end(kRead) || column.name.starts_with("idle_"))
        some.push_back(column);
    }
    PEL_ASSERT(some.size() == kFirstCause + doctor::kIdleCauseCount,
               "MetaColumn has the columns that are read");
    return some;
  }();
  return columns;
}

class JobReader {
 public:
  explicit JobReader(JobFigures& job) : job_(job) {}

  void read() {
    read_meta();
    count_syncs();
    count_kernels();
    read_meetings();
  }

 private:
  // A step of a job, by name. That between steps is none.
  using StepId = std::uint32_t;

  std::string table(std::string_view name) const { return fmt::format("{}/{}.parquet", job_.folder, name); }

  template <class Visit>
  void each_row(std::string_view name, std::span<const FleetColumn> columns, Visit visit) const {
    TableReader rows(table(name), columns);
    while (rows.next())
      for (std::size_t row = 0; row < rows.rows()[0].values.size(); ++row) visit(rows.rows(), row);
  }

  // Calls visit(rows, row, step) for each row that is of a step; `step` is the second column.
  template <class Visit>
  void each_row_of_steps(std::string_view name, std::span<const FleetColumn> columns, Visit visit) {
    TableReader reader(table(name), columns);
    while (reader.next()) {
      const Rows rows = reader.rows();
      const ColumnRows& steps = rows[1];
      std::vector<StepId> ids;  // row groups number their texts anew
      for (const std::string& text : steps.texts)
        ids.push_back(steps_.try_emplace(text, static_cast<StepId>(steps_.size())).first->second);
      for (std::size_t row = 0; row < steps.values.size(); ++row) {
        if (steps.is_there[row] == 0) continue;
        const auto text = static_cast<std::size_t>(steps.values[row]);
        if (steps.texts[text] != "outside") visit(rows, row, ids[text]);
      }
    }
  }

  void read_meta() {
    std::int64_t first_ns = 0;
    each_row("meta", read_of_meta(), [&](Rows rows, std::size_t row) {
      const auto number = [&](std::size_t place) { return rows[place].values[row]; };
      first_ns = job_.ranks++ == 0 ? number(kBase) : std::min(first_ns, number(kBase));
      commits_[number(kRank)] = text_or_none(rows[kCommit], row);
      ++job_.hosts[text_or_none(rows[kHost], row)].ranks;
      job_.time.busy_ns += number(kBusy);
      job_.time.communication_ns += number(kExposed);
      if (rows[kFirstCause].is_there[row] == 0) {
        job_.has_causes = false;
        job_.time.idle_ns[static_cast<std::size_t>(doctor::IdleCause::Unexplained)] +=
            doctor::saturating_sub(number(kDevice), number(kBusy));
        return;
      }
      for (std::size_t cause = 0; cause < doctor::kIdleCauseCount; ++cause)
        job_.time.idle_ns[cause] += number(kFirstCause + cause);
    });
    PEL_CHECK(job_.ranks != 0, FileError, "{} has no row: a packed job has one for each rank", table("meta"));
    const std::int64_t midnight = seconds_of_date(job_.date), first_s = first_ns / 1'000'000'000;
    job_.begin_s = date_of(first_ns) == job_.date ? first_s : midnight;
  }

  void count_syncs() {
    static constexpr FleetColumn kColumns[] = {{"rank"}, kStepColumn, {"is_copy", ColumnKind::Flag}};
    each_row_of_steps("syncs", kColumns, [&](Rows rows, std::size_t row, StepId step) {
      if (rows[2].values[row] == 0) ++syncs_[{rows[0].values[row], step}];
    });
  }

  void count_kernels() {
    static constexpr FleetColumn kColumns[] = {
        {"rank"}, kStepColumn, {"category", ColumnKind::Text}, {"activities", ColumnKind::Number}};
    struct Step {
      std::int64_t kernels = 0;
      bool has_kernels = false;
    };
    std::int64_t rank = -1;
    std::map<StepId, Step> steps;  // of one rank: facts are sorted by it
    const auto end_rank = [&] {
      if (steps.empty()) return;
      StepCounts& counts = job_.commits[commits_[rank]];
      for (const auto& [id, step] : steps) {
        if (step.has_kernels) counts.kernels.push_back(step.kernels);
        const auto syncs = syncs_.find({rank, id});
        counts.syncs.push_back(syncs == syncs_.end() ? 0 : syncs->second);
      }
      steps.clear();
    };
    each_row_of_steps("facts", kColumns, [&](Rows rows, std::size_t row, StepId id) {
      if (rows[0].values[row] != rank) end_rank();
      rank = rows[0].values[row];
      Step& step = steps[id];
      if (rows[2].texts[static_cast<std::size_t>(rows[2].values[row])] != "kernel") return;
      step.kernels = doctor::saturating_add(step.kernels, rows[3].values[row]);
      step.has_kernels = true;
    });
    end_rank();
  }

  void read_meetings() {
    static constexpr FleetColumn kColumns[] = {
        {"late_host", ColumnKind::Text, Packing::Dictionary, Nulls::Yes},
        {"typical_ns"},
        {"cause", ColumnKind::Text, Packing::Dictionary, Nulls::Yes},
        {"is_first", ColumnKind::Flag}};
    each_row("meetings", kColumns, [&](Rows rows, std::size_t row) {
      if (rows[3].values[row] != 0) return;
      HostWaits& host = job_.hosts[text_or_none(rows[0], row)];
      host.waited_ns += rows[1].values[row];
      ++host.collectives;
      host.causes[text_or_none(rows[2], row)] += rows[1].values[row];
    });
  }

  JobFigures& job_;
  std::unordered_map<std::int64_t, std::string> commits_;  // of ranks
  std::unordered_map<std::string, StepId> steps_;
  std::map<std::pair<std::int64_t, StepId>, std::int64_t> syncs_;  // by rank
};

// The values of folders `KEY=VALUE` in a folder, and their paths.
std::vector<std::pair<std::string, std::string>> partitions_in(const std::string& folder,
                                                               std::string_view key) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  PEL_CHECK(!error, FileError, "{} cannot be read: {}", folder, error.message());
  std::vector<std::pair<std::string, std::string>> found;
  for (; entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    PEL_CHECK(!error, FileError, "{} cannot be read: {}", folder, error.message());
    const std::string name = entries->path().filename().string();
    if (name.size() > key.size() && name.starts_with(key) && name[key.size()] == '=')
      found.emplace_back(text_of_partition(name.substr(key.size() + 1)), entries->path().string());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

void HostWaits::add(const HostWaits& other) {
  ranks += other.ranks;
  waited_ns += other.waited_ns;
  collectives += other.collectives;
  for (const auto& [cause, ns] : other.causes) causes[cause] += ns;
}

std::string HostWaits::cause() const {
  const auto most =
      std::ranges::max_element(causes, {}, [](const auto& cause) -> std::int64_t { return cause.second; });
  return most == causes.end() ? "" : most->first;
}

std::vector<JobFigures> read_fleet(const std::string& folder, const FleetProgress& progress) {
  std::vector<JobFigures> jobs;
  for (const auto& [date, of_date] : partitions_in(folder, "date")) {
    if (seconds_of_date(date) < 0) continue;
    for (const auto& [job, path] : partitions_in(of_date, "job"))
      jobs.push_back({.job = job, .date = date, .folder = path});
  }
  PEL_CHECK(!jobs.empty(), FileError,
            "{} has no folders date=2026-11-17/job=NAME: give the one that pellucid fleet pack wrote to",
            folder);
  std::mutex mutex;
  std::size_t done = 0;
  doctor::run_in_parallel(jobs.size(), 0, [&](std::size_t i) {
    JobReader(jobs[i]).read();
    const std::scoped_lock lock(mutex);
    if (progress)
      progress("reading " + jobs[i].job,
               0.99 * static_cast<double>(++done) / static_cast<double>(jobs.size()));
  });
  return jobs;
}

}  // namespace pel::fleet
