// Made ranks of one run, of which three are late, for check_fleet.py.
//
//   write_made_ranks json FOLDER RANKS EVENTS [GROUP]       traces of so many ranks, of so many events each
//   write_made_ranks parquet FOLDER RANKS EVENTS [GROUP]    their tables, and on stdout what reading took and
//                                                           who is late
//
// With GROUP steps are short, and groups of so many neighbours on one host reduce once more in each.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/resource.h>

#include "doctor/fleet/fleet_folder.h"
#include "doctor/ranks/compare_ranks.h"
#include "doctor/ranks/read_ranks.h"
#include "doctor/tests/made_ranks.h"

namespace {

using namespace pel;
using test::LatenessMade;
using test::MadeRankSource;
using test::MadeTrainingRun;

MadeTrainingRun made_run(int ranks, int events, int group) {
  MadeTrainingRun run{.ranks = ranks, .steps = 1, .kernels = group != 0 ? 11 : std::min(300, events / 30)};
  run.group = group;
  run.has_jitter = true;  // times of real traces are never alike, which is what their size comes from
  run.steps = events / run.events_in_step() + 1;
  run.late = {
      {.rank = ranks - 1, .cause = LatenessMade::Input, .late_ns = 400'000, .first_step = 1, .every = 3},
      {.rank = 1, .cause = LatenessMade::Sync, .late_ns = 300'000, .first_step = 2, .every = 3},
      {.rank = 2, .cause = LatenessMade::Kernels, .late_ns = 200'000, .first_step = 3, .every = 3}};
  return run;
}

// With groups as PyTorch's handler names traces, which says the host.
std::string name_of(const MadeTrainingRun& run, int rank) {
  return run.group == 0 ? fmt::format("rank{}.json", rank)
                        : fmt::format("node{}_{}.1694128201549.pt.trace.json", rank / run.group, 1000 + rank);
}

void write_json(const MadeTrainingRun& run, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::vector<std::int64_t> begins = run.step_begins();
  std::vector<char> buffer(1 << 16);
  for (int rank = 0; rank < run.ranks; ++rank) {
    MadeRankSource source(run, begins, rank);
    std::ofstream file(folder + "/" + name_of(run, rank), std::ios::binary);
    while (const std::size_t count = source.read(buffer.data(), buffer.size()))
      file.write(buffer.data(), static_cast<std::streamsize>(count));
  }
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
// Not that of getrusage, which begins with what the process that started this one had.
std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return 1024 * std::atoll(line.c_str() + 6);
  }
  return 0;
}

void write_tables(const MadeTrainingRun& run, const std::string& folder) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::int64_t> begins = run.step_begins();
  fleet::FleetFolder tables(folder);
  doctor::RanksOptions options;
  options.see = [&](std::size_t, const doctor::Examined& examined, const doctor::RankFacts& facts) {
    tables.add(examined, facts);
  };
  const std::vector<doctor::RankFacts> facts = read_ranks(
      static_cast<std::size_t>(run.ranks),
      [&](std::size_t i) {
        const int rank = static_cast<int>(i);
        return std::make_unique<MadeRankSource>(run, begins, rank, name_of(run, rank));
      },
      options);
  tables.finish();
  const doctor::RankComparison compared = weigh_ranks(facts);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::string stragglers;
  for (const doctor::Straggler& one : compared.stragglers)
    stragglers += fmt::format(
        R"({}{{"rank": {}, "waited_ns": {}, "alone_ns": {}, "rank_ns": {}, "collectives": {}, "cause": "{}"}})",
        stragglers.empty() ? "" : ", ", facts[one.rank].rank, one.waited_ns, one.alone_ns, one.rank_ns,
        one.collectives, name(one.cause()));
  std::uint64_t events = 0;
  for (const doctor::RankFacts& rank : facts) events += rank.events;
  fmt::print(
      R"({{"events": {}, "seconds": {:.1f}, "cpu_seconds": {:.1f}, "cores": {}, "peak_bytes": {}, "stragglers": [{}]}})",
      events, seconds, cpu_seconds(), std::thread::hardware_concurrency(), peak_bytes(), stragglers);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    fmt::print(stderr, "write_made_ranks json|parquet FOLDER RANKS EVENTS [GROUP]\n");
    return 2;
  }
  const MadeTrainingRun run = made_run(std::max(4, std::atoi(argv[3])), std::max(100, std::atoi(argv[4])),
                                       argc == 6 ? std::atoi(argv[5]) : 0);
  if (std::string_view(argv[1]) == "json") {
    write_json(run, argv[2]);
  } else {
    write_tables(run, argv[2]);
  }
  return 0;
}
