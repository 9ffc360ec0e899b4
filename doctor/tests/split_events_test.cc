// The splitter: where pieces begin and end, wherever the text is cut, and what it makes of broken documents.
#include "doctor/readers/split_events.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pel::doctor {
namespace {

using Kind = Piece::Kind;

// Brackets and quotes where they do not count, and backslashes in odd and even runs.
const std::string kEvents[] = {
    R"({})",
    R"({"ph": "X", "name": "a{b}c[d]\"e\\"})",
    R"({"ph": "X", "args": {"list": [[1, 2], [], {"deep": [{}]}], "text": "}]\\\\\"{["}})",
    R"({"name": "\\\\\\\"", "args": {}})",
    R"({ "name" : "a long name that fills more than one stride of sixty-four bytes, with { and } and \" inside",)"
    "\n"
    R"(  "args": { "x": "\\" } })",
};

std::string document() {
  std::string text =
      " {\n\"schemaVersion\": 1, \"deviceProperties\": [{\"name\": \"}]\"}], \"text\": "
      "\"a\\\"b\",\n\"traceEvents\": [\n";
  for (const std::string& event : kEvents) {
    if (&event != kEvents) text += " ,\n";
    text += event;
  }
  return text + "\n ], \"traceName\" : \"x\", \"last\": 12 }\n";
}

std::string describe(const Piece& piece, std::string_view text) {
  std::string what;
  switch (piece.kind) {
    case Kind::Event:
      return "event " + std::string(text.substr(piece.begin, piece.end - piece.begin));
    case Kind::Member:
      what = "member ";
      return what + std::string(piece.key) + "=" +
             std::string(text.substr(piece.begin, piece.end - piece.begin));
    case Kind::NeedsMore:
      return "more";
    case Kind::Comma:
    case Kind::Broken:
      what = "broken ";
      return what + piece.reason;
    case Kind::Truncated:
      what = "truncated ";
      return what + piece.reason;
    case Kind::End:
      return "end";
  }
  return what;
}

// All pieces of a document that arrives in steps; the window slides if `drops`.
std::vector<std::string> pieces(const std::string& text, const std::vector<std::size_t>& ends) {
  EventSplitter splitter;
  std::vector<std::string> found;
  std::size_t dropped = 0;
  for (std::size_t i = 0; i <= ends.size(); ++i) {
    const std::size_t end = i < ends.size() ? ends[i] : text.size();
    for (;;) {
      // A copy, so that a sanitizer sees a look after the end.
      const std::string window = text.substr(dropped, end - dropped);
      const Piece piece = splitter.next(window, i < ends.size() ? Rest::Follows : Rest::IsThere);
      if (piece.kind == Kind::NeedsMore) break;
      found.push_back(describe(piece, window));
      if (piece.kind == Kind::Broken || piece.kind == Kind::Truncated || piece.kind == Kind::End)
        return found;
    }
    const std::size_t done = splitter.position();
    dropped += done;
    splitter.drop(done);
  }
  return found;
}

TEST(SplitEvents, GivesMembersAndEventsInOrder) {
  std::vector<std::string> expected = {
      "member schemaVersion=1", "member deviceProperties=[{\"name\": \"}]\"}]", "member text=\"a\\\"b\""};
  for (const std::string& event : kEvents) expected.push_back("event " + event);
  expected.insert(expected.end(), {"member traceName=\"x\"", "member last=12", "end"});
  EXPECT_EQ(pieces(document(), {}), expected);
}

TEST(SplitEvents, IsTheSameWhereverTheTextIsCut) {
  const std::string text = document();
  const auto whole = pieces(text, {});
  for (std::size_t first = 0; first <= text.size(); ++first) {
    EXPECT_EQ(pieces(text, {first}), whole) << first;
    EXPECT_EQ(pieces(text, {first, std::min(first + 1, text.size())}), whole) << first;
  }
  std::vector<std::size_t> every_byte;
  for (std::size_t i = 0; i < text.size(); ++i) every_byte.push_back(i);
  EXPECT_EQ(pieces(text, every_byte), whole);
}

TEST(SplitEvents, ABareArrayAndAByteOrderMarkAreFine) {
  const std::vector<std::string> expected = {"event {\"ph\": 1}", "event {}", "end"};
  EXPECT_EQ(pieces("[{\"ph\": 1},{}]", {}), expected);
  EXPECT_EQ(pieces("\xEF\xBB\xBF[{\"ph\": 1},{}]", {1}), expected);
  EXPECT_EQ(pieces("{\"traceEvents\":[]}", {}), std::vector<std::string>{"end"});
  EXPECT_EQ(pieces("{}", {}), std::vector<std::string>{"end"});
}

