// Many ranks of one run: which of them the others wait for, why, and on whose clock.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pellucid/error.h"

#include "doctor/ranks/compare_ranks.h"
#include "doctor/ranks/read_ranks.h"
#include "doctor/tests/made_ranks.h"
#include "doctor/tests/real_traces.h"
#include "doctor/tests/trace_text.h"

namespace pel::doctor {
namespace {

using test::LatenessMade;
using test::MadeRankSource;
using test::MadeTrainingRun;
using test::TraceText;

std::vector<RankFacts> read_made(const MadeTrainingRun& run, const RanksOptions& options = {}) {
  const std::vector<std::int64_t> begins = run.step_begins();
  return read_ranks(
      static_cast<std::size_t>(run.ranks),
      [&](std::size_t i) { return std::make_unique<MadeRankSource>(run, begins, static_cast<int>(i)); },
      options);
}

RankFacts reduce_text(const TraceText& trace) {
  test::TextSource source(trace.text(), 1000);
  return reduce_rank(source);
}

const Fact* rank_fact(const Finding& finding, std::string_view key) {
  for (const Fact& fact : finding.facts) {
    if (fact.key == key) return &fact;
  }
  return nullptr;
}

std::int64_t count_in(const Value& value) { return std::get<std::int64_t>(value); }

std::string all_sentences(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    for (const std::string& sentence : finding.sentences) text += sentence + "\n";
  }
  return text;
}

void expect_whole_tables(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    for (const Table& table : finding.tables) {
      for (const auto& row : table.rows)
        EXPECT_EQ(row.size(), table.columns.size()) << finding.key << " " << table.key;
    }
  }
}

constexpr const char* kRanksAllReduce =
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

TEST(RankIdentity, IsTheTracesOwnElseThatOfItsName) {
  TraceSummary summary;
  const auto of_name = [&](std::string_view name) { return rank_identity(summary, name); };
  EXPECT_EQ(of_name("run/rank7.json.gz").rank, 7);
  EXPECT_EQ(of_name("/rank3/rank-34.Jul_15_10_52_41.1074.pt.trace.json").rank, 34);
  EXPECT_EQ(of_name("worker5_step_12.1694128201549.pt.trace.json").rank, 5);
  EXPECT_EQ(of_name("profile_trace_rank_0.json").rank, 0);
  EXPECT_EQ(of_name("resnet_rank2of8.json").rank, 2);
  EXPECT_EQ(of_name("resnet_rank2of8.json").world, 8);
  EXPECT_EQ(of_name("run/r3-2025-11-18-9-30.json").rank, 3);
  EXPECT_EQ(of_name("r12.json.gz").rank, 12);
  for (const std::string_view unknown : {"ranks/trace.json", "r3.d/trace.json", "run3.json", "r3x.json",
                                         "r.json", "frank7.json", "coworker_3.json"})
    EXPECT_EQ(of_name(unknown).rank, -1) << unknown;
  EXPECT_EQ(of_name("runs/node-7_4242.1694128201549.pt.trace.json.gz").host, "node-7");
  EXPECT_EQ(of_name("runs/node-7_4242.1694128201549.pt.trace.json.gz").rank, -1);
  for (const std::string_view unknown : {"worker5_step_12.1694128201549.pt.trace.json", "node_4242.json",
                                         "4242.1694128201549.pt.trace.json", "node_4242.last.pt.trace.json"})
    EXPECT_EQ(of_name(unknown).host, "") << unknown;
  summary.metadata.emplace_back("distributedInfo", R"({"backend": "nccl", "rank": 12, "world_size": 16})");
  EXPECT_EQ(of_name("rank7.json").rank, 12);
  EXPECT_EQ(of_name("rank7.json").world, 16);
  EXPECT_EQ(of_name("node7_4242.1694128201549.pt.trace.json").host, "node7");
}

