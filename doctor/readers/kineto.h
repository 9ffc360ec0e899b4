// Traces of PyTorch's profiler, of Pellucid's, and others in Chrome's JSON, of any length, plain or packed by
// gzip or zstd: what is in memory is a few blocks.
//
//   const TraceSummary summary = read_kineto("run.json.gz", [&](const TraceEvent& e) { ... });
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "doctor/readers/byte_source.h"
#include "doctor/readers/stop.h"
#include "doctor/readers/trace_event.h"

namespace pel::doctor {

// Strict: the first thing that is wrong is a FileError that says where. Lenient: it is left out and listed.
enum class Reading : std::uint8_t { Strict, Lenient };

// Ahead: a thread of the reader's own reads, and parses with the caller's, which visits.
enum class Parsing : std::uint8_t { Ahead, OnCallersThread };

struct ReadOptions {
  Reading reading = Reading::Strict;
  Parsing parsing = Parsing::Ahead;
  std::size_t block_bytes = std::size_t{128} << 10;
  std::size_t longest_piece_bytes = std::size_t{64} << 20;  // of one event, or one value of the metadata
  std::size_t max_skipped = 1000;                           // that are listed; all are counted
  // Lenient reading gives up when so much was looked at in vain. A text can be made of which each byte is
  // looked at hundreds of times; no real one comes near, and this takes ten seconds.
  std::uint64_t max_wasted_bytes = std::uint64_t{16} << 30;
  // Called on the caller's thread, ten times a second at most.
  std::function<void(const SourceProgress&)> progress;
  // Once it is requested, reading ends with Stopped, and so does an examination of what was read.
  const StopFlag* stop = nullptr;
};

struct Skipped {
  std::uint64_t offset, bytes;
  std::string reason;
};

struct TraceSummary {
  std::uint64_t bytes = 0, events = 0;
  std::array<std::array<std::uint64_t, kCategoryCount>, kPhaseCount> counts{};  // by phase and category
  std::map<std::string, std::uint64_t> other_categories;  // those that have no Category, the first 100
  bool has_old_categories = false;                        // of torch 1.8 to 1.12
  // The key traceEvents is somewhere in the text, even if it was damaged so that no event was found.
  bool has_event_list = false;
  // All but the events, in the order of the document: key and JSON. Values beyond 16 MB in all are left
  // empty.
  std::vector<std::pair<std::string, std::string>> metadata;
  std::optional<std::int64_t> base_time_ns;  // to be added to times; none: they count from 1970
  bool is_truncated = false;                 // the document ends early, or what it is packed in is broken
  std::vector<Skipped> skipped;
  std::uint64_t skipped_count = 0, skipped_bytes = 0;

  std::uint64_t count(Phase phase, Category category) const {
    return counts[static_cast<std::size_t>(phase)][static_cast<std::size_t>(category)];
  }
  std::uint64_t count(Phase phase) const;
  std::uint64_t count(Category category) const;
  const std::string* find(std::string_view key) const;  // in the metadata; null: not there
};

using EventVisitor = FunctionRef<void(const TraceEvent&)>;

// Visits on the caller's thread, in the order of the document. "-" is the standard input.
TraceSummary read_kineto(const std::string& path, EventVisitor visit, const ReadOptions& options = {});
// Of a source that is not packed.
TraceSummary read_kineto(ByteSource& source, EventVisitor visit, const ReadOptions& options = {});

}  // namespace pel::doctor
