#include <limits>

#include <gtest/gtest.h>

#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/terminal.h"
#include "base/wrapped.h"

namespace pel::inspect {
namespace {

TEST(Terminal, PadsAndCutsByColumnsNotByBytes) {
  EXPECT_EQ(pad_right("µs", 4), "µs  ");
  EXPECT_EQ(pad_left("µs", 4), "  µs");
  EXPECT_EQ(pad_right("softmax", 5), "soft…");
  EXPECT_EQ(columns_of("3×3³"), 4);
}

TEST(Terminal, BarsGrowByEighths) {
  EXPECT_EQ(bar(0, 4), "");
  EXPECT_EQ(bar(1.0 / 32, 4), "▏");
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(7, 4), "████");
}

TEST(Terminal, NumbersHaveUnitsAndThreeDigits) {
  EXPECT_EQ(readable_ns(87), "87 ns");
  EXPECT_EQ(readable_ns(1250), "1.25 µs");
  EXPECT_EQ(readable_bytes(31e6), "31.0 MB");
  EXPECT_EQ(readable_count(384), "384");
  EXPECT_EQ(readable_count(2.15e9), "2.15 G");
}

TEST(Terminal, WithoutColorTextIsUnchanged) {
  Terminal terminal;
  EXPECT_EQ(terminal.red("x"), "x");
  terminal.has_color = true;
  EXPECT_EQ(terminal.red("x"), "\x1b[31mx\x1b[0m");
}

TEST(Wrapped, BreaksAtSpacesAndIndentsFurtherLines) {
  EXPECT_EQ(wrapped("one two three", 8, 2), (std::vector<std::string>{"one two", "  three"}));
  EXPECT_EQ(wrapped("incomprehensible a", 5), (std::vector<std::string>{"incomprehensible", "a"}));
  EXPECT_TRUE(wrapped("  ", 5).empty());
}

TEST(DidYouMean, SuggestsTheNearestNameAndNoDistantOne) {
  const std::vector<std::string> names = {"softmax", "log_softmax", "mm"};
  EXPECT_EQ(did_you_mean("sofmax", names), "; did you mean 'softmax'?");
  EXPECT_EQ(did_you_mean("transformer", names), "");
  EXPECT_EQ(did_you_mean("xy", names), "");  // every letter of "mm" differs
}

TEST(JsonWriter, EscapesTextAndWritesNonFiniteNumbersAsNull) {
  JsonWriter json("pellucid.test/1");
  json.field("text", "a\"b\\\n")
      .field("infinite", std::numeric_limits<double>::infinity())
      .key("list")
      .begin_array();
  EXPECT_EQ(
      json.finish(),
      "{\n  \"schema\": \"pellucid.test/1\",\n  \"text\": \"a\\\"b\\\\\\u000a\",\n  \"infinite\": null,\n"
      "  \"list\": []\n}\n");
}

}  // namespace
}  // namespace pel::inspect