TEST(RankFacts, SayWhatTheDeviceDidBeforeACollective) {
  const RankFacts facts = reduce_text(TraceText()
                                          .call(1, "cudaLaunchKernel", 0, 1, 1)
                                          .call(1, "cudaLaunchKernel", 50, 1, 2)
                                          .call(1, "cudaLaunchKernel", 55, 1, 3)
                                          .call(1, "cudaLaunchKernel", 60, 1, 4)
                                          .kernel(7, "elementwise_kernel", 5, 5, 1)
                                          .kernel(7, "elementwise_kernel", 52, 28, 2)
                                          .kernel(8, kRanksAllReduce, 15, 5, 3)
                                          .kernel(8, kRanksAllReduce, 90, 10, 4));
  ASSERT_EQ(facts.collectives.size(), 2u);
  EXPECT_TRUE(facts.collectives[0].is_first);
  EXPECT_EQ(facts.collectives[0].since_ns, 0);
  const Collective& second = facts.collectives[1];
  EXPECT_FALSE(second.is_first);
  EXPECT_EQ(second.since_ns, 20'000);
  EXPECT_EQ(second.index, 1);
  EXPECT_EQ(second.kernels, 1u);
  EXPECT_EQ(second.before[kBeforeKernels], 28'000);
  EXPECT_EQ(second.before[kBeforeIdle + static_cast<std::size_t>(IdleCause::Dispatch)], 32'000);
  float sum = 0;
  for (const float ns : second.before) sum += ns;
  EXPECT_EQ(sum, static_cast<float>(second.begin_ns - second.since_ns));
}

TEST(RankFacts, HaveGroupNumberAndBytesWhereTheTraceHasThem) {
  const RankFacts facts = reduce_text(
      TraceText()
          .kernel(
              8, kRanksAllReduce, 0, 5, 1,
              R"("Collective name": "allreduce", "Process Group Name": "3", "dtype": "BFloat16", "In msg nelems": 100, "Group size": 4, "Seq": 17)")
          .kernel(
              8, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 10, 5, 2,
              R"("Collective name": "send", "Process Group Name": "3", "dtype": "Float", "In msg nelems": 100)"));
  ASSERT_EQ(facts.collectives.size(), 1u) << "who sends to one rank makes no others wait";
  const Collective& one = facts.collectives[0];
  EXPECT_EQ(facts.texts[one.group], "3");
  EXPECT_EQ(facts.texts[one.name], "allreduce");
  EXPECT_EQ(one.bytes, 200);
  EXPECT_EQ(one.ranks, 4);
  EXPECT_TRUE(one.is_numbered);
  EXPECT_EQ(one.index, 17);
}

TEST(RankFacts, OldTracesNameACollectiveByTheSpanAroundItsLaunch) {
  const RankFacts facts =
      reduce_text(TraceText()
                      .annotation(1, "nccl:all_to_all", 0, 10)
                      .call(1, "cudaLaunchKernel", 2, 5, 1)
                      .kernel(8, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", 20, 5, 1));
  ASSERT_EQ(facts.collectives.size(), 1u);
  EXPECT_EQ(facts.texts[facts.collectives[0].name], "all_to_all");
}

// Facts of a rank with collectives that begin and end at these times, by its own clock, in one group.
RankFacts made_facts(std::int64_t rank, const std::string& group,
                     const std::vector<std::array<std::int64_t, 3>>& calls) {
  RankFacts facts;
  facts.rank = rank;
  facts.source = fmt::format("rank{}.json", rank);
  facts.texts = {"", group, "allreduce"};
  for (const auto& [number, begin, end] : calls) {
    Collective one;
    one.group = 1;
    one.name = 2;
    one.is_numbered = true;
    one.index = number;
    one.begin_ns = begin;
    one.end_ns = end;
    facts.collectives.push_back(one);
  }
  facts.time.busy_ns = 1000;
  return facts;
}
void append_facts(RankFacts& facts, const RankFacts& more) {
  const auto shift = static_cast<std::uint32_t>(facts.texts.size());
  facts.texts.insert(facts.texts.end(), more.texts.begin(), more.texts.end());
  for (Collective one : more.collectives) {
    one.group += shift;
    one.name += shift;
    facts.collectives.push_back(one);
  }
}

TEST(AlignRanks, NumbersAlignTracesThatBeginAtDifferentCollectives) {
  const AlignedRanks aligned = align_ranks(std::vector{
      made_facts(0, "0", {{5, 100, 200}, {6, 300, 400}, {7, 500, 600}}),
      made_facts(1, "0", {{6, 1350, 1400}, {7, 1550, 1600}, {8, 1700, 1800}}),
  });
  EXPECT_EQ(aligned.meetings.size(), 2u);
  EXPECT_EQ(aligned.met_alone, 2u);
  EXPECT_EQ(aligned.clocks[1].offset_ns - aligned.clocks[0].offset_ns, 1000);
}

TEST(AlignRanks, ClocksAreFittedThroughRanksThatMeetBoth) {
  // 0 meets 1 in one group, 1 meets 2 in another; 3 meets nobody.
  RankFacts middle = made_facts(1, "a", {{0, 50, 1200}, {1, 1300, 1400}});
  append_facts(middle, made_facts(1, "b", {{0, 1500, 1600}, {1, 1700, 1800}}));
  const AlignedRanks aligned = align_ranks(std::vector{
      made_facts(0, "a", {{0, 100, 200}, {1, 300, 400}}),
      middle,
      made_facts(2, "b", {{0, 95'500, 95'600}, {1, 95'700, 95'800}}),
      made_facts(3, "c", {{0, 1, 2}}),
  });
  EXPECT_EQ(aligned.clocks[1].offset_ns - aligned.clocks[0].offset_ns, 1000);
  EXPECT_EQ(aligned.clocks[2].offset_ns - aligned.clocks[1].offset_ns, 94'000);
  EXPECT_EQ(aligned.clocks[0].component, aligned.clocks[2].component);
  EXPECT_FALSE(aligned.clocks[3].is_known);
}

TEST(AlignRanks, OneStrangeCollectiveDoesNotMoveAClock) {
  std::vector<std::array<std::int64_t, 3>> calls, strange;
  for (std::int64_t i = 0; i < 9; ++i) {
    calls.push_back({i, 1000 * i, 1000 * i + 500});
    strange.push_back({i, 1000 * i + 70, 1000 * i + 570 + (i == 4 ? 1'000'000 : 0)});
  }
  const AlignedRanks aligned =
      align_ranks(std::vector{made_facts(0, "0", calls), made_facts(1, "0", strange)});
  EXPECT_EQ(aligned.clocks[1].offset_ns - aligned.clocks[0].offset_ns, 70);
  EXPECT_EQ(aligned.clocks[1].spread_ns, 0);
}

TEST(AlignRanks, AClockThatDriftsIsFittedByALine) {
  constexpr double kDrift = 20e-6;  // 200 µs in the 10 s of the trace
  std::vector<std::array<std::int64_t, 3>> calls, drifting;
  for (std::int64_t i = 0; i < 100; ++i) {
    const std::int64_t end = 100'000'000 * i;
    const auto gained = static_cast<std::int64_t>(kDrift * static_cast<double>(end)) + 5'000'000;
    calls.push_back({i, end - 50'000, end});
    drifting.push_back({i, end - 20'000 + gained, end + gained});
  }
  const std::vector<RankFacts> ranks{made_facts(0, "0", calls), made_facts(1, "0", drifting),
                                     made_facts(2, "0", calls)};
  const AlignedRanks aligned = align_ranks(ranks);
  EXPECT_NEAR(std::abs(aligned.clocks[1].drift - aligned.clocks[0].drift), kDrift, 1e-8);
  EXPECT_LT(aligned.clocks[1].spread_ns, 100);
  const RankComparison compared = weigh_ranks(ranks);
  EXPECT_EQ(compared.stragglers[0].rank, 1u);
  EXPECT_NEAR(static_cast<double>(compared.stragglers[0].waited_ns), 100 * 30'000, 100 * 100);
}

TEST(AlignRanks, AGroupNameOfTwoGroupsIsLeftOut) {
  std::vector<RankFacts> ranks;
  for (int r = 0; r < 4; ++r) {
    ranks.push_back(made_facts(r, "tp", {{0, 100, 200}}));
    ranks.back().collectives[0].ranks = 2;
  }
  EXPECT_EQ(align_ranks(ranks).ambiguous, 1u);
  EXPECT_TRUE(align_ranks(ranks).meetings.empty());
  EXPECT_NE(all_sentences(compare_ranks(ranks)).find("left out"), std::string::npos);
}

TEST(WeighRanks, NobodyWaitsLongerThanItsKernelRan) {
  const std::vector<RankFacts> ranks{
      made_facts(0, "0", {{0, 100, 200}, {1, 390, 400}}),
      made_facts(1, "0", {{0, 150, 200}, {1, 10'000, 10'010}}),  // by another clock than before
      made_facts(2, "0", {{0, 110, 200}, {1, 395, 400}}),
  };
  const RankComparison compared = weigh_ranks(ranks);
  for (std::size_t r = 0; r < 3; ++r) EXPECT_LE(compared.waiting_ns[r], 110);
}

class PlantedRanks : public testing::Test {
 protected:
  static const MadeTrainingRun& run() {
    static const MadeTrainingRun kRun{
        .ranks = 64,
        .steps = 40,
        .kernels = 12,
        .late = {
            {.rank = 17, .cause = LatenessMade::Input, .late_ns = 400'000, .first_step = 1, .every = 4},
            {.rank = 42, .cause = LatenessMade::Sync, .late_ns = 300'000, .first_step = 2, .every = 4},
            {.rank = 5, .cause = LatenessMade::Kernels, .late_ns = 200'000, .first_step = 3, .every = 4},
            {.rank = 63, .cause = LatenessMade::Dispatch, .late_ns = 100'000, .first_step = 4, .every = 4}}};
    return kRun;
  }
  static const std::vector<RankFacts>& facts() {
    static const std::vector<RankFacts> kFacts = read_made(run());
    return kFacts;
  }
};

TEST_F(PlantedRanks, AreFoundInOrderWithTheirCausesAndWhatTheyCost) {
  const RankComparison compared = weigh_ranks(facts());
  ASSERT_EQ(compared.aligned.meetings.size(), 40u);
  constexpr LateCause kCauses[] = {LateCause::Input, LateCause::Sync, LateCause::Kernels,
                                   LateCause::Dispatch};
  for (std::size_t i = 0; i < run().late.size(); ++i) {
    const test::MadeStraggler& planted = run().late[i];
    const Straggler& found = compared.stragglers[i];
    EXPECT_EQ(found.rank, static_cast<std::uint32_t>(planted.rank));
    EXPECT_EQ(found.cause(), kCauses[i]) << name(found.cause());
    const std::int64_t times = (run().steps - planted.first_step + planted.every - 1) / planted.every;
    EXPECT_NEAR(static_cast<double>(found.waited_ns), static_cast<double>(times * planted.late_ns),
                2'000.0 * static_cast<double>(times) + 20'000);
    EXPECT_GT(found.causes_ns[static_cast<std::size_t>(found.cause())], 9 * found.waited_ns / 10);
    std::int64_t sum = 0;
    for (const std::int64_t ns : found.causes_ns) sum += ns;
    EXPECT_EQ(sum, found.waited_ns);
  }
  for (std::size_t i = run().late.size(); i < compared.stragglers.size(); ++i)
    EXPECT_LT(compared.stragglers[i].waited_ns, 20'000);
}

TEST_F(PlantedRanks, HaveTheirClocksRecovered) {
  const AlignedRanks aligned = align_ranks(facts());
  for (int rank = 0; rank < run().ranks; ++rank) {
    const std::int64_t found =
        aligned.clocks[static_cast<std::size_t>(rank)].offset_ns - aligned.clocks[0].offset_ns;
    EXPECT_NEAR(static_cast<double>(found), static_cast<double>(run().offset_ns(rank)), 5'000) << rank;
  }
}

TEST_F(PlantedRanks, AreNamedInTheReport) {
  const std::vector<Finding> findings = compare_ranks(facts());
  expect_whole_tables(findings);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].key, "prescriptions");
  const Finding& stragglers = findings[1];
  ASSERT_GE(stragglers.sentences.size(), 3u);
  EXPECT_TRUE(stragglers.sentences[0].starts_with("Rank 17 is late")) << stragglers.sentences[0];
  EXPECT_NE(stragglers.sentences[0].find("input"), std::string::npos);
  EXPECT_TRUE(stragglers.sentences[1].starts_with("Rank 42 is late"));
  EXPECT_TRUE(stragglers.sentences[2].starts_with("Rank 5 is late"));
  EXPECT_NE(stragglers.sentences[2].find("% longer"), std::string::npos) << stragglers.sentences[2];
  EXPECT_EQ(count_in(rank_fact(stragglers, "ranks")->value), 64);
  EXPECT_EQ(findings[2].tables[0].rows.size(), 64u);
}

// Of what is prescribed to the ranks of a run: which rank, and what the run would take less.
struct PrescribedRank {
  std::string action;
  double saved_ns;
};
std::vector<PrescribedRank> prescribed_ranks(const std::vector<Finding>& findings) {
  std::vector<PrescribedRank> list;
  if (findings[0].key != "prescriptions") return list;
  const Table& table = findings[0].tables[0];
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    EXPECT_EQ(std::get<std::string>(cell(table, row, "key")), "straggler");
    list.push_back({std::get<std::string>(cell(table, row, "action")),
                    static_cast<double>(count_in(cell(table, row, "saved_ns")))});
  }
  return list;
}

// By how much a run is longer than it would be without some of its stragglers.
double lost_ns(const MadeTrainingRun& run, const std::vector<int>& ranks) {
  MadeTrainingRun fixed = run;
  std::erase_if(fixed.late, [&](const test::MadeStraggler& s) {
    return std::ranges::find(ranks, s.rank) != ranks.end();
  });
  return static_cast<double>(run.step_begins().back() - fixed.step_begins().back());
}

TEST(PrescribeToRanks, AStragglerGainsWhatItCostsTheRun) {
  for (const LatenessMade cause :
       {LatenessMade::Input, LatenessMade::Sync, LatenessMade::Kernels, LatenessMade::Dispatch}) {
    const MadeTrainingRun run{.ranks = 8,
                              .steps = 20,
                              .kernels = 20,
                              .late = {{.rank = 5, .cause = cause, .late_ns = 150'000, .first_step = 1}}};
    const std::vector<Finding> findings = compare_ranks(read_made(run));
    const std::vector<PrescribedRank> prescribed = prescribed_ranks(findings);
    ASSERT_EQ(prescribed.size(), 1u);
    EXPECT_TRUE(prescribed[0].action.starts_with("Rank 5 is the straggler")) << prescribed[0].action;
    const double lost = lost_ns(run, {5});
    EXPECT_NEAR(prescribed[0].saved_ns, lost, 0.1 * lost) << static_cast<int>(cause);
    EXPECT_EQ(count_in(rank_fact(findings[0], "steps")->value), 20);
  }
}

TEST(PrescribeToRanks, ARankThatIsLateWithAnotherGainsOnlyTheDifference) {
  const MadeTrainingRun run{.ranks = 8,
                            .steps = 20,
                            .kernels = 20,
                            .late = {{.rank = 2, .late_ns = 250'000, .first_step = 1},
                                     {.rank = 6, .late_ns = 100'000, .first_step = 1}}};
  const std::vector<PrescribedRank> prescribed = prescribed_ranks(compare_ranks(read_made(run)));
  ASSERT_EQ(prescribed.size(), 1u) << "the other one is never last";
  const double lost = lost_ns(run, {2});
  EXPECT_NEAR(prescribed[0].saved_ns, lost, 0.1 * lost);
}

TEST_F(PlantedRanks, ArePrescribedInTheOrderOfTheirGains) {
  const std::vector<Finding> findings = compare_ranks(facts());
  const std::vector<PrescribedRank> prescribed = prescribed_ranks(findings);
  ASSERT_EQ(prescribed.size(), 3u);
  for (std::size_t i = 0; i < prescribed.size(); ++i) {
    const int rank = run().late[i].rank;
    EXPECT_TRUE(prescribed[i].action.starts_with(fmt::format("Rank {} is", rank))) << prescribed[i].action;
    const double lost = lost_ns(run(), {rank});
    EXPECT_NEAR(prescribed[i].saved_ns, lost, 0.1 * lost) << rank;
  }
  const double lost = lost_ns(run(), {17, 42, 5});
  EXPECT_NEAR(static_cast<double>(count_in(rank_fact(findings[0], "together_saved_ns")->value)), lost,
              0.1 * lost);
}

// Gradients are reduced in buckets while the backward pass runs: waits that it hides cost nothing.
TEST(PrescribeToRanks, WaitsThatOtherKernelsHideGainNothing) {
  constexpr int kStepsOfRank = 6, kBuckets = 4;
  constexpr double kTransferUs = 20, kBucketUs = 250;
  const auto trace_of = [&](int rank, double bucket_us) {
    const double slowest_us = kBucketUs * 1.1, step_us = kBuckets * slowest_us + kTransferUs + 10;
    TraceText trace;
    int id = 0;
    for (int step = 0; step < kStepsOfRank; ++step) {
      const double begin = 1000 + step * step_us;
      trace.annotation(1, fmt::format("ProfilerStep#{}", step), begin, step_us - 1);
      for (int bucket = 0; bucket < kBuckets; ++bucket) {
        const double ready = begin + (bucket + 1) * bucket_us;
        ++id;
        trace.call(1, "cudaLaunchKernel", begin + bucket, 0.5, id)
            .kernel(7, "elementwise_kernel", ready - bucket_us, bucket_us, id);
        ++id;
        trace.call(1, "cudaLaunchKernel", begin + bucket + 0.5, 0.5, id)
            .kernel(20, kRanksAllReduce, ready, begin + (bucket + 1) * slowest_us + kTransferUs - ready, id);
      }
    }
    RankFacts facts = reduce_text(trace);
    facts.rank = rank;
    return facts;
  };
  std::vector<RankFacts> ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks.push_back(trace_of(rank, rank == 3 ? kBucketUs * 1.1 : kBucketUs));
  const RankComparison compared = weigh_ranks(ranks);
  const std::uint32_t late = 3;
  const double truth = kStepsOfRank * kBuckets * kBucketUs * 0.1 * 1000;
  EXPECT_GT(static_cast<double>(compared.stragglers[0].alone_ns), 2 * truth);
  EXPECT_NEAR(static_cast<double>(gain_if_typical(ranks, compared, {&late, 1})), truth, 0.1 * truth);
}

TEST(CompareRanks, WithoutStepMarksTheOrderOfLaunchesAligns) {
  MadeTrainingRun run{.ranks = 4,
                      .steps = 20,
                      .kernels = 8,
                      .late = {{.rank = 2, .late_ns = 200'000}},
                      .has_step_marks = false};
  const std::vector<RankFacts> facts = read_made(run);
  const RankComparison compared = weigh_ranks(facts);
  EXPECT_EQ(compared.aligned.meetings.size(), 20u);
  EXPECT_EQ(compared.stragglers[0].rank, 2u);
  EXPECT_GT(compared.stragglers[0].at_first_ns, 100'000)
      << "the first step's lateness is not counted with the others";
  EXPECT_NEAR(static_cast<double>(compared.stragglers[0].waited_ns), 19 * 200'000.0, 60'000);
}

TEST(CompareRanks, EqualRanksHaveNoStraggler) {
  const std::vector<Finding> findings = compare_ranks(read_made({.ranks = 6, .steps = 12}));
  EXPECT_NE(findings[0].key, "prescriptions");
  EXPECT_NE(all_sentences(findings).find("No rank stands out"), std::string::npos) << all_sentences(findings);
}

TEST(CompareRanks, TracesThatNeverMeetAreToldSo) {
  const std::vector<Finding> findings =
      compare_ranks({made_facts(0, "a", {{0, 100, 200}}), made_facts(1, "b", {{0, 100, 200}})});
  EXPECT_NE(all_sentences(findings).find("record the same steps of all ranks"), std::string::npos);
  expect_whole_tables(findings);
  EXPECT_NO_THROW(compare_ranks({}));
  EXPECT_NO_THROW(compare_ranks({RankFacts()}));
}

TEST(CompareRanks, MissingRanksAreSaidToBeMissing) {
  std::vector<RankFacts> facts = read_made({.ranks = 4, .steps = 4});
  facts.pop_back();
  EXPECT_NE(all_sentences(compare_ranks(facts)).find("3 of 4 ranks"), std::string::npos);
}

TEST(CompareRanks, TwoTracesOfOneRankAreAnError) {
  try {
    compare_ranks({made_facts(3, "0", {{0, 100, 200}}), made_facts(3, "0", {{0, 100, 200}})});
    FAIL() << "no error";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("both of rank 3"), std::string::npos) << error.what();
  }
}

TEST(ReadRanks, AnErrorNamesTheFile) {
  const std::vector<std::string> paths{"/nowhere/rank0.json"};
  try {
    read_ranks(paths);
    FAIL() << "no error";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/rank0.json"), std::string::npos);
  }
}

TEST(ReadRanks, TheNumberOfThreadsChangesNothing) {
  const auto max_count = [](std::size_t count) {
    RanksOptions options;
    options.max_at_once = count;
    return options;
  };
  const MadeTrainingRun run{.ranks = 8, .steps = 6, .late = {{.rank = 1, .late_ns = 100'000}}};
  const std::vector<RankFacts> one = read_made(run, max_count(1)), many = read_made(run, max_count(8));
  ASSERT_EQ(one.size(), many.size());
  for (std::size_t r = 0; r < one.size(); ++r) {
    EXPECT_EQ(one[r].rank, static_cast<std::int64_t>(r));
    EXPECT_EQ(many[r].rank, static_cast<std::int64_t>(r));
    ASSERT_EQ(one[r].collectives.size(), many[r].collectives.size());
    for (std::size_t c = 0; c < one[r].collectives.size(); ++c)
      EXPECT_EQ(one[r].collectives[c].begin_ns, many[r].collectives[c].begin_ns);
  }
}

// 8 real ranks, on one host: clocks agree to 3 µs, and rank 7 comes last.
TEST(RealRanks, RankSevenOfDlrmIsWaitedFor) {
  PEL_SKIP_WITHOUT_TRACE("dlrm_v100_8rank");
  const std::string ranks = test::real_trace("dlrm_v100_8rank");
  const std::vector<RankFacts> facts =
      read_ranks(8, [&](std::size_t i) { return open_source(fmt::format("{}/rank{}.json.gz", ranks, i)); });
  const RankComparison compared = weigh_ranks(facts);
  ASSERT_EQ(compared.aligned.meetings.size(), 8u);
  for (const Meeting& meeting : compared.aligned.meetings) EXPECT_EQ(meeting.end - meeting.begin, 8u);
  for (std::size_t r = 0; r < 8; ++r) {
    EXPECT_EQ(facts[r].rank, static_cast<std::int64_t>(r));
    EXPECT_EQ(facts[r].world, 8);
    EXPECT_LT(std::abs(compared.aligned.clocks[r].offset_ns), 5'000);
    if (r != 7) {
      EXPECT_GT(facts[r].time.communication_ns, facts[7].time.communication_ns);
      EXPECT_GT(compared.waiting_ns[r], compared.waiting_ns[7]);
    }
  }
  EXPECT_EQ(compared.stragglers[0].rank, 7u);
  EXPECT_EQ(compared.stragglers[0].cause(), LateCause::Dispatch);
  EXPECT_GT(compared.stragglers[0].waited_ns, 1'000'000);
  EXPECT_GT(compared.stragglers[0].at_first_ns, 4'000'000);
  const std::vector<Finding> findings = compare_ranks(facts);
  expect_whole_tables(findings);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(prescribed_ranks(findings).size(), 1u);
  EXPECT_TRUE(findings[1].sentences[0].starts_with("Rank 7 is late")) << findings[1].sentences[0];
}

// 64 ranks of a million events each take minutes: PELLUCID_MANY_RANKS=64 runs it.
TEST(ManyRanks, OfAMillionEventsFitInTwoGigabytes) {
  const char* count = std::getenv("PELLUCID_MANY_RANKS");
  if (count == nullptr) GTEST_SKIP() << "takes minutes: PELLUCID_MANY_RANKS=64 runs it";
  MadeTrainingRun run{.ranks = std::max(4, std::atoi(count)), .steps = 1, .kernels = 300};
  run.steps = 1'000'000 / run.events_in_step() + 1;
  run.late = {
      {.rank = run.ranks - 1, .cause = LatenessMade::Input, .late_ns = 400'000, .first_step = 1, .every = 3},
      {.rank = 1, .cause = LatenessMade::Sync, .late_ns = 300'000, .first_step = 2, .every = 3},
      {.rank = 2, .cause = LatenessMade::Kernels, .late_ns = 200'000, .first_step = 3, .every = 3}};
  const auto begin = std::chrono::steady_clock::now();
  const auto cpu_seconds = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
  };
  const double cpu_before = cpu_seconds();
  const std::vector<RankFacts> facts = read_made(run);
  const double read_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double cores = (cpu_seconds() - cpu_before) / read_seconds;
  const RankComparison compared = weigh_ranks(facts);
  const double all_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::uint64_t events = 0;
  for (const RankFacts& rank : facts) events += rank.events;
  std::printf("%d ranks, %.1f M events: read in %.1f s on %.2f cores, compared in %.2f s, at most %.0f MB\n",
              run.ranks, static_cast<double>(events) / 1e6, read_seconds, cores, all_seconds - read_seconds,
              static_cast<double>(usage.ru_maxrss) / 1e3);
  EXPECT_GE(events, static_cast<std::uint64_t>(run.ranks) * 1'000'000);
  EXPECT_LT(usage.ru_maxrss, 2'000'000);
  EXPECT_EQ(compared.stragglers[0].rank, static_cast<std::uint32_t>(run.ranks - 1));
  EXPECT_EQ(compared.stragglers[0].cause(), LateCause::Input);
  EXPECT_EQ(compared.stragglers[1].rank, 1u);
  EXPECT_EQ(compared.stragglers[1].cause(), LateCause::Sync);
  EXPECT_EQ(compared.stragglers[2].rank, 2u);
  EXPECT_EQ(compared.stragglers[2].cause(), LateCause::Kernels);
}

}  // namespace
}  // namespace pel::doctor
