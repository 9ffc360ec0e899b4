// In the order in which it runs: the ranks of the sources are found and grouped by job (RankFolders). Then
// for each job (JobPacker) the collectives of all ranks are read, their clocks fitted and their meetings
// weighed, as --ranks does it; the tables are written next to each other, each from its ranks in order.
#include "doctor/fleet/pack.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>
#include <unistd.h>

#include "base/check.h"
#include "base/sort_stably.h"
#include "doctor/fleet/columns.h"
#include "doctor/fleet/partitions.h"
#include "doctor/fleet/rank_rows.h"
#include "doctor/fleet/table_reader.h"
#include "doctor/fleet/table_writer.h"
#include "doctor/model/run_in_parallel.h"
#include "doctor/ranks/compare_ranks.h"

namespace pel::fleet {
namespace {

using doctor::RankFacts;

constexpr std::uint64_t kBytesOfFile = 256'000'000;  // of a large table
constexpr FleetColumn kRankColumn = {"rank"};

// `rank` and the columns of a rank's table.
std::vector<FleetColumn> with_rank(std::span<const FleetColumn> columns) {
  std::vector<FleetColumn> all{kRankColumn};
  all.insert(all.end(), columns.begin(), columns.end());
  return all;
}

struct RankFolder {
  std::int64_t rank = 0;
  std::string path;
  std::string job{}, host{};  // of its meta
  std::int64_t base_ns = 0;
  std::vector<ColumnRows> meta{};  // of meta_columns(), one row

  std::string table(std::string_view name) const { return fmt::format("{}/{}.parquet", path, name); }
};

std::size_t place_in_meta(std::string_view name) {
  const std::span<const FleetColumn> columns = meta_columns();
  const auto at = std::ranges::find(columns, name, &FleetColumn::name);
  PEL_ASSERT(at != columns.end(), "callers name columns of meta");
  return static_cast<std::size_t>(at - columns.begin());
}

std::string text_in(const std::vector<ColumnRows>& meta, std::string_view name) {
  const ColumnRows& column = meta[place_in_meta(name)];
  return column.is_there[0] != 0 ? column.texts[static_cast<std::size_t>(column.values[0])] : "";
}

// The folders rank=0, rank=1, … of a source; what is in them is not read.
std::vector<RankFolder> folders_in(const std::string& source) {
  std::error_code error;
  std::filesystem::directory_iterator entries(source, error);
  PEL_CHECK(!error, FileError, "{} cannot be read: {}", source, error.message());
  std::vector<RankFolder> found;
  for (; entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    PEL_CHECK(!error, FileError, "{} cannot be read: {}", source, error.message());
    constexpr std::string_view kPrefix = "rank=";
    const std::string name = entries->path().filename().string();
    std::int64_t rank = -1;
    if (!name.starts_with(kPrefix)) continue;
    const auto [end, wrong] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), rank);
    if (wrong == std::errc() && end == name.data() + name.size() && rank >= 0)
      found.push_back({.rank = rank, .path = entries->path().string()});
  }
  PEL_CHECK(!found.empty(), FileError,
            "{} has no folders rank=0, rank=1, …: give the folder that --parquet wrote", source);
  std::ranges::sort(found, {}, &RankFolder::rank);
  return found;
}

// False: it is not finished.
bool read_meta(RankFolder& folder) {
  if (!std::filesystem::exists(folder.table("meta"))) return false;
  TableReader table(folder.table("meta"), meta_columns());
  PEL_CHECK(table.next() && table.rows()[0].values.size() == 1, FileError,
            "{} has no row: the meta of a rank has one", folder.table("meta"));
  folder.meta.assign(table.rows().begin(), table.rows().end());
  const std::int64_t version = folder.meta[0].values[0];
  PEL_CHECK(version >= 1 && version <= kSchemaVersion, FileError,
            "{} is of version {} of the tables, and this program packs 1 to {}: use a newer one",
            folder.table("meta"), version, kSchemaVersion);
  folder.job = text_in(folder.meta, "job");
  folder.host = text_in(folder.meta, "host");
  folder.base_ns = folder.meta[place_in_meta("base_ns")].values[0];
  return true;
}

