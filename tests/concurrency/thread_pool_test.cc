// parallel_for: what it covers, on which threads, and what happens around it: exceptions, forks, the end.
#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pellucid/error.h"
#include "pellucid/threads.h"

#include "base/environment.h"
#include "base/processors.h"
#include "support/errors.h"
#include "support/random.h"
#include "support/under_tsan.h"

namespace pel {
namespace {

class ParallelFor : public testing::Test {
 protected:
  ~ParallelFor() override { set_thread_count(before_); }

  struct Piece {
    std::int64_t begin, end;
    std::thread::id thread;
  };
  // A grain that is worth a thread, however many elements it has.
  static Grain long_grain(std::int64_t elements) { return {elements, Grain::whole().time}; }
  // The pieces of one call in ascending order.
  static std::vector<Piece> pieces_of(std::int64_t count, std::int64_t grain) {
    std::mutex mutex;
    std::vector<Piece> pieces;
    parallel_for(count, long_grain(grain), [&](std::int64_t begin, std::int64_t end) {
      std::lock_guard lock(mutex);
      pieces.push_back({begin, end, std::this_thread::get_id()});
    });
    std::sort(pieces.begin(), pieces.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    return pieces;
  }

  static void expect_whole(const std::vector<Piece>& pieces, std::int64_t count, std::int64_t grain) {
    std::int64_t covered = 0;
    for (const Piece& piece : pieces) {
      ASSERT_EQ(piece.begin, covered) << "count " << count << ", grain " << grain;
      ASSERT_GT(piece.end, piece.begin);
      covered = piece.end;
    }
    ASSERT_EQ(covered, count) << "grain " << grain;
  }

  // Runs f on at least two threads: every piece but the last claimed waits for a second thread.
  template <class F>
  static void on_workers(F&& f) {
    std::mutex mutex;
    std::set<std::thread::id> seen;
    std::atomic<int> threads = 0;
    parallel_for(thread_count(), Grain::whole(), [&](std::int64_t, std::int64_t) {
      {
        std::lock_guard lock(mutex);
        if (seen.insert(std::this_thread::get_id()).second) {
          ++threads;
          threads.notify_all();
        }
      }
      threads.wait(1);
      f();
    });
  }

 private:
  int before_ = thread_count();
};

TEST_F(ParallelFor, CoversEveryElementOnceForManyCountsAndGrains) {
  for (const int threads : {1, 2, 3, 8}) {
    set_thread_count(threads);
    for (const std::int64_t count : {0, 1, 2, 3, 7, 64, 97, 1000, 1009, 65'536, 104'729}) {
      for (const std::int64_t grain : {1, 2, 3, 16, 31, 997, 1000, 200'000})
        expect_whole(pieces_of(count, grain), count, grain);
    }
  }
}

TEST_F(ParallelFor, CoversEveryElementOnceForRandomCountsAndGrains) {
  test::Random random;
  for (int i = test::Random::share_of(2000); i > 0; --i) {
    set_thread_count(static_cast<int>(random.between(1, 4)));
    const std::int64_t count = random.between(0, 5000), grain = random.between(1, 300);
    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
    parallel_for(count, long_grain(grain), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) ++visits[static_cast<std::size_t>(at)];
    });
    for (const auto& visit : visits) ASSERT_EQ(visit, 1) << "count " << count << ", grain " << grain;
  }
}

TEST_F(ParallelFor, CountsNearTheLargestNumberDoNotOverflow) {
  set_thread_count(3);
  for (const std::int64_t grain : {std::int64_t{1}, INT64_MAX / 3, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX})
    expect_whole(pieces_of(INT64_MAX, grain), INT64_MAX, grain);
}

TEST_F(ParallelFor, PiecesHaveAtLeastAGrainAndBeginAtMultiplesOfIt) {
  set_thread_count(4);
  for (const std::int64_t count : {100, 128, 1009, 5000}) {
    for (const std::int64_t grain : {1, 16, 31, 50, 100}) {
      for (const Piece& piece : pieces_of(count, grain)) {
        EXPECT_EQ(piece.begin % grain, 0);
        EXPECT_GE(piece.end - piece.begin, grain);
      }
    }
  }
  EXPECT_EQ(pieces_of(199, 100).size(), 1u);
  EXPECT_EQ(pieces_of(200, 100).size(), 2u);
  EXPECT_EQ(pieces_of(5, 100).size(), 1u);
}

TEST_F(ParallelFor, PiecesDifferByAtMostAGrainExceptForTheRestOfTheLast) {
  set_thread_count(3);
  const std::int64_t count = 10'000, grain = 7;
  const auto pieces = pieces_of(count, grain);
  EXPECT_GT(pieces.size(), 3u);
  std::int64_t shortest = count, longest = 0;
  for (const Piece& piece : pieces) {
    shortest = std::min(shortest, piece.end - piece.begin);
    longest = std::max(longest, piece.end - piece.begin);
  }
  EXPECT_LT(longest - shortest, 2 * grain);
}

TEST_F(ParallelFor, OnePieceOrOneThreadRunsOnTheCallerAtOnce) {
  const auto is_inline = [](const std::vector<Piece>& pieces, std::int64_t count) {
    return pieces.size() == 1 && pieces[0].begin == 0 && pieces[0].end == count &&
           pieces[0].thread == std::this_thread::get_id();
  };
  set_thread_count(4);
  EXPECT_TRUE(is_inline(pieces_of(100, 100), 100));
  EXPECT_TRUE(is_inline(pieces_of(1, 100), 1));
  set_thread_count(1);
  EXPECT_TRUE(is_inline(pieces_of(100'000, 1), 100'000));
}

TEST_F(ParallelFor, WorkersTakePartAndAreAtMostTheThreadCount) {
  for (const int threads : {2, 4}) {
    set_thread_count(threads);
    std::mutex mutex;
    std::set<std::thread::id> seen;
    on_workers([&] {
      std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    EXPECT_GE(seen.size(), 2u);
    EXPECT_LE(seen.size(), static_cast<std::size_t>(threads));
  }
}

TEST_F(ParallelFor, ShortLoopsDoNotWakeWorkersThatPark) {
  set_thread_count(2);
  const auto pieces_of_short_loop = [](std::int64_t grains) {
    int pieces = 0;
    std::mutex mutex;
    parallel_for(grains, 1, [&](std::int64_t, std::int64_t) {
      const std::lock_guard lock(mutex);
      ++pieces;
    });
    return pieces;
  };
  pieces_of(100, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(pieces_of_short_loop(4), 1);
  EXPECT_EQ(pieces_of_short_loop(8), 8) << "20 µs of work wake them";
  if (available_processors() < 2) return;  // with one, workers do not spin
  // A worker that has just ended a piece spins, unless its processor was taken meanwhile.
  int longest = 0;
  for (int attempt = 0; attempt < 1000 && longest != 4; ++attempt) {
    on_workers([] {});
    longest = pieces_of_short_loop(4);
  }
  EXPECT_EQ(longest, 4) << "a worker that spins joins";
}

TEST_F(ParallelFor, WorkersUseNoTimeWhenIdle) {
  set_thread_count(2);
  const auto process_time = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  for (int i = 0; i < 100; ++i) pieces_of(100, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto before = process_time();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(process_time() - before, std::chrono::milliseconds(2));
}

TEST_F(ParallelFor, NestedCallsRunInlineOnTheirThread) {
  set_thread_count(3);
  std::atomic<int> inner_calls = 0;
  on_workers([&] {
    const auto inner = pieces_of(1000, 1);
    EXPECT_EQ(inner.size(), 1u);
    EXPECT_EQ(inner[0].thread, std::this_thread::get_id());
    expect_whole(inner, 1000, 1);
    ++inner_calls;
  });
  EXPECT_EQ(inner_calls, 3);
  EXPECT_GT(pieces_of(1000, 1).size(), 1u);  // the outer call has left the caller as it was
}

TEST_F(ParallelFor, AnExceptionOfAnyPieceIsRethrownAndThePoolStaysUsable) {
  for (const int threads : {1, 2, 4}) {
    set_thread_count(threads);
    for (std::int64_t bad = 0; bad < 100; bad += 9) {
      const auto error = test::thrown_by<ShapeError>([&] {
        parallel_for(100, Grain::whole(), [&](std::int64_t begin, std::int64_t end) {
          if (begin <= bad && bad < end) throw ShapeError("piece with " + std::to_string(bad));
        });
      });
      EXPECT_EQ(error.message(), "piece with " + std::to_string(bad));
      expect_whole(pieces_of(100, 1), 100, 1);
    }
  }
}

TEST_F(ParallelFor, OneOfManyExceptionsComesBackWhenNoPieceRunsAnyMore) {
  set_thread_count(4);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> running = 0;
    EXPECT_THROW(parallel_for(1000, Grain::whole(),
                              [&](std::int64_t begin, std::int64_t) {
                                ++running;
                                std::this_thread::yield();
                                --running;
                                throw begin;
                              }),
                 std::int64_t);
    EXPECT_EQ(running, 0);
  }
}

TEST_F(ParallelFor, AnExceptionOfAWorkerComesBack) {
  set_thread_count(2);
  const auto caller = std::this_thread::get_id();
  EXPECT_THROW(on_workers([&] {
                 if (std::this_thread::get_id() != caller) throw ValueError("of a worker");
               }),
               ValueError);
}

TEST_F(ParallelFor, ManyThreadsMayCallAtOnce) {
  set_thread_count(3);
  constexpr int kCallers = 4;
  std::barrier start(kCallers);
  std::vector<std::jthread> callers;
  for (int t = 0; t < kCallers; ++t) {
    callers.emplace_back([&, t] {
      start.arrive_and_wait();
      for (int i = test::Random::share_of(1000); i > 0; --i) {
        const std::int64_t count = 10 + (i * 7 + t) % 90;
        std::atomic<std::int64_t> sum = 0;
        parallel_for(count, long_grain(3), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t at = begin; at < end; ++at) sum += at;
        });
        ASSERT_EQ(sum, count * (count - 1) / 2);
      }
    });
  }
}

TEST_F(ParallelFor, ASecondCallerDoesNotWaitForTheFirst) {
  set_thread_count(2);
  std::atomic<bool> second_done = false;
  parallel_for(2, Grain::whole(), [&](std::int64_t begin, std::int64_t) {
    if (begin == 1) return;
    std::jthread([&] {
      EXPECT_EQ(pieces_of(100, 1).size(), 1u);
      second_done = true;
    }).join();
  });
  EXPECT_TRUE(second_done);
}

TEST_F(ParallelFor, PlainWritesOfPiecesAreSeenByTheCallerAndByLaterPieces) {  // ThreadSanitizer would tell
  set_thread_count(4);
  std::vector<int> values(1000);
  for (int round = 1; round <= test::Random::share_of(2000); ++round) {
    const std::int64_t grain = 1 + round % 400;
    parallel_for(1000, long_grain(grain), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) ++values[static_cast<std::size_t>(at)];
    });
    ASSERT_EQ(std::count(values.begin(), values.end(), round), 1000);
  }
}

TEST_F(ParallelFor, TheThreadCountMayChangeBetweenCalls) {
  for (const int threads : {2, 5, 1, 3, 8, 2, 1, 1, 4, 3}) {
    set_thread_count(threads);
    EXPECT_EQ(thread_count(), threads);
    for (int i = 0; i < 5; ++i) expect_whole(pieces_of(1000, 10), 1000, 10);
  }
}

TEST_F(ParallelFor, TheThreadCountMayChangeInsideACallAndFromOtherThreads) {
  set_thread_count(2);
  on_workers([] { set_thread_count(4); });
  EXPECT_EQ(thread_count(), 4);
  std::atomic<bool> stop = false;
  std::jthread changer([&] {
    for (int i = 0; !stop; ++i) {
      set_thread_count(1 + i % 4);
      std::this_thread::yield();
    }
  });
  for (int i = test::Random::share_of(200); i > 0; --i) expect_whole(pieces_of(500, 10), 500, 10);
  stop = true;
}

TEST_F(ParallelFor, WorkersHaveTheDefaultRoundingWhateverTheirCreatorHad) {
  set_thread_count(2);
  on_workers([] {});
  std::fesetround(FE_UPWARD);
  set_thread_count(4);
  const auto caller = std::this_thread::get_id();
  on_workers(
      [&] { EXPECT_EQ(std::fegetround(), std::this_thread::get_id() == caller ? FE_UPWARD : FE_TONEAREST); });
  std::fesetround(FE_TONEAREST);
}

TEST_F(ParallelFor, AForkedChildHasWorkersOfItsOwn) {
#if defined(PEL_TEST_UNDER_TSAN)
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that makes threads";
#endif
  set_thread_count(3);
  on_workers([] {});
  // Not 0: what the child says when it is right.
  constexpr int kRight = 42;
  const auto child = [] {
    alarm(60);
    expect_whole(pieces_of(1000, 1), 1000, 1);
    on_workers([] {});
    set_thread_count(2);
    on_workers([] {});
    _exit(HasFailure() ? 1 : kRight);
  };
  const auto code_of = [](pid_t pid) {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  for (int round = 0; round < 5; ++round) {
    const pid_t pid = fork();
    if (pid == 0) child();
    EXPECT_EQ(code_of(pid), kRight);
    on_workers([] {});  // the parent still has its own
  }

  std::jthread busy([](const std::stop_token& stop) {
    while (!stop.stop_requested()) pieces_of(100, 1);
  });
  for (int round = 0; round < 5; ++round) {
    const pid_t pid = fork();
    if (pid == 0) child();
    EXPECT_EQ(code_of(pid), kRight);
  }
}

TEST(ThreadCount, IsRefusedBelowOneAndFarAboveAnyMachine) {
  const int before = thread_count();
  for (const int bad : {0, -1, 1025, INT32_MAX, INT32_MIN}) {
    const auto error = test::thrown_by<ValueError>([&] { set_thread_count(bad); });
    EXPECT_EQ(error.op(), "set_thread_count");
    EXPECT_EQ(error.message(), "count is " + std::to_string(bad) + "; it must be from 1 to 1024");
    EXPECT_EQ(test::file_of(error.site()), "thread_pool_test.cc");
  }
  EXPECT_EQ(thread_count(), before);
}

// Each looks at a process of its own, from its start to its end; a leak or a hang at the end is its failure
// too.
class FreshProcess : public testing::Test {
 protected:
  FreshProcess() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  ~FreshProcess() override {
    GTEST_FLAG_SET(death_test_style, "fast");
    unsetenv("PELLUCID_THREADS");
  }
  static void use_one_core() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(sched_getcpu(), &cores);
    if (sched_setaffinity(0, sizeof(cores), &cores) != 0) std::abort();
  }
  static std::int64_t sum_below(std::int64_t count) {
    std::atomic<std::int64_t> sum = 0;
    parallel_for(count, Grain::whole(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) sum += at;
    });
    return sum;
  }
};

TEST_F(FreshProcess, HasTheThreadCountOfTheEnvironment) {
  setenv("PELLUCID_THREADS", "7", 1);
  EXPECT_EXIT(std::exit(thread_count()), testing::ExitedWithCode(7), "");
}

TEST_F(FreshProcess, SaysThatAThreadCountIsIgnored) {
  setenv("PELLUCID_THREADS", "many", 1);
  EXPECT_EXIT(
      {
        use_one_core();
        std::exit(10 + thread_count());
      },
      testing::ExitedWithCode(11), "PELLUCID_THREADS=many is ignored: expected a number from 1 to 1024");
}

TEST_F(FreshProcess, UsesTheCoresItMayRunOn) {
  unsetenv("PELLUCID_THREADS");
  EXPECT_EXIT(
      {
        use_one_core();
        std::exit(10 + thread_count());
      },
      testing::ExitedWithCode(11), "");
}

TEST_F(FreshProcess, MakesProgressWithFourThreadsOnOneCoreAndEndsWhileWorkersAreParked) {
  EXPECT_EXIT(
      {
        use_one_core();
        set_thread_count(4);
        for (int i = 0; i < 1000; ++i)
          if (sum_below(100) != 4950) std::abort();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(FreshProcess, MayLoopInTheDestructorsOfStatics) {
  EXPECT_EXIT(
      {
        static const struct Late {
          ~Late() {
            if (sum_below(100) != 4950) std::abort();
          }
        } late;
        set_thread_count(3);
        sum_below(100);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(EnvironmentCount, ReadsNumbersUpToTheMaximumAndReportsOthers) {
  const char* variable = "PELLUCID_TEST_COUNT";
  const auto read = [&](const char* text) {
    setenv(variable, text, 1);
    testing::internal::CaptureStderr();
    const auto count = environment_count(variable, 64);
    return std::pair(count, testing::internal::GetCapturedStderr());
  };
  EXPECT_EQ(environment_count(variable, 64), std::nullopt);
  EXPECT_EQ(read(""), std::pair(std::optional<int>(), std::string()));
  EXPECT_EQ(read("1"), std::pair(std::optional<int>(1), std::string()));
  EXPECT_EQ(read("64"), std::pair(std::optional<int>(64), std::string()));
  for (const char* bad : {"0", "-1", "65", "many", "4x", "4 ", " 4", "+4", "1.5", "99999999999"}) {
    const auto [count, said] = read(bad);
    EXPECT_EQ(count, std::nullopt) << bad;
    EXPECT_EQ(said, std::string("[environment] PELLUCID_TEST_COUNT=") + bad +
                        " is ignored: expected a number from 1 to 64\n");
  }
  unsetenv(variable);
}

}  // namespace
}  // namespace pel
