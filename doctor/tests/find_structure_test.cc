// Reading without SIMD: the same structure, the same errors and the same events as with it.
#include "doctor/readers/find_structure.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "doctor/readers/byte_marks.h"
#include "doctor/readers/kineto.h"
#include "doctor/tests/made_trace.h"
#include "doctor/tests/sources.h"
#include "support/random.h"

namespace pel::doctor {
namespace {

using Structure = simdjson::internal::dom_parser_implementation;

constexpr const char* kNoSimd =
    "this processor has no SIMD that simdjson knows: there is nothing to compare with";

bool has_simd() { return simdjson::get_active_implementation()->name() != "fallback"; }

struct Found {
  simdjson::error_code error;
  std::vector<std::uint32_t> marks;  // with the two after the last one
  bool operator==(const Found&) const = default;
};
Found found_in(const Structure& structure, simdjson::error_code error) {
  if (error != simdjson::SUCCESS) return {error, {}};
  const std::uint32_t* const first = structure.structural_indexes.get();
  return {error, {first, first + structure.n_structural_indexes + 2}};
}

// The first stage of simdjson, and ours.
class BothStages {
 public:
  explicit BothStages(std::size_t capacity) {
    EXPECT_EQ(
        simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, 8, structure_),
        simdjson::SUCCESS);
  }
  void compare(std::string_view text) {
    std::string padded(text);
    padded.resize(text.size() + simdjson::SIMDJSON_PADDING);
    const Found expected =
        found_in(*structure_, structure_->stage1(reinterpret_cast<const std::uint8_t*>(padded.data()),
                                                 text.size(), simdjson::stage1_mode::regular));
    // A copy, so that a sanitizer sees a look after the end.
    const std::string copy(text);
    const Found found = found_in(*structure_, find_structure(copy, *structure_));
    ASSERT_TRUE(found == expected) << "simdjson: " << simdjson::error_message(expected.error)
                                   << ", here: " << simdjson::error_message(found.error) << ", in "
                                   << text.substr(0, 400);
  }

 private:
  std::unique_ptr<Structure> structure_;
};

// The marks of each class, of operators as one, and whether all bytes are ASCII.
template <class Classes>
std::vector<std::uint64_t> marks_by(const std::array<char, kStride>& bytes) {
  const Classes classes(bytes.data());
  return {classes.template marks<detail::kQuote>(),
          classes.template marks<detail::kBackslash>(),
          classes.template marks<detail::kLineBreak>(),
          classes.template marks<detail::kOpening>(),
          classes.template marks<detail::kClosing>(),
          classes.template marks<detail::kSeparator>(),
          classes.template marks<detail::kBlank>(),
          classes.template marks<detail::kControl>(),
          classes.template marks<detail::kSeparator | detail::kOpening | detail::kClosing>(),
          classes.is_ascii() ? 1u : 0u};
}

TEST(FindStructure, MarksWhatEachByteIs) {
  std::array<char, kStride> bytes;
  for (unsigned first = 0; first < 256; first += kStride) {
    for (unsigned i = 0; i < kStride; ++i) bytes[i] = static_cast<char>(first + i);
    const ScalarClasses classes(bytes.data());
    const ByteMarks marks = marks_of(bytes.data());
    EXPECT_EQ(classes.marks<detail::kQuote>(), marks.quotes);
    EXPECT_EQ(classes.marks<detail::kBackslash>(), marks.backslashes);
    EXPECT_EQ(classes.marks<detail::kLineBreak>(), marks.line_breaks);
    EXPECT_EQ(classes.marks<detail::kOpening>(), marks.opening);
    EXPECT_EQ(classes.marks<detail::kClosing>(), marks.closing);
    EXPECT_EQ(classes.is_ascii(), first < 128);
    for (unsigned i = 0; i < kStride; ++i) {
      const unsigned byte = first + i;
      EXPECT_EQ(classes.marks<detail::kControl>() >> i & 1, byte < 0x20 ? 1u : 0u);
      const bool is_blank = byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
      EXPECT_EQ(classes.marks<detail::kBlank>() >> i & 1, is_blank ? 1u : 0u);
    }
  }
}

TEST(FindStructure, VectorsMarkWhatTheTableMarks) {
  std::array<char, kStride> bytes;
  for (unsigned at = 0; at < kStride; ++at) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      bytes.fill('a');
      bytes[at] = static_cast<char>(byte);
      ASSERT_EQ(marks_by<ByteClasses>(bytes), marks_by<ScalarClasses>(bytes)) << byte << " at " << at;
    }
  }
}

