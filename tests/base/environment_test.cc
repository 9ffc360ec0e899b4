#include "base/environment.h"

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace pel {
namespace {

constexpr const char* kVariable = "PELLUCID_TEST_BYTES";

class EnvironmentBytes : public testing::Test {
 protected:
  ~EnvironmentBytes() override { unsetenv(kVariable); }
  // What is read, and what was said on stderr meanwhile.
  std::optional<std::int64_t> read(const char* text) {
    setenv(kVariable, text, 1);
    testing::internal::CaptureStderr();
    const auto bytes = environment_bytes(kVariable);
    said_ = testing::internal::GetCapturedStderr();
    return bytes;
  }
  std::string said_;
};

TEST_F(EnvironmentBytes, AreNothingWhenTheVariableIsNotSetOrEmpty) {
  unsetenv(kVariable);
  EXPECT_EQ(environment_bytes(kVariable), std::nullopt);
  EXPECT_EQ(read(""), std::nullopt);
  EXPECT_EQ(said_, "");
}

TEST_F(EnvironmentBytes, ReadPlainNumbersAndUnits) {
  EXPECT_EQ(read("0"), 0);
  EXPECT_EQ(read("4096"), 4096);
  EXPECT_EQ(read("3K"), 3 * 1024);
  EXPECT_EQ(read("512M"), std::int64_t{512} << 20);
  EXPECT_EQ(read("2G"), std::int64_t{2} << 30);
  EXPECT_EQ(said_, "");
}

TEST_F(EnvironmentBytes, ReadTheLargestValueOfEachUnit) {
  EXPECT_EQ(read("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(read("8589934591G"), std::int64_t{8589934591} << 30);
}

TEST_F(EnvironmentBytes, IgnoreWhatIsNotAByteCountAndSaySo) {
  for (const char* bad : {"many", "-1", "-5M", "+5", "12Q", "12MB", "1 M", " 1", "1 ", "1.5G", "M", "0x10",
                          "1k", "9223372036854775808", "8589934592G", "9223372036854775807K"}) {
    EXPECT_EQ(read(bad), std::nullopt) << bad;
    EXPECT_EQ(said_, std::string("[environment] PELLUCID_TEST_BYTES=") + bad +
                         " is ignored: expected a byte count such as 4096, 512M or 2G\n");
  }
}

class LogWants : public testing::Test {
 protected:
  ~LogWants() override { unsetenv("PELLUCID_LOG"); }
  static void set(const char* text) { setenv("PELLUCID_LOG", text, 1); }
};

TEST_F(LogWants, NothingWhenTheVariableIsNotSet) {
  unsetenv("PELLUCID_LOG");
  EXPECT_FALSE(log_wants("dispatch"));
  set("");
  EXPECT_FALSE(log_wants("dispatch"));
}

TEST_F(LogWants, EachTopicOfTheList) {
  set("memory,dispatch,compile");
  EXPECT_TRUE(log_wants("memory"));
  EXPECT_TRUE(log_wants("dispatch"));
  EXPECT_TRUE(log_wants("compile"));
  EXPECT_FALSE(log_wants("profile"));
}

TEST_F(LogWants, WholeTopicsOnly) {
  set("dispatcher,mem");
  EXPECT_FALSE(log_wants("dispatch"));
  EXPECT_FALSE(log_wants("memory"));
}

TEST_F(LogWants, EmptyPlacesInTheListDoNoHarm) {
  set(",,dispatch,");
  EXPECT_TRUE(log_wants("dispatch"));
  EXPECT_FALSE(log_wants("memory"));
}

TEST(LogLine, LinesOfDifferentThreadsDoNotMix) {
  testing::internal::CaptureStderr();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 100; ++i) log_line("topic", "one whole line of text");
      });
    }
  }
  std::string expected;
  for (int i = 0; i < 400; ++i) expected += "[topic] one whole line of text\n";
  EXPECT_EQ(testing::internal::GetCapturedStderr(), expected);
}

}  // namespace
}  // namespace pel
