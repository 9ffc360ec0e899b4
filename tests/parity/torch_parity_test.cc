// Views, indexing, promotion, creation, copies, versions, pointwise ops, sums and errors are PyTorch's, on
// the cases that write_cases.py drew at random and torch answered.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "parity/case_check.h"
#include "parity/case_file.h"
#include "support/environment.h"

namespace pel::parity {
namespace {

constexpr std::int64_t kMinCases = 40000;
constexpr int kShownPerOp = 5;  // failures of one op in one family that are printed in full

std::string repro(const Case& c) {
  return "PELLUCID_PARITY_ONLY=" + std::to_string(c.number) + " ./dev test torch_parity";
}

std::string report(const Case& c, const Difference& d) {
  return "case " + c.line + "\n  expected  " + d.expected + "\n  got       " + d.got +
         (d.message.empty() ? "" : "\n  message   " + d.message) + "\n  repro     " + repro(c);
}

// The case in flight, for a crash: written by the loop, read by the handler.
char case_in_flight[96] = "";
struct sigaction handler_before[32];

// Names the case, then lets the handler that was there before (a sanitizer's, or none) meet the same fault.
void name_the_case(int signal) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, case_in_flight, std::strlen(case_in_flight));
  sigaction(signal, &handler_before[signal], nullptr);
  if (signal == SIGABRT) raise(signal);
}

void name_the_case_on_crash() {
  struct sigaction action = {};
  action.sa_handler = name_the_case;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigaction(signal, &action, &handler_before[signal]);
}

void run_all(const CaseFile& file) {
  const std::int64_t share = test::test_share();
  const auto only = static_cast<std::int64_t>(test::number_from("PELLUCID_PARITY_ONLY", 0));
  std::map<std::string, std::pair<int, int>> ran_and_failed;
  std::map<std::string, int> failed_by_op;
  std::int64_t ran = 0;
  name_the_case_on_crash();
  for (const Case& c : file.cases) {
    if (only ? c.number != only : c.number % share != 0) continue;
    std::snprintf(case_in_flight, sizeof case_in_flight, "crash in a case; repro: %s\n", repro(c).c_str());
    const std::optional<Difference> difference = check_case(c);
    ++ran;
    auto& [family_ran, family_failed] = ran_and_failed[c.family];
    ++family_ran;
    if (only) std::printf("%s\n%s\n", c.line.c_str(), difference ? "differs" : "agrees");
    if (!difference) continue;
    ++family_failed;
    if (++failed_by_op[c.family + " " + c.op()] <= kShownPerOp) ADD_FAILURE() << report(c, *difference);
  }
  std::printf("torch %s, seed %s: %lld cases ran\n", file.torch_version.c_str(), file.seed.c_str(),
              static_cast<long long>(ran));
  for (const auto& [family, counts] : ran_and_failed) {
    std::printf("  %-10s %6d ran %6d failed\n", family.c_str(), counts.first, counts.second);
  }
  for (const auto& [op, failed] : failed_by_op) std::printf("  failed: %s: %d\n", op.c_str(), failed);
  if (only) {
    EXPECT_EQ(ran, 1) << "no case has the number " << only;
  } else if (share == 1) {
    EXPECT_GE(ran, kMinCases);
  }
}

TEST(TorchParity, EveryCaseAgrees) {
  const char* path = std::getenv("PELLUCID_PARITY_CASES");
  std::ifstream in(path ? path : "");
  if (!in) {
    const std::string message = "no file of cases at PELLUCID_PARITY_CASES=" + std::string(path ? path : "") +
                                ": run ./dev setup --peers, then ./dev test torch_parity";
    if (std::getenv("PELLUCID_REQUIRE_PEERS")) FAIL() << message;
    GTEST_SKIP() << message;
  }
  run_all(read_case_file(in));
}