// Against a scanner of single bytes.
std::size_t slow_end(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      const char next = i + 1 < text.size() ? text[i + 1] : ' ';
      if (in_string || next == '"' || next == '\\') ++i;
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (in_string) {
      continue;
    } else if (text[i] == '{' || text[i] == '[') {
      ++depth;
    } else if ((text[i] == '}' || text[i] == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

TEST(SplitEvents, AgreesWithAScannerOfSingleBytes) {
  std::mt19937 random(1);
  const std::string_view letters = "\\\\\"{}[]ab ";
  for (int round = 0; round < 20000; ++round) {
    std::string text = "{";
    const std::size_t length = random() % 300;
    for (std::size_t i = 0; i < length; ++i) {
      // Brackets are rare, or the text would end at once.
      const char c = letters[random() % letters.size()];
      text += (c == '}' || c == ']') && random() % 2 == 0 ? 'x' : c;
    }
    const Extent extent = extent_of(text, 0);
    const std::size_t expected = slow_end(text);
    if (expected != 0) {
      ASSERT_EQ(extent.outcome, Extent::Outcome::Whole) << text;
      ASSERT_EQ(extent.end, expected) << text;
    } else {
      ASSERT_EQ(extent.outcome, Extent::Outcome::NeedsMore) << text;
    }
  }
}

TEST(SplitEvents, NestingHasALimit) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += '[';
    for (int i = 0; i < depth; ++i) text += ']';
    return text;
  };
  EXPECT_EQ(extent_of(nested(kMaxNesting), 0).outcome, Extent::Outcome::Whole);
  EXPECT_EQ(extent_of(nested(kMaxNesting + 1), 0).outcome, Extent::Outcome::TooDeep);
  EXPECT_EQ(pieces("[{\"a\":" + nested(1000) + "}]", {}), std::vector<std::string>{"broken nested too deep"});
}

TEST(SplitEvents, ALineBreakInAStringIsSeenBeforeTheEndAndNotAfterIt) {
  EXPECT_EQ(extent_of("{\"a\nb\": 1}", 0).outcome, Extent::Outcome::LineBreakInString);
  EXPECT_EQ(extent_of("{\"a\": 1}, {\"a\nb\": 1}", 0).outcome, Extent::Outcome::Whole);
}

TEST(SplitEvents, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"x", "broken a trace begins with { or ["},
      {"[1]", "broken an event is not an object"},
      {"{1}", "broken a member of the document without a key"},
      {"{\"a\" 1}", "broken a key is not followed by a colon"},
      {"{\"a\": }", "broken a key without a value"},
      {"{} {", "broken there is text after the end of the document"},
      {"[,{}]", "broken a comma with nothing before it"},
      {"", "truncated the document has no end"},
      {"[", "truncated the document has no end"},
      {"[{\"a\": \"", "truncated the document ends inside an event"},
      {"{\"a\": [1", "truncated the document ends inside its metadata"},
      {"{\"a\": 12", "truncated the document ends inside its metadata"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(pieces(text, {})[0], expected) << text;
}

TEST(SplitEvents, CommasThatAreMissingOrTooManyArePassedOver) {
  EXPECT_EQ(pieces("[{} {},,{},]", {}),
            (std::vector<std::string>{"event {}", "broken no comma between two events", "event {}",
                                      "broken a comma with nothing before it", "event {}",
                                      "broken a comma is followed by nothing", "end"}));
}

TEST(SplitEvents, RecoversAtWhatBeginsLikeTheFirstEvent) {
  const std::string text = R"([{"n": 1, "args": {"n": 5}}, {"n": "a"b"}, {"m": {"n": 2}}, {"n": 3}])";
  EventSplitter splitter;
  EXPECT_EQ(describe(splitter.next(text, Rest::IsThere), text), R"(event {"n": 1, "args": {"n": 5}})");
  splitter.recover(splitter.position() + 10);  // inside the second
  EXPECT_EQ(describe(splitter.next(text, Rest::IsThere), text), R"(event {"n": 3})");
  EXPECT_EQ(splitter.next(text, Rest::IsThere).kind, Kind::End);
}

}  // namespace
}  // namespace pel::doctor