TEST(FindStructure, AgreesWithSimdOnAnyTwoBytes) {
  if (!has_simd()) GTEST_SKIP() << kNoSimd;
  BothStages both(4096);
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string pair = {static_cast<char>(a), static_cast<char>(b)};
      both.compare(pair);
      both.compare("[" + pair + "]");
      both.compare("[\"" + pair + "\", 1]");
    }
  }
}

TEST(FindStructure, AgreesWithSimdOnRandomText) {
  if (!has_simd()) GTEST_SKIP() << kNoSimd;
  BothStages both(4096);
  test::Random random;
  const std::string_view alphabets[] = {"\"\\", "\"\\ a", "{}[],:\" a1\\\n",
                                        "{\"a\": [1, \"é\\u00e9\"]}\x0c\x1a\x01\xff\xc3\xe2"};
  for (int i = 0; i < test::Random::share_of(40000); ++i) {
    const std::string_view alphabet = alphabets[random.between(0, 3)];
    std::string text(static_cast<std::size_t>(random.between(0, 300)), ' ');
    for (char& c : text)
      c = alphabet[static_cast<std::size_t>(
          random.between(0, static_cast<std::int64_t>(alphabet.size()) - 1))];
    both.compare(text);
  }
}

// Bytes replaced, doubled and removed, a few at random places.
std::string damaged(std::string text, test::Random& random) {
  constexpr std::string_view kBytes =
      "\"\\{}[],: \n\x01\xff"
      "ax0";
  for (std::int64_t left = random.between(1, 4); left > 0; --left) {
    const auto at = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(text.size()) - 1));
    const char byte = kBytes[static_cast<std::size_t>(random.between(0, std::ssize(kBytes) - 1))];
    switch (random.between(0, 3)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.erase(at, 1);
        break;
      default:
        if (random.one_in(4)) text.resize(at + 1);
        break;
    }
  }
  return text;
}

TEST(FindStructure, AgreesWithSimdOnDamagedTraces) {
  if (!has_simd()) GTEST_SKIP() << kNoSimd;
  const std::string text = test::made_trace({.steps = 1, .ops_per_step = 4, .has_shapes = true});
  BothStages both(2 * text.size());
  both.compare(text);
  test::Random random;
  for (int i = 0; i < test::Random::share_of(2000); ++i) both.compare(damaged(text, random));
}

// Makes simdjson choose the implementation that it uses on processors without SIMD.
class WithoutSimd {
 public:
  WithoutSimd() : before_(simdjson::get_active_implementation()) {
    simdjson::get_active_implementation() = simdjson::get_available_implementations()["fallback"];
  }
  ~WithoutSimd() { simdjson::get_active_implementation() = before_; }
  WithoutSimd(const WithoutSimd&) = delete;
  WithoutSimd& operator=(const WithoutSimd&) = delete;

 private:
  const simdjson::implementation* before_;
};

std::vector<std::string> read_all(const std::string& text) {
  test::TextSource source(text, 1 << 20);
  ReadOptions options;
  options.reading = Reading::Lenient;
  options.block_bytes = 4096;
  std::vector<std::string> all;
  const TraceSummary summary = read_kineto(
      source, [&](const TraceEvent& e) { all.push_back(fmt::format("{} {}", e.name, e.json)); }, options);
  for (const Skipped& skipped : summary.skipped)
    all.push_back(fmt::format("{} {} {}", skipped.offset, skipped.bytes, skipped.reason));
  return all;
}

TEST(FindStructure, DamagedTracesReadTheSameWithoutSimd) {
  if (!has_simd()) GTEST_SKIP() << kNoSimd;
  const std::string text =
      test::made_trace({.steps = 1, .ops_per_step = 12, .has_python = true, .has_shapes = true});
  test::Random random;
  for (int i = 0; i < test::Random::share_of(1000); ++i) {
    const std::string broken = damaged(text, random);
    const std::vector<std::string> expected = read_all(broken);
    const WithoutSimd without;
    ASSERT_EQ(read_all(broken), expected) << broken;
  }
}

}  // namespace
}  // namespace pel::doctor