// Each line holds; each of its words, changed, must be noticed.
TEST(TorchParity, NoticesEveryWrongWord) {
  const std::pair<const char*, std::vector<std::string>> lines[] = {
      {"1 self | in i64 12 | as_strided %0 [2,3] [1,4] 1 => %1 tensor i64 [2,3] [1,4] 1 %0 [1,5,9,2,6,10]",
       {"%1 tensor i32 [2,3] [1,4] 1 %0 [1,5,9,2,6,10]", "%1 tensor i64 [3,2] [1,4] 1 %0 [1,5,9,2,6,10]",
        "%1 tensor i64 [2,3] [4,1] 1 %0 [1,5,9,2,6,10]", "%1 tensor i64 [2,3] [1,4] 0 %0 [1,5,9,2,6,10]",
        "%1 tensor i64 [2,3] [1,4] 1 new [1,5,9,2,6,10]", "%1 tensor i64 [2,3] [1,4] 1 %0 [1,5,9,2,6,11]",
        "%1 tensor i64 [2,3] [1,4] 1 %0 [1,5,9,2,6]", "error index", "error other"}},
      {"2 self | in i64 70 => %0 tensor i64 [70] [1] 0 new #0b9de17e57b4dd9e",
       {"%0 tensor i64 [70] [1] 0 new #0b9de17e57b4dd90"}},
      {"3 self | in f32 2 | clone %0 => %1 near f32 [2] [1] 0 new [00000000,3f800002]",
       {"%1 near f32 [2] [1] 0 new [00000000,3f800008]", "%1 near f32 [2] [1] 0 new [00000000,nan]"}},
      {"4 self | in i64 3 | unbind %0 0 => %1 count 3 ; %1.2 tensor i64 [] [] 2 %0 [2]",
       {"%1 count 2", "%1.3 tensor i64 [] [] 2 %0 [2]"}},
      {"5 self | in i64 3 | select %0 0 3 => error index", {"error other", "%1 tensor i64 [] [] 3 %0 [3]"}},
      {"6 self | in i64 3 | view %0 [2] => error other", {"error index"}},
      {"7 self | in i64 3 | contiguous %0 | clone %0 => %1 same %0", {"%2 same %0"}},
      {"8 self | in f32 1 | zero_ %0 | item %1 => %2 number f:0x0p+0 ; %0 version 1",
       {"%2 number i:0", "%2 number f:-0x0p+0", "%0 version 0"}},
      {"9 self | promote_types u8 i8 | can_cast f32 i64 => %0 dtype i16 ; %1 answer no",
       {"%0 dtype u8", "%1 answer yes"}},
      {"10 self | data f16 [7e00,7e01,8000] => %0 tensor f16 [3] [1] 0 new [nan,nan,8000]",
       {"%0 tensor f16 [3] [1] 0 new [nan,nan,0000]", "%0 tensor f16 [3] [1] 0 new [7e00,nan,8000]"}},
      {"11 self | in f32 2 | add %0 f:0x1p+1 i:2 => %1 steps:2 f32 [2] [1] 0 new [40800002,409ffffe]",
       {"%1 steps:1 f32 [2] [1] 0 new [40800002,40a00000]",
        "%1 steps:2 f32 [2] [1] 0 new [40800000,40a00003]",
        "%1 steps:2 f32 [2] [1] 0 new [40800000,c0a00000]", "%1 steps:2 f32 [2] [1] 0 new [40800000,nan]",
        "%1 steps:2 f32 [2] [1] 0 new [40800000]", "%1 steps:2 f64 [2] [1] 0 new [40800000,40a00000]",
        "%1 steps:2 f32 [2] [2] 0 new [40800000,40a00000]"}},
      {"12 self | data f16 [8000,fbff] | mul_ %0 f:0x1p+0 => %1 same %0 ; %0 steps:1 f16 [2] [1] 0 new "
       "[8000,fc00]",
       {"%0 steps:1 f16 [2] [1] 0 new [0000,fbff]"}},
      {"13 self | in i64 3 | as_strided %0 [1,3] [7,1] 0 => %1 tensor i64 [1,3] [*,1] 0 %0 [0,1,2]",
       {"%1 tensor i64 [1,3] [*,2] 0 %0 [0,1,2]", "%1 tensor i64 [1,3] [*] 0 %0 [0,1,2]",
        "%1 tensor i64 [1,3] [*,1] 0 %0 [0,1,3]"}},
      {"14 self | in i8 3 | in i16 3 | div.out %1 %0 i:0 floor => error other",
       {"%2 same %1", "%1 tensor i16 [3] [1] 0 new [0,1,2]"}},
      {"15 self | in i32 3 | sum %0 [-1] b:1 f64 => %1 tensor f64 [1] [1] 0 new [4008000000000000]",
       {"%1 tensor i64 [1] [1] 0 new [3]", "%1 tensor f64 [] [] 0 new [4008000000000000]"}},
  };
  for (const auto& [line, corruptions] : lines) {
    Case c = parse_case(line);
    const std::optional<Difference> difference = check_case(c);
    EXPECT_FALSE(difference.has_value()) << report(c, *difference);
    for (const std::string& corruption : corruptions) {
      c.expectations = {corruption};
      EXPECT_TRUE(check_case(c).has_value()) << line << "\n  was taken to give  " << corruption;
    }
  }
}

}  // namespace
}  // namespace pel::parity
