// Any bytes are a trace, or a FileError. Strict and lenient reading must agree where nothing is wrong, and
// differ where something is; so must both ways of parsing agree. The first byte is the size of a block; bytes
// of gzip or zstd are unpacked.
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

#include "doctor/readers/kineto.h"
#include "doctor/readers/unpack.h"
#include "doctor/sources.h"

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
  std::string room(1 << 16, '\0');
  while (text.size() < std::size_t{1} << 20) {
    std::span<char> output(room);
    const std::size_t before = input.size();
    const char* problem = unpacker.step(input, output);
    text.append(room, 0, room.size() - output.size());
    if (problem != nullptr || (output.size() == room.size() && input.size() == before)) break;
  }
  return text;
}

void require(bool holds) {
  if (!holds) std::abort();
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
    } else {  // where it goes on behind a fault is a guess, which sees what is in the block
      require(one.summary.skipped[0].offset == two.summary.skipped[0].offset);
    }
  }
  return 0;
}
