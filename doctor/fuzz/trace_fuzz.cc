// Any bytes are a trace or a FileError, and every trace that can be read can be diagnosed: analyses, what-if,
// comparison with another trace, ranks, and the reports as text, JSON and HTML. Strict and lenient reading
// must agree on a document without faults and differ on one with faults; parsing on the caller's thread and
// ahead must agree.
//
// The first byte selects the size of a block and of the page, and whether the report is of two traces. Bytes
// of gzip or zstd are decompressed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pellucid/error.h"

#include "base/terminal.h"
#include "doctor/analyses/launch_pace.h"
#include "doctor/compare/diff.h"
#include "doctor/diagnosis/diagnose.h"
#include "doctor/ranks/compare_ranks.h"
#include "doctor/readers/kineto.h"
#include "doctor/readers/perfetto.h"
#include "doctor/readers/unpack.h"
#include "doctor/replay/what_if.h"
#include "doctor/report/html.h"
#include "doctor/report/json.h"
#include "doctor/report/markdown.h"
#include "doctor/report/text.h"
#include "doctor/tests/sources.h"

namespace {

using namespace pel::doctor;

struct Seen {
  std::uint64_t events = 0;
  std::size_t sum = 0;  // of every byte that the events show
  TraceSummary summary;
};

void add(Seen& seen, std::string_view text) {
  for (const char c : text) seen.sum = seen.sum * 31 + static_cast<unsigned char>(c);
}

constexpr std::size_t kLargestBlock = 16 + 255 * 8;

Seen read(std::string_view bytes, std::size_t block_bytes, Reading reading,
          Parsing parsing = Parsing::OnCallersThread, std::size_t longest_piece_bytes = 2048) {
  ReadOptions options;
  options.reading = reading;
  options.parsing = parsing;
  options.block_bytes = block_bytes;
  options.longest_piece_bytes = longest_piece_bytes;
  std::unique_ptr<ByteSource> source = std::make_unique<pel::test::TextSource>(std::string(bytes), 1000);
  if (block_bytes == kLargestBlock) source = unpacked(std::move(source));
  Seen seen;
  seen.summary = read_kineto(
      *source,
      [&](const TraceEvent& e) {
        ++seen.events;
        for (const std::string_view text : {e.name, e.category_text, e.process.text, e.thread.text, e.id.text,
                                            e.label, e.call_site, e.json})
          add(seen, text);
        for (std::size_t i = 0; i < kArgTextCount; ++i) add(seen, e.get(static_cast<ArgText>(i)));
        for (std::size_t i = 0; i < kArgCount; ++i)
          seen.sum += static_cast<std::size_t>(e.get(static_cast<Arg>(i))) * (i + 1);
        seen.sum += static_cast<std::size_t>(e.begin_ns) + static_cast<std::size_t>(e.duration_ns) * 7;
      },
      options);
  return seen;
}

// What comes out before the first fault, 1 MB at most.
std::string unpack(Unpacker& unpacker, std::string_view bytes) {
  std::string text;
  std::span<const char> input(bytes);
  std::string scratch(1 << 16, '\0');
  while (text.size() < std::size_t{1} << 20) {
    std::span<char> output(scratch);
    const std::size_t before = input.size();
    const char* problem = unpacker.step(input, output);
    text.append(scratch, 0, scratch.size() - output.size());
    if (problem != nullptr || (output.size() == scratch.size() && input.size() == before)) break;
  }
  return text;
}

void require(bool holds) {
  if (!holds) std::abort();
}

// The same for a trace of Perfetto.
void read_packets(std::string_view bytes) {
  const auto read = [&](Reading reading) {
    ReadOptions options;
    options.reading = reading;
    pel::test::TextSource source(std::string(bytes), 1000);
    std::uint64_t events = 0;
    TraceSummary summary = read_perfetto(source, [&](const TraceEvent&) { ++events; }, options);
    require(summary.events == events && summary.skipped_bytes <= summary.bytes);
    return summary;
  };
  const TraceSummary lenient = read(Reading::Lenient);
  try {
    require(read(Reading::Strict).events == lenient.events && lenient.skipped_count == 0);
  } catch (const pel::FileError&) {
    require(lenient.skipped_count != 0);
  }
}

// A diagnosis takes a hundred times as long as reading: longer documents are only read.
constexpr std::size_t kLongestDiagnosedBytes = 16384;

ReadOptions lenient_on_this_thread() {
  ReadOptions options;
  options.reading = Reading::Lenient;
  options.parsing = Parsing::OnCallersThread;
  options.block_bytes = kLongestDiagnosedBytes;
  return options;
}

// The whole of what `pellucid doctor` does with a trace, with all of its options.
void diagnose_whole(std::string_view bytes, const HtmlOptions& page, std::size_t traces) {
  const auto source = [](std::string_view text) {
    return pel::test::TextSource(std::string(text), text.size() + 1);
  };
  const auto examine = [&](std::string_view text) -> std::unique_ptr<Examination> {
    try {
      auto from = source(text);
      return std::make_unique<Examination>(from, lenient_on_this_thread());
    } catch (const pel::FileError&) {  // not a trace
      return nullptr;
    }
  };
  const auto first = examine(bytes), second = examine(bytes.substr(0, bytes.size() / 2));
  if (first == nullptr) return;
  const Examination &after = *first, &before = second == nullptr ? *first : *second;

  Report report;
  Diagnosis diagnosis = diagnose(after, {"dispatch=0.5; syncs=0; loading=0; kernels=2; gemm=0"});
  try {
    answer_questions(after.examined(), {"device=A100"});
  } catch (const pel::ValueError&) {  // the trace does not name its device, or there is no data sheet for it
  }
  const std::vector<Finding> changes = compare(summarize(before.examined()), summarize(after.examined()));
  diagnosis.before = "half";
  diagnosis.findings.insert(diagnosis.findings.begin(), changes.begin(), changes.end());
  require(!html_report(diagnosis, after.examined(), page).empty());
  report.traces.push_back({std::move(diagnosis)});
  if (traces == 2) report.traces.push_back({diagnose(before)});
  std::vector<RankFacts> ranks = {reduce_rank(after.examined(), "rank0.json"),
                                  reduce_rank(before.examined(), "rank1.json"),
                                  reduce_rank(after.examined(), "rank2.json")};
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].rank = static_cast<std::int64_t>(i);
  report.together = compare_ranks(std::move(ranks));
  const std::vector<pel::Condition> conditions =
      pel::parse_conditions("kernels >= 0; step.syncs >= 0; 'k' >= 0");
  check_words(conditions, {&report.traces[0].diagnosis});
  report.traces[0].expectations = check(conditions, report.traces[0].diagnosis);
  require(!json_report(report).empty());
  require(!text_report(report, pel::Terminal{}, pel::doctor::Detail::Full).empty());
  require(!text_report(report, pel::Terminal{}, pel::doctor::Detail::Short).empty());
  require(!markdown_report(report).empty());
  try {
    auto again = source(bytes);
    launch_pace(again);
  } catch (const pel::FileError&) {  // strict, or no kernel with its launch
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t block = 16 + std::size_t{data[0]} * 8;
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  std::string text;
  if (const auto unpacker = unpacker_of(bytes.substr(0, kMagicBytes)); unpacker && block != kLargestBlock) {
    text = unpack(*unpacker, bytes);
    bytes = text;
  }
  std::optional<Seen> strict, lenient;
  try {
    strict = read(bytes, block, Reading::Strict);
  } catch (const pel::FileError&) {
  }
  try {
    lenient = read(bytes, block, Reading::Lenient);
  } catch (const pel::FileError&) {  // made to fill the disk
    require(!strict);
    return 0;
  }
  require(lenient->events == lenient->summary.events);
  require(lenient->summary.skipped_bytes <= lenient->summary.bytes);
  require(strict.has_value() == (lenient->summary.skipped_count == 0));
  if (strict) require(strict->events == lenient->events && strict->sum == lenient->sum);
  // Threads take their time, so one size of a block in 32 must do.
  if (data[0] % 32 == 0 && block != kLargestBlock && bytes.size() > block) {
    constexpr std::size_t kLongest = std::size_t{2} << 20;  // how long a piece may be depends on blocks
    const Seen one = read(bytes, block, Reading::Lenient, Parsing::OnCallersThread, kLongest);
    const Seen two = read(bytes, block, Reading::Lenient, Parsing::Ahead, kLongest);
    require(one.summary.skipped.empty() == two.summary.skipped.empty());
    if (one.summary.skipped.empty()) {
      require(one.events == two.events && one.sum == two.sum);
      require(one.summary.metadata == two.summary.metadata);
    } else {  // where it goes on after a fault is a guess, which sees what is in the block
      require(one.summary.skipped[0].offset == two.summary.skipped[0].offset);
    }
  }
  if (looks_like_perfetto(bytes)) read_packets(bytes);
  const HtmlOptions page = data[0] % 2 == 0 ? HtmlOptions{} : HtmlOptions{.max_bytes = 0, .max_edges = 0};
  const std::size_t traces = data[0] / 2 % 4 == 0 ? 2 : 1;
  if (bytes.size() <= kLongestDiagnosedBytes && block != kLargestBlock) diagnose_whole(bytes, page, traces);
  return 0;
}