// What tells meetings of a job apart, as one number: the rank tables have it as five columns.
std::int64_t meeting_number(const RankFacts& facts, const doctor::Collective& one) {
  return text_number(fmt::format("{}\x1f{}\x1f{}\x1f{}", facts.texts[one.group], facts.texts[one.name],
                                 one.is_numbered ? "" : facts.texts[one.step], one.index));
}

class JobPacker {
 public:
  JobPacker(const PackRequest& request, std::vector<RankFolder> ranks, PackedJob& packed)
      : request_(request), ranks_(std::move(ranks)), packed_(packed) {}

  void run() {
    claim();
    try {
      read_collectives_of_ranks();
      compared_ = doctor::weigh_ranks(facts_);
      find_meeting_numbers();
      write_tables();
    } catch (...) {
      std::error_code ignored;
      std::filesystem::remove_all(scratch_, ignored);
      throw;
    }
    publish();
  }

 private:
  // Tables are written to a folder that no pattern for jobs matches, and that is renamed when it is whole.
  void claim() {
    std::error_code error;
    PEL_CHECK(request_.replace == Replace::Always || !std::filesystem::exists(packed_.folder, error),
              FileError,
              "{} is there already: give --replace to replace it, or --job to name this one differently",
              packed_.folder);
    scratch_ = fmt::format("{}/.unfinished-{}", request_.destination, getpid());
    unfinished_ = fmt::format("{}/date={}/job={}", scratch_, packed_.date, as_partition(packed_.job));
    std::filesystem::create_directories(unfinished_, error);
    PEL_CHECK(!error, FileError, "{} cannot be created: {}", unfinished_, error.message());
  }

  void publish() {
    for (const auto& file : std::filesystem::directory_iterator(unfinished_))
      packed_.bytes += file.file_size();
    std::error_code error;
    const std::filesystem::path folder(packed_.folder);
    const std::string before = scratch_ + "/before";
    std::filesystem::create_directories(folder.parent_path(), error);
    if (!error && std::filesystem::exists(folder)) std::filesystem::rename(folder, before, error);
    if (!error) std::filesystem::rename(unfinished_, folder, error);
    PEL_CHECK(!error, FileError, "{} cannot be written: {}", packed_.folder, error.message());
    std::filesystem::remove_all(scratch_, error);
  }

  // Of all packing, a third is reading collectives.
  void show(double share) const {
    if (request_.progress) request_.progress("packing " + packed_.job, std::min(share, 0.99));
  }

  void read_collectives_of_ranks() {
    facts_.resize(ranks_.size());
    std::mutex mutex;
    std::size_t done = 0;
    doctor::run_in_parallel(ranks_.size(), 0, [&](std::size_t r) {
      facts_[r].rank = ranks_[r].rank;
      read_collectives(ranks_[r].table("collectives"), ranks_[r].base_ns, facts_[r]);
      const std::scoped_lock lock(mutex);
      if (++done % 64 == 0) show(0.33 * static_cast<double>(done) / static_cast<double>(ranks_.size()));
    });
    for (const RankFacts& facts : facts_) packed_.collectives += facts.collectives.size();
  }

  void find_meeting_numbers() {
    meetings_.resize(facts_.size());
    for (std::size_t r = 0; r < facts_.size(); ++r) meetings_[r].resize(facts_[r].collectives.size());
    for (const doctor::Meeting& meeting : compared_.aligned.meetings) {
      const std::span<const doctor::Arrival> arrivals = compared_.aligned.of(meeting);
      const RankFacts& facts = facts_[arrivals[0].rank];
      const std::int64_t number = meeting_number(facts, facts.collectives[arrivals[0].collective]);
      for (const doctor::Arrival& arrival : arrivals) meetings_[arrival.rank][arrival.collective] = number;
    }
    packed_.meetings = compared_.aligned.meetings.size();
  }

  std::string path_of(std::string_view table) const {
    return fmt::format("{}/{}.parquet", unfinished_, table);
  }

