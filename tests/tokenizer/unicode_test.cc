#include "io/unicode.h"

#include <gtest/gtest.h>

namespace pel::io {
namespace {

std::string replaced(std::string_view text) {
  std::string into;
  return std::string(replace_invalid(text, into));
}

#define FFFD "\xef\xbf\xbd"

TEST(Unicode, DecodesEachMaximalInvalidPartAsOneReplacement) {
  // Like bytes.decode("utf-8", "replace") in Python.
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"\x80", FFFD},
      {"\xc3", FFFD},
      {"\xc3(", FFFD "("},
      {"\xc0\x80", FFFD FFFD},
      {"\xe2\x82", FFFD},
      {"\xe2\x82\xac", "\xe2\x82\xac"},
      {"\xf0\x9f\x98x", FFFD "x"},
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
      {"\xe0\x80\x80", FFFD FFFD FFFD},
      {"\xed\xa0\x80", FFFD FFFD FFFD},
      {"\xed\x9f\xbf", "\xed\x9f\xbf"},
      {"\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD},
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
      {"\xff\xfe", FFFD FFFD},
      {"a\xf1\x80\x80\xe1\x80\xc2z", "a" FFFD FFFD FFFD "z"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(replaced(text), expected);
}

TEST(Unicode, EncodesWhatItDecodes) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    append_utf8(c, text);
    const CodePoint read = code_point_at(text, 0);
    ASSERT_EQ(read.value, c);
    ASSERT_EQ(read.size, text.size());
  }
}

TEST(Unicode, DistinguishesLettersNumbersAndSpaces) {
  for (const char32_t c : U"azéßжשعक中あ한ªⅷ") {
    if (c == 0 || c == U'ⅷ') continue;
    EXPECT_EQ(class_of(c), CharClass::Letter) << static_cast<int>(c);
  }
  for (const char32_t c : {U'7', U'٣', U'२', U'½', U'²', U'Ⅷ', U'①'})
    EXPECT_EQ(class_of(c), CharClass::Number);
  for (const char32_t c : {U' ', U'\t', U'\x85', U'\xa0', U'\u2003', U'\u3000'}) {
    EXPECT_EQ(class_of(c), CharClass::Space);
  }
  for (const char32_t c : {U'\x1c', U'\u200b', U'\u0301', U'_', U'😀', U'\ue000', U'\ufffd'}) {
    EXPECT_EQ(class_of(c), CharClass::Other);
  }
}

TEST(Unicode, OrdersAndComposesMarks) {
  std::u32string marks = U"a\u0301\u0323\u0300b\u0323";
  order_marks(marks);
  EXPECT_EQ(marks, U"a\u0323\u0301\u0300b\u0323");
  std::string into;
  EXPECT_EQ(composed("e\u0301 \u1112\u1161\u11ab \u212b", into), "\u00e9 \ud55c \u00c5");
  EXPECT_EQ(composed("q\u0307\u0323", into), "q\u0323\u0307");
}

TEST(Unicode, OrdersManyMarksWithoutQuadraticTime) {
  std::string text = "a", into;
  for (int i = 0; i < 500'000; ++i) text += i % 2 ? "\u0323" : "\u0301";
  EXPECT_EQ(composed(text, into).substr(0, 5), "\u1ea1\u0323");
}

}  // namespace
}  // namespace pel::io
