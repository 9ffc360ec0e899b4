// Real traces, cut off and with bits flipped at random: PELLUCID_TRACES names their folder. Each trace is
// broken as often as fits into 20 MB of text, at most 200 times in each way; PELLUCID_BROKEN_ROUNDS=200 does
// all. A failure is repeated with its PELLUCID_SEED and PELLUCID_CASE.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "doctor/readers/kineto.h"
#include "doctor/tests/real_traces.h"
#include "doctor/tests/sources.h"
#include "support/random.h"

namespace pel::doctor {
namespace {

namespace fs = std::filesystem;

std::size_t mark_of(const TraceEvent& e) {
  return std::hash<std::string_view>()(e.name) * 31 + static_cast<std::size_t>(e.begin_ns) * 7 +
         static_cast<std::size_t>(e.duration_ns) + e.args_there * 3 + e.texts_there;
}

struct WholeTrace {
  std::string text;
  std::vector<std::size_t> marks, ends;  // of each event: what it says, and where it ends in the text
};

std::string unpack_whole(const std::string& path) {
  const auto source = open_source(path);
  std::string text;
  for (std::size_t size = 0;;) {
    text.resize(size + (std::size_t{1} << 20));
    const std::size_t count = source->read(text.data() + size, text.size() - size);
    size += count;
    if (count != 0) continue;
    text.resize(size);
    return text;
  }
}

WholeTrace whole_trace(const std::string& path) {
  WholeTrace whole{.text = unpack_whole(path), .marks = {}, .ends = {}};
  test::TextSource source(whole.text, whole.text.size());
  std::size_t at = 0;
  read_kineto(source, [&](const TraceEvent& e) {
    at = whole.text.find(e.json, at) + e.json.size();
    whole.marks.push_back(mark_of(e));
    whole.ends.push_back(at);
  });
  return whole;
}

// Reads the text, and looks whether all is there that stands before `damage`.
void read_broken(const WholeTrace& whole, ByteSource& source, std::size_t damage, std::size_t size,
                 const std::string& repro) {
  SCOPED_TRACE(repro);
  std::size_t at = 0, equal = 0;
  ReadOptions options;
  options.reading = Reading::Lenient;
  const auto begin = std::chrono::steady_clock::now();
  const TraceSummary summary = read_kineto(
      source,
      [&](const TraceEvent& e) {
        if (at == equal && at < whole.marks.size() && mark_of(e) == whole.marks[at]) ++equal;
        ++at;
      },
      options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const auto before = static_cast<std::size_t>(
      std::upper_bound(whole.ends.begin(), whole.ends.end(), damage) - whole.ends.begin());
  EXPECT_GE(equal, before) << "of " << whole.marks.size() << ", damaged at byte " << damage;
  EXPECT_EQ(summary.events, at);
  EXPECT_LT(took.count(), 5 + 1e-6 * static_cast<double>(size));
}

std::vector<std::string> traces() {
  std::vector<std::string> paths;
  if (test::real_trace().empty()) return paths;
  for (const auto& entry : fs::recursive_directory_iterator(test::real_trace())) {
    if (entry.path().string().ends_with(".json.gz")) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class BrokenTraces : public testing::Test {
 protected:
  // Calls round(whole, path, random, case number) for each trace as often as there is time for.
  template <class F>
  void each(F&& round) {
    const auto paths = traces();
    if (paths.empty()) GTEST_SKIP() << "PELLUCID_TRACES names no folder with traces";
    const test::Random seed;
    const auto only = static_cast<std::int64_t>(test::number_from("PELLUCID_CASE", UINT64_MAX));
    std::int64_t count = 0;
    for (std::size_t trace = 0; trace < paths.size(); ++trace) {
      if (only >= 0 && only / kMaxRounds != static_cast<std::int64_t>(trace)) continue;
      const WholeTrace whole = whole_trace(paths[trace]);
      constexpr std::size_t kBytes = std::size_t{20} << 20;
      const auto fit = static_cast<std::int64_t>(kBytes / whole.text.size()) + 1;
      const auto rounds = static_cast<std::int64_t>(test::number_from(
          "PELLUCID_BROKEN_ROUNDS",
          static_cast<std::uint64_t>(test::Random::share_of(static_cast<int>(std::min(fit, kMaxRounds))))));
      for (std::int64_t i = 0; i < std::min(rounds, kMaxRounds); ++i) {
        const auto number =
            static_cast<std::int64_t>(trace) * kMaxRounds + (only >= 0 ? only % kMaxRounds : i);
        test::Random random = seed.of_case(static_cast<std::uint64_t>(number));
        round(whole, paths[trace], random);
        ++count;
        if (only >= 0 || HasFatalFailure()) break;
      }
    }
    std::cout << count << " broken traces read" << std::endl;
  }
  static constexpr std::int64_t kMaxRounds = 200;
};

TEST_F(BrokenTraces, CutOffTheyGiveWhatWasThere) {
  each([](const WholeTrace& whole, const std::string& path, test::Random& random) {
    const auto length =
        static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(whole.text.size()) - 1));
    test::TextSource source(whole.text.substr(0, length), whole.text.size());
    read_broken(whole, source, length, length, random.repro() + "  # " + path);
  });
}

TEST_F(BrokenTraces, WithABitFlippedTheyGiveTheEventsBefore) {
  each([](const WholeTrace& whole, const std::string& path, test::Random& random) {
    const auto at =
        static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(whole.text.size()) - 1));
    std::string text = whole.text;
    text[at] = static_cast<char>(text[at] ^ 1 << random.between(0, 7));
    test::TextSource source(std::move(text), whole.text.size());
    read_broken(whole, source, at, whole.text.size(), random.repro() + "  # " + path);
  });
}

TEST_F(BrokenTraces, PackedTheyMayBeBrokenToo) {
  each([](const WholeTrace& whole, const std::string& path, test::Random& random) {
    std::ifstream file(path, std::ios::binary);
    std::string packed((std::istreambuf_iterator<char>(file)), {});
    const auto at = static_cast<std::size_t>(random.between(4, static_cast<std::int64_t>(packed.size()) - 1));
    const bool is_cut = random.one_in(2);
    if (is_cut) {
      packed.resize(at);
    } else {
      packed[at] = static_cast<char>(packed[at] ^ 1 << random.between(0, 7));
    }
    // How much of the text is right is what another finds that unpacks it.
    const auto again = unpacked(std::make_unique<test::TextSource>(packed, packed.size()));
    std::size_t right = 0;
    std::vector<char> block(std::size_t{1} << 16);
    for (bool is_right = true; is_right;) {
      const std::size_t count = again->read(block.data(), block.size());
      if (count == 0) break;
      std::size_t i = 0;
      while (i < count && right < whole.text.size() && block[i] == whole.text[right]) ++i, ++right;
      is_right = i == count;
    }
    const auto source = unpacked(std::make_unique<test::TextSource>(packed, packed.size()));
    read_broken(whole, *source, right, whole.text.size(), random.repro() + "  # " + path);
  });
}

}  // namespace
}  // namespace pel::doctor