  void write_tables() {
    std::vector<std::function<void()>> tables{
        [&] { write_collectives(); },
        [&] { copy("facts", kFactColumns); },
        [&] { copy("syncs", kSyncColumns); },
        [&] { write_names(); },
        [&] { write_meetings(); },
        [&] { write_meta(); },
    };
    if (request_.large == LargeTables::Yes) {
      tables.emplace_back([&] { copy_large("events", kEventColumns); });
      tables.emplace_back([&] { copy_large("launches", kLaunchColumns); });
      tables.emplace_back([&] { copy_large("gaps", kGapColumns); });
    }
    std::mutex mutex;
    std::size_t done = 0;
    doctor::run_in_parallel(tables.size(), 0, [&](std::size_t i) {
      tables[i]();
      const std::scoped_lock lock(mutex);
      show(0.4 + 0.6 * static_cast<double>(++done) / static_cast<double>(tables.size()));
    });
  }

  void write_collectives() {
    const std::vector<FleetColumn> columns = [] {
      std::vector<FleetColumn> all{
          kRankColumn, {"meeting", ColumnKind::Number, Packing::Plain}, {"arrived_ns"}};
      all.insert(all.end(), collective_columns().begin(), collective_columns().end());
      return all;
    }();
    TableWriter out(path_of("collectives"), columns);
    for (std::size_t r = 0; r < facts_.size(); ++r) {
      for (std::size_t c = 0; c < facts_[r].collectives.size(); ++c) {
        const doctor::Collective& one = facts_[r].collectives[c];
        out.number(ranks_[r].rank).number(meetings_[r][c]);
        out.number(compared_.aligned.clocks[r].true_ns(one.begin_ns));
        out.number(static_cast<std::int64_t>(c));
        put_collective(out, facts_[r], one, one.event, ranks_[r].base_ns);
        out.end_row();
      }
    }
    out.close();
  }

  void write_meetings() {
    TableWriter out(path_of("meetings"), kMeetingColumns);
    const auto text_or_none = [&](std::string_view text) { text.empty() ? out.none() : out.text(text); };
    for (std::size_t m = 0; m < compared_.waits.size(); ++m) {
      const doctor::MeetingWait& wait = compared_.waits[m];
      const doctor::Meeting& meeting = compared_.aligned.meetings[m];
      const RankFacts& facts = facts_[wait.late];
      const doctor::Collective& one = facts.collectives[wait.collective];
      out.number(meetings_[wait.late][wait.collective]);
      text_or_none(facts.texts[one.group]);
      out.text(facts.texts[one.name]);
      text_or_none(facts.texts[one.step]);
      out.flag(one.is_numbered).number(one.index);
      one.bytes < 0 ? out.none() : out.number(one.bytes);
      out.number(meeting.end - meeting.begin).number(ranks_[wait.late].rank);
      text_or_none(ranks_[wait.late].host);
      out.number(compared_.aligned.clocks[wait.late].true_ns(one.begin_ns));
      out.number(wait.typical_ns).number(wait.alone_ns).number(wait.all_ns);
      text_or_none(wait.is_first ? "" : name(wait.cause));
      out.flag(wait.is_first).end_row();
    }
    out.close();
  }

  void write_names() {
    TableWriter out(path_of("names"), kNameColumns);
    std::unordered_set<std::int64_t> seen;
    for (const RankFolder& rank : ranks_) {
      TableReader table(rank.table("dict_names"), kNameColumns);
      while (table.next()) {
        const std::span<const ColumnRows> rows = table.rows();
        for (std::size_t row = 0; row < rows[0].values.size(); ++row) {
          if (!seen.insert(rows[0].values[row]).second) continue;
          out.number(rows[0].values[row]);
          for (std::size_t i = 1; i < rows.size(); ++i) {
            if (rows[i].is_there[row] != 0) {
              out.text(rows[i].texts[static_cast<std::size_t>(rows[i].values[row])]);
            } else {
              out.none();
            }
          }
          out.end_row();
        }
      }
    }
    out.close();
  }

