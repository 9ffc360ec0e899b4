#include "base/file_name.h"

#include <gtest/gtest.h>

namespace pel {
namespace {

TEST(FileName, IsWhatFollowsTheLastSeparator) {
  EXPECT_EQ(file_name("runs/a/trace.json"), "trace.json");
  EXPECT_EQ(file_name("trace.json"), "trace.json");
  EXPECT_EQ(file_name("runs/"), "");
  EXPECT_EQ(file_name("/trace.json"), "trace.json");
  EXPECT_EQ(folder_length("runs/a/trace.json"), 7u);
  EXPECT_EQ(folder_length("trace.json"), 0u);
}

TEST(FileName, WindowsSeparatesByEitherSlash) {
  constexpr std::string_view kWindows = "/\\";
  EXPECT_EQ(file_name("C:\\runs\\trace.json", kWindows), "trace.json");
  EXPECT_EQ(file_name("C:\\runs/trace.json", kWindows), "trace.json");
  EXPECT_EQ(file_name("C:/runs\\trace.json", kWindows), "trace.json");
  EXPECT_EQ(file_name("a\\b.json", "/"), "a\\b.json");
}

}  // namespace
}  // namespace pel
