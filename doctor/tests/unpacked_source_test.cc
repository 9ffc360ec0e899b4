// Packed traces: gzip and zstd in whatever parts, cut off, broken, and made to fill the disk.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/error.h"

#include "doctor/readers/kineto.h"
#include "doctor/tests/packed.h"
#include "doctor/tests/sources.h"
#include "doctor/tests/trace_text.h"
#include "support/random.h"

namespace pel::doctor {
namespace {

using test::gzip_of, test::zstd_of;

std::string text_of(int events) {
  test::TraceText text;
  for (int i = 0; i < events; ++i) text.op(2, "op" + std::to_string(i), i + 0.5, 2);
  return text.text();
}

struct PackedRead {
  std::vector<std::string> names;
  TraceSummary summary;
};
PackedRead read_packed(const std::string& packed, Reading reading = Reading::Strict,
                       std::size_t step = 1 << 20, ReadOptions options = {}) {
  const auto source = unpacked(std::make_unique<test::TextSource>(packed, step));
  options.reading = reading;
  PackedRead got;
  got.summary = read_kineto(*source, [&](const TraceEvent& e) { got.names.emplace_back(e.name); }, options);
  return got;
}
std::string refusal_of(const std::string& packed) {
  try {
    read_packed(packed);
  } catch (const FileError& error) {
    return error.message();
  }
  return "";
}

TEST(UnpackedSource, GzipZstdAndPlainTextAreTheSame) {
  const std::string text = text_of(3000);
  const auto expected = read_packed(text).names;
  ASSERT_EQ(expected.size(), 3000u);
  const std::string half = text.substr(0, text.size() / 2), rest = text.substr(text.size() / 2);
  const std::string cases[] = {
      gzip_of(text), gzip_of(half) + gzip_of("") + gzip_of(rest), gzip_of(text) + std::string(700, '\0'),
      zstd_of(text), zstd_of(half) + zstd_of("") + zstd_of(rest),
  };
  for (const std::string& packed : cases) {
    for (const std::size_t step : {1, 7, 1000, 1 << 20})
      EXPECT_EQ(read_packed(packed, Reading::Strict, step).names, expected) << step;
  }
}

TEST(UnpackedSource, WhatIsCutOffIsReadSoFar) {
  const std::string text = text_of(40);
  const auto expected = read_packed(text).names;
  for (const std::string& packed : {gzip_of(text), zstd_of(text), gzip_of(text) + gzip_of(" ")}) {
    for (std::size_t length = 4; length < packed.size(); ++length) {
      if (length == gzip_of(text).size()) continue;  // whole
      const std::string cut = packed.substr(0, length);
      EXPECT_NE(refusal_of(cut).find("before its"), std::string::npos) << refusal_of(cut);
      const PackedRead got = read_packed(cut, Reading::Lenient);
      EXPECT_TRUE(got.summary.is_truncated);
      ASSERT_FALSE(got.summary.skipped.empty());
      EXPECT_NE(got.summary.skipped.back().reason.find("before its"), std::string::npos);
      ASSERT_LE(got.names.size(), expected.size());
      EXPECT_TRUE(std::equal(got.names.begin(), got.names.end(), expected.begin()));
    }
  }
}

TEST(UnpackedSource, ABrokenByteIsNeverTakenForText) {
  const std::string text = text_of(200);
  const auto expected = read_packed(text).names;
  const std::string packed = gzip_of(text);  // with a checksum
  int refusals = 0;
  for (std::size_t at = 2; at < packed.size(); ++at) {
    std::string broken = packed;
    broken[at] = static_cast<char>(broken[at] ^ 1 << at % 8);
    try {
      EXPECT_EQ(read_packed(broken).names, expected) << at;  // the date, say
    } catch (const FileError&) {
      ++refusals;
      EXPECT_TRUE(read_packed(broken, Reading::Lenient).summary.is_truncated) << at;
    }
  }
  EXPECT_GT(refusals, static_cast<int>(packed.size()) - 30);
  EXPECT_NE(refusal_of(packed + "a text after it").find("not a gzip member"), std::string::npos);
}

// What a source has to give: its bytes, its damage, or its error.
std::string whole_of(const std::string& packed, Unpacking how, std::size_t most) {
  const auto source = unpacked(std::make_unique<test::TextSource>(packed, 1000), how);
  std::string whole;
  std::vector<char> block(most);
  try {
    while (const std::size_t count = source->read(block.data(), block.size()))
      whole.append(block.data(), count);
  } catch (const FileError& error) {
    return error.message();
  }
  return whole + '|' + source->damage();
}

// Leaves its bytes in memory that is allocated next.
void fill_free_memory(char byte) {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (std::size_t bytes = 60'000; bytes < 120'000; bytes += 1000) {
    blocks.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    std::memset(blocks.back().get(), byte, bytes);
  }
}

TEST(UnpackedSource, WhatIsBrokenDoesNotDependOnWhatWasInMemory) {
  const std::string gzip = gzip_of(text_of(2000));
  for (std::size_t at = 10; at < gzip.size(); at += 131) {
    std::string broken = gzip;
    broken[at] = static_cast<char>(broken[at] ^ 4);
    std::string results[3];
    for (std::size_t i = 0; i < 3; ++i) {
      fill_free_memory(static_cast<char>(85 * i));
      results[i] = whole_of(broken, Unpacking::OnCallersThread, 1 << 20);
    }
    ASSERT_TRUE(results[0] == results[1] && results[1] == results[2]) << at;
  }
}

TEST(UnpackedSource, UnpackingOnTheCallersThreadGivesTheSame) {
  const std::string text = text_of(2000);
  std::vector<std::string> cases = {text, gzip_of(text), zstd_of(text),
                                    zstd_of(std::string(std::size_t{100} << 20, ' '))};
  const std::string gzip = gzip_of(text), zstd = zstd_of(text);
  for (std::size_t at = 4; at < gzip.size(); at += 97) {
    cases.push_back(gzip.substr(0, at));
    cases.push_back(zstd.substr(0, at));
    cases.push_back(gzip);
    cases.back()[at] ^= 4;
    cases.push_back(zstd);
    cases.back()[std::min(at, zstd.size() - 1)] ^= 4;
  }
  for (const std::string& packed : cases) {
    const std::string expected = whole_of(packed, Unpacking::Ahead, 1 << 20);
    for (const std::size_t most : {std::size_t{4000}, std::size_t{1} << 20})
      ASSERT_TRUE(whole_of(packed, Unpacking::OnCallersThread, most) == expected)
          << packed.size() << " bytes, read " << most << " at a time";
  }
}

TEST(UnpackedSource, AFileMadeToFillTheDiskIsRefused) {
  const std::string bomb = zstd_of(std::string(std::size_t{100} << 20, ' '));
  for (const Reading reading : {Reading::Strict, Reading::Lenient}) {
    try {
      read_packed(bomb, reading);
      ADD_FAILURE() << "it was read";
    } catch (const FileError& error) {
      EXPECT_NE(error.message().find("more than 1000 times its size"), std::string::npos) << error.message();
    }
  }
  EXPECT_EQ(read_packed(zstd_of(std::string(std::size_t{40} << 20, ' ') + text_of(1))).names.size(), 1u);
}

TEST(UnpackedSource, AVisitorMayLeave) {
  const std::string text = text_of(100000);
  for (const std::string& packed : {text, gzip_of(text)}) {
    for (const int leaves_at : {0, 1, 999, 50000, 99999}) {
      const auto source = unpacked(std::make_unique<test::TextSource>(packed, 1 << 20));
      int count = 0;
      EXPECT_THROW(read_kineto(*source,
                               [&](const TraceEvent&) {
                                 if (count++ == leaves_at) throw std::runtime_error("enough");
                               }),
                   std::runtime_error);
      EXPECT_EQ(count, leaves_at + 1);
    }
  }
}

TEST(UnpackedSource, EventsBeforeAFaultAreVisitedFirst) {
  std::string text = text_of(50000);
  text += "x";
  std::size_t count = 0;
  test::TextSource source(text, 1 << 20);
  EXPECT_THROW(read_kineto(source, [&](const TraceEvent&) { ++count; }), FileError);
  EXPECT_GT(count, 49000u);
}

// Ahead, events are left for another to parse before it is known that they are right.
TEST(UnpackedSource, BothWaysOfParsingGiveTheSame) {
  const test::Random seed;
  const auto only = static_cast<std::int64_t>(test::number_from("PELLUCID_CASE", UINT64_MAX));
  for (std::int64_t number = 0; number < test::Random::share_of(300); ++number) {
    if (only >= 0 && number != only) continue;
    test::Random random = seed.of_case(static_cast<std::uint64_t>(number));
    SCOPED_TRACE(random.repro());
    std::string text = text_of(static_cast<int>(random.between(1, 4000)));
    for (std::int64_t faults = random.between(0, 3); faults > 0; --faults) {
      const auto at = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(text.size()) - 1));
      if (random.one_in(4)) {
        text.resize(at + 1);
      } else {
        text[at] = "\"\\{}[],:x\n"[random.between(0, 9)];
      }
    }
    ReadOptions options;
    options.block_bytes = static_cast<std::size_t>(random.one_in(2) ? random.between(1, 300) : 5000);
    options.parsing = Parsing::OnCallersThread;
    const PackedRead one = read_packed(text, Reading::Lenient, 1 << 20, options);
    options.parsing = Parsing::Ahead;
    const PackedRead two = read_packed(text, Reading::Lenient, 1 << 20, options);
    ASSERT_EQ(one.names, two.names);
    ASSERT_EQ(one.summary.counts, two.summary.counts);
    ASSERT_EQ(one.summary.metadata, two.summary.metadata);
    ASSERT_EQ(one.summary.is_truncated, two.summary.is_truncated);
    ASSERT_EQ(one.summary.skipped.size(), two.summary.skipped.size());
    for (std::size_t i = 0; i < one.summary.skipped.size(); ++i) {
      const Skipped &a = one.summary.skipped[i], &b = two.summary.skipped[i];
      ASSERT_EQ(std::tie(a.offset, a.bytes, a.reason), std::tie(b.offset, b.bytes, b.reason));
    }
    std::string refusal;
    for (const Parsing parsing : {Parsing::OnCallersThread, Parsing::Ahead}) {
      options.parsing = parsing;
      std::string said = "nothing";
      try {
        read_packed(text, Reading::Strict, 1 << 20, options);
      } catch (const FileError& error) {
        said = error.message();
      }
      if (!refusal.empty()) {
        ASSERT_EQ(refusal, said);
      }
      refusal = said;
    }
  }
}

