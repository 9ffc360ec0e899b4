// Times from decimal text.
#include "doctor/readers/decimal_time.h"

#include <gtest/gtest.h>

namespace pel::doctor {
namespace {

TEST(DecimalTime, IsExactToTheNanosecond) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"0", 0},
      {"1", 1000},
      {"0.001", 1},
      {"1.5", 1500},
      {"1.05", 1050},
      {"1234567.891", 1234567891},
      {"1621401187223005", 1621401187223005000},
      {"1621401187223005.123", 1621401187223005123},  // a double has a quarter of a microsecond here
      {"9223372036854775.807", 9223372036854775807},
      {"-3.002", -3002},
      {"0.0004", 0},
      {"0.0005", 1},
      {"0.0014999", 1},
      {"-0.0005", -1},
      {"1.5e3", 1500000},
      {"1.5E+3", 1500000},
      {"15e-1", 1500},
      {"1234.5678e-2", 12346},
      {"5e-4", 1},
      {"1e-300", 0},
      {"0e99", 0},
      {"000.1", 100},
  };
  for (const auto& [text, ns] : cases) EXPECT_EQ(parse_microseconds(text), ns) << text;
}

TEST(DecimalTime, RefusesTextThatIsNotATime) {
  for (const char* text : {"",
                           "-",
                           ".",
                           "1.",
                           ".5",
                           "a",
                           "1a",
                           "1.2.3",
                           "1e",
                           "1e1.5",
                           "e3",
                           "+1",
                           " 1",
                           "1 ",
                           "\"1\"",
                           "null",
                           "NaN",
                           "9223372036854775.808",
                           "9223372036854776",
                           "1e30",
                           "99999999999999999999"})
    EXPECT_EQ(parse_microseconds(text), std::nullopt) << text;
}

TEST(DecimalTime, IntegersHaveNoFraction) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("9223372036854775807"), 9223372036854775807);
  for (const char* text : {"", "-", "1.0", "1e3", "9223372036854775808", "x", "\"1\""})
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
}

TEST(DecimalTime, EveryNanosecondOfAMillisecondIsItself) {
  for (std::int64_t ns = 0; ns < 1000000; ++ns) {
    const std::string rest = std::to_string(1000 + ns % 1000);
    ASSERT_EQ(parse_microseconds(std::to_string(ns / 1000) + "." + rest.substr(1)), ns);
  }
}

}  // namespace
}  // namespace pel::doctor