  void write_meta() {
    std::vector<FleetColumn> columns = with_rank(meta_columns());
    columns.erase(columns.begin() + 1 + kJobOfMeta);
    TableWriter out(path_of("meta"), columns);
    const std::size_t clock = place_in_meta("clock_group");
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      out.number(ranks_[r].rank).number(kSchemaVersion);
      for (std::size_t i = 1; i < clock; ++i) {
        const ColumnRows& column = ranks_[r].meta[i];
        if (i == kJobOfMeta) continue;
        if (column.is_there[0] == 0) {
          out.none();
        } else if (meta_columns()[i].kind == ColumnKind::Text) {
          out.text(column.texts[static_cast<std::size_t>(column.values[0])]);
        } else {
          out.number(column.values[0]);
        }
      }
      put_clock(out, compared_.aligned.clocks[r]);
      out.end_row();
    }
    out.close();
  }

  void copy(std::string_view name, std::span<const FleetColumn> columns) {
    TableWriter out(path_of(name), with_rank(columns));
    for (const RankFolder& rank : ranks_) {
      TableReader table(rank.table(name), columns);
      while (table.next()) out.append(rank.rank, table.rows());
    }
    out.close();
  }

  // Row groups are of one rank each, so that a question about a rank reads no other.
  void copy_large(std::string_view name, std::span<const FleetColumn> columns) {
    std::optional<TableWriter> out;
    std::size_t files = 0;
    for (const RankFolder& rank : ranks_) {
      if (out && out->bytes() >= kBytesOfFile) {
        out->close();
        out.reset();
      }
      if (!out) out.emplace(path_of(fmt::format("{}_{:04}", name, files++)), with_rank(columns));
      TableReader table(rank.table(name), columns);
      while (table.next()) out->append(rank.rank, table.rows());
      out->end_group();
    }
    out->close();
  }

  const PackRequest& request_;
  std::vector<RankFolder> ranks_;  // by number
  PackedJob& packed_;
  std::string scratch_, unfinished_;
  std::vector<RankFacts> facts_;
  doctor::RankComparison compared_;
  std::vector<std::vector<std::int64_t>> meetings_;  // of collectives, by rank; 0: it met nobody
};

// The ranks of the sources by job, each by number.
std::map<std::string, std::vector<RankFolder>> ranks_by_job(const PackRequest& request) {
  std::vector<RankFolder> all;
  for (const std::string& source : request.sources) {
    std::vector<RankFolder> some = folders_in(source);
    std::ranges::move(some, std::back_inserter(all));
  }
  std::vector<std::uint8_t> is_whole(all.size());
  doctor::run_in_parallel(all.size(), 0, [&](std::size_t i) { is_whole[i] = read_meta(all[i]) ? 1 : 0; });
  std::map<std::string, std::vector<RankFolder>> jobs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_whole[i] == 0) {
      if (request.unread)
        request.unread(
            fmt::format("{} is left out: it has no meta.parquet, so it is not finished", all[i].path));
      continue;
    }
    const std::string job = request.job.empty() ? all[i].job : request.job;
    PEL_CHECK(!job.empty(), FileError,
              "{} does not say its job: give --job NAME, or --label job=NAME where its trace is reduced",
              all[i].path);
    jobs[job].push_back(std::move(all[i]));
  }
  PEL_CHECK(!jobs.empty(), FileError, "{} has no rank that is finished", request.sources.front());
  for (auto& [job, ranks] : jobs) {
    sort_stably(ranks, [](const RankFolder& a, const RankFolder& b) { return a.rank < b.rank; });
    const auto twice = std::ranges::adjacent_find(ranks, {}, &RankFolder::rank);
    PEL_CHECK(twice == ranks.end(), FileError,
              "{} and {} are both rank {} of job {}: pack them as two jobs, each with its --job", twice->path,
              std::next(twice)->path, twice->rank, job);
  }
  return jobs;
}

}  // namespace

std::vector<PackedJob> pack(const PackRequest& request) {
  std::vector<PackedJob> packed;
  std::map<std::string, std::vector<RankFolder>> jobs = ranks_by_job(request);
  for (auto& [job, ranks] : jobs) {
    const RankFolder& first = *std::ranges::min_element(ranks, {}, &RankFolder::base_ns);
    const std::string date = request.date.empty() ? date_of(first.base_ns) : request.date;
    PEL_CHECK(!date.empty(), FileError,
              "{} does not say its date, because its trace has no time of day: give --date", first.path);
    PackedJob& one = packed.emplace_back();
    one = {.job = job,
           .date = date,
           .folder = fmt::format("{}/date={}/job={}", request.destination, date, as_partition(job)),
           .ranks = ranks.size()};
    JobPacker(request, std::move(ranks), one).run();
  }
  return packed;
}

}  // namespace pel::fleet