TEST(UnpackedSource, ProgressIsOfTheFile) {
  const std::string path = testing::TempDir() + "/progress_trace.json.gz";
  const std::string packed = gzip_of(text_of(20000));
  std::ofstream(path, std::ios::binary) << packed;
  std::vector<SourceProgress> seen;
  ReadOptions options;
  options.progress = [&](const SourceProgress& progress) { seen.push_back(progress); };
  int count = 0;
  const auto begin = std::chrono::steady_clock::now();
  read_kineto(
      path,
      [&](const TraceEvent&) {
        if (++count % 5000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(120));
      },
      options);
  std::filesystem::remove(path);
  ASSERT_FALSE(seen.empty());
  const auto tenths = (std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(100);
  EXPECT_LE(static_cast<std::int64_t>(seen.size()), tenths);
  std::uint64_t last = 0;
  for (const SourceProgress& progress : seen) {
    EXPECT_EQ(progress.all_bytes, packed.size());
    EXPECT_GE(progress.done_bytes, last);
    EXPECT_LE(progress.done_bytes, packed.size());
    last = progress.done_bytes;
  }
}

TEST(UnpackedSource, ADashIsTheStandardInput) {
  const std::string packed = gzip_of(text_of(100));
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const int before = dup(STDIN_FILENO);
  dup2(pipe[0], STDIN_FILENO);
  ASSERT_EQ(write(pipe[1], packed.data(), packed.size()), static_cast<ssize_t>(packed.size()));
  close(pipe[1]);
  int count = 0;
  read_kineto("-", [&](const TraceEvent&) { ++count; });
  EXPECT_EQ(count, 100);
  dup2(before, STDIN_FILENO);
  close(before);
  close(pipe[0]);
}

}  // namespace
}  // namespace pel::doctor
