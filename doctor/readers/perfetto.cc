// In the order of use: packets are cut out of the bytes (packet_stream.h); each sequence of packets has its
// interned names and its clocks (Sequence); tracks are rows; what slices mean is in perfetto_slice.h.
//
// Of the schema, only the fields in the enums below are read. Messages are nested at most four deep.
#include "doctor/readers/perfetto.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "doctor/readers/packet_stream.h"
#include "doctor/readers/perfetto_slice.h"
#include "doctor/readers/protobuf.h"

namespace pel::doctor {
namespace {

// Field numbers, by message.
namespace packet {
enum : std::uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kStateCleared = 41,
  kCompressed = 50,
  kClockId = 58,
  kDefaults = 59,
  kTrackDescriptor = 60,
};
}  // namespace packet
namespace track_event {
enum : std::uint32_t {
  kCategoryIds = 3,
  kAnnotations = 4,
  kLegacy = 6,
  kType = 9,
  kNameId = 10,
  kTrack = 11,
  kCategories = 22,
  kName = 23,
  kFlows = 47,
  kTerminatingFlows = 48,
  kCorrelation = 52,
};
enum : std::uint64_t { kSliceBegin = 1, kSliceEnd = 2 };
}  // namespace track_event
namespace descriptor {
enum : std::uint32_t { kId = 1, kProcess = 3, kThread = 4, kParent = 5 };
}  // namespace descriptor
namespace annotation {
enum : std::uint32_t {
  kNameId = 1,
  kBool = 2,
  kUint = 3,
  kInt = 4,
  kDouble = 5,
  kString = 6,
  kPointer = 7,
  kName = 10,
  kArray = 12,
  kStringId = 17,
};
}  // namespace annotation
namespace interned {
enum : std::uint32_t { kCategories = 1, kNames = 2, kAnnotationNames = 3, kStrings = 29 };
}  // namespace interned

// What a real trace never reaches.
constexpr std::size_t kMaxTracks = 1'000'000, kMaxSequences = 100'000, kMaxOpenSlices = 1000;
constexpr std::size_t kMaxInternedBytes = std::size_t{512} << 20;
constexpr int kMaxParents = 16;

struct Clock {
  bool is_incremental = false;
  std::int64_t unit_ns = 1;
  std::uint64_t last = 0;      // of an incremental clock, in its units
  std::int64_t offset_ns = 0;  // to the clock of the system
};

// What packets of one writer say once for those that follow.
struct Sequence {
  std::unordered_map<std::uint64_t, std::string> names, categories, annotation_names, strings;
  std::unordered_map<std::uint64_t, Clock> clocks;
  std::uint64_t default_clock = 0, default_track = 0;
  std::unordered_map<std::uint64_t, std::vector<PerfettoSlice>> open;  // by track

  void forget_interned() {
    names.clear();
    categories.clear();
    annotation_names.clear();
    strings.clear();
  }
};

std::string_view find_name(const std::unordered_map<std::uint64_t, std::string>& names, std::uint64_t id) {
  const auto at = names.find(id);
  return at == names.end() ? std::string_view() : std::string_view(at->second);
}

std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return as_signed(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_mul(std::uint64_t a, std::int64_t b) {
  return as_signed(a * static_cast<std::uint64_t>(b));
}

class PerfettoReader {
 public:
  PerfettoReader(EventVisitor visit, const ReadOptions& options)
      : options_(options), slices_(visit, counts_) {}

  TraceSummary run(ByteSource& source) {
    PacketStream stream(source, options_.longest_piece_bytes);
    std::string_view bytes;
    auto last_progress = std::chrono::steady_clock::now();
    for (std::uint64_t begin = 0; stream.next(bytes); begin = stream.offset()) {
      check_stop(options_.stop);
      if (const char* problem = read_packet(bytes); problem != nullptr)
        note_skip(source, begin, bytes.size(), problem);
      if (options_.progress &&
          std::chrono::steady_clock::now() - last_progress > std::chrono::milliseconds(100)) {
        last_progress = std::chrono::steady_clock::now();
        options_.progress(source.progress());
      }
    }
    const std::string damage = source.damage();
    if (stream.problem() != nullptr || !damage.empty()) {
      summary_.is_truncated = true;
      note_skip(source, stream.offset(), stream.bytes() - stream.offset(),
                damage.empty() ? stream.problem() : damage);
    }
    summary_.bytes = stream.bytes();
    return counts_.added_to(std::move(summary_));
  }

 private:
  void note_skip(const ByteSource& source, std::uint64_t offset, std::uint64_t bytes,
                 const std::string& reason) {
    PEL_CHECK(options_.reading == Reading::Lenient, FileError, "{} at byte {}: {}", source.name(), offset,
              reason);
    ++summary_.skipped_count;
    summary_.skipped_bytes += bytes;
    if (summary_.skipped.size() < options_.max_skipped) summary_.skipped.push_back({offset, bytes, reason});
  }

  // Returns what is wrong with it, or null.
  const char* read_packet(std::string_view bytes) {
    std::uint64_t timestamp = 0, sequence_id = 0, flags = 0;
    std::optional<std::uint64_t> clock;
    std::string_view event, interned_data, defaults, snapshot, track;
    bool has_event = false, is_compressed = false;
    ProtoReader fields(bytes);
    while (fields.next()) {
      const ProtoField& field = fields.field();
      switch (field.number) {
        case packet::kTimestamp:
          timestamp = field.value;
          break;
        case packet::kSequenceId:
          sequence_id = field.value;
          break;
        case packet::kSequenceFlags:
          flags |= field.value;
          break;
        case packet::kStateCleared:
          flags |= field.value;
          break;
        case packet::kClockId:
          clock = field.value;
          break;
        case packet::kTrackEvent:
          event = field.bytes;
          has_event = true;
          break;
        case packet::kInternedData:
          interned_data = field.bytes;
          break;
        case packet::kDefaults:
          defaults = field.bytes;
          break;
        case packet::kClockSnapshot:
          snapshot = field.bytes;
          break;
        case packet::kTrackDescriptor:
          track = field.bytes;
          break;
        case packet::kCompressed:
          is_compressed = true;
          break;
        default:
          break;
      }
    }
    if (is_compressed) return "a packet is compressed: record the trace without compression";
    constexpr const char* kBroken = "a packet is broken";
    if (fields.is_broken()) return kBroken;
    if (!sequences_.contains(sequence_id) && sequences_.size() >= kMaxSequences) return kBroken;
    Sequence& sequence = sequences_[sequence_id];
    if ((flags & 1) != 0) {
      sequence.forget_interned();
      sequence.default_clock = sequence.default_track = 0;
    }
    bool is_right = read_interned(interned_data, sequence);
    is_right = read_defaults(defaults, sequence) && is_right;
    is_right = read_snapshot(snapshot, sequence) && is_right;
    is_right = read_descriptor(track) && is_right;
    const std::int64_t time_ns = time_of(timestamp, clock.value_or(sequence.default_clock), sequence);
    if (has_event) is_right = read_event(event, time_ns, sequence) && is_right;
    return is_right ? nullptr : kBroken;
  }

  bool read_interned(std::string_view bytes, Sequence& sequence) {
    ProtoReader fields(bytes);
    while (fields.next()) {
      std::unordered_map<std::uint64_t, std::string>* to = nullptr;
      switch (fields.field().number) {
        case interned::kCategories:
          to = &sequence.categories;
          break;
        case interned::kNames:
          to = &sequence.names;
          break;
        case interned::kAnnotationNames:
          to = &sequence.annotation_names;
          break;
        case interned::kStrings:
          to = &sequence.strings;
          break;
        default:
          continue;
      }
      std::uint64_t id = 0;
      std::string_view text;
      ProtoReader entry(fields.field().bytes);
      while (entry.next()) {
        if (entry.field().number == 1) id = entry.field().value;
        if (entry.field().number == 2) text = entry.field().bytes;
      }
      interned_bytes_ += text.size() + 64;
      if (entry.is_broken() || interned_bytes_ > kMaxInternedBytes) return false;
      to->insert_or_assign(id, std::string(text));
    }
    return !fields.is_broken();
  }

  static bool read_defaults(std::string_view bytes, Sequence& sequence) {
    ProtoReader fields(bytes);
    while (fields.next()) {
      if (fields.field().number == packet::kClockId) sequence.default_clock = fields.field().value;
      if (fields.field().number != packet::kTrackEvent) continue;
      ProtoReader event(fields.field().bytes);
      while (event.next())
        if (event.field().number == track_event::kTrack) sequence.default_track = event.field().value;
      if (event.is_broken()) return false;
    }
    return !fields.is_broken();
  }

  // Clocks below 64 are those of the system, the others are the sequence's own.
  static bool read_snapshot(std::string_view bytes, Sequence& sequence) {
    constexpr std::uint64_t kFirstOwnClock = 64, kLastOwnClock = 127;
    std::optional<std::int64_t> system_ns;
    std::vector<std::pair<std::uint64_t, Clock>> own;
    ProtoReader fields(bytes);
    while (fields.next()) {
      if (fields.field().number != 1) continue;
      std::uint64_t id = 0, timestamp = 0;
      Clock clock;
      ProtoReader entry(fields.field().bytes);
      while (entry.next()) {
        const ProtoField& field = entry.field();
        if (field.number == 1) id = field.value;
        if (field.number == 2) timestamp = field.value;
        if (field.number == 3) clock.is_incremental = field.value != 0;
        if (field.number == 4 && field.value > 0 && field.value < 1'000'000'000)
          clock.unit_ns = as_signed(field.value);
      }
      if (entry.is_broken()) return false;
      clock.last = timestamp;
      if (id >= kFirstOwnClock && id <= kLastOwnClock) {
        own.emplace_back(id, clock);
      } else if (!system_ns) {
        system_ns = as_signed(timestamp);
      }
    }
    for (auto& [id, clock] : own) {
      if (system_ns)
        clock.offset_ns = as_signed(static_cast<std::uint64_t>(*system_ns) -
                                    clock.last * static_cast<std::uint64_t>(clock.unit_ns));
      sequence.clocks.insert_or_assign(id, clock);
    }
    return !fields.is_broken();
  }

  static std::int64_t time_of(std::uint64_t timestamp, std::uint64_t id, Sequence& sequence) {
    const auto at = sequence.clocks.find(id);
    if (at == sequence.clocks.end()) return as_signed(timestamp);
    Clock& clock = at->second;
    if (clock.is_incremental) timestamp = clock.last += timestamp;
    return wrapping_add(wrapping_mul(timestamp, clock.unit_ns), clock.offset_ns);
  }

  bool read_descriptor(std::string_view bytes) {
    if (bytes.empty()) return true;
    std::uint64_t id = 0;
    PerfettoTrack track;
    ProtoReader fields(bytes);
    while (fields.next()) {
      const ProtoField& field = fields.field();
      if (field.number == descriptor::kId) id = field.value;
      if (field.number == descriptor::kParent) track.parent = field.value;
      if (field.number != descriptor::kProcess && field.number != descriptor::kThread) continue;
      ProtoReader inner(field.bytes);
      while (inner.next()) {  // both begin with the number of the process
        if (inner.field().number == 1 && inner.field().is_number())
          track.process = as_signed(inner.field().value);
        if (inner.field().number == 2 && inner.field().is_number() && field.number == descriptor::kThread)
          track.thread = as_signed(inner.field().value);
      }
      if (inner.is_broken()) return false;
    }
    if (fields.is_broken()) return false;
    PerfettoTrack* const known = track_of(id);
    if (known == nullptr) return false;
    track.ordinal = known->ordinal;
    *known = std::move(track);
    return true;
  }
  // Null: there are too many.
  PerfettoTrack* track_of(std::uint64_t id) {
    const auto at = tracks_.find(id);
    if (at != tracks_.end()) return &at->second;
    if (tracks_.size() >= kMaxTracks) return nullptr;
    PerfettoTrack track;
    track.ordinal = static_cast<std::int64_t>(tracks_.size());
    return &tracks_.emplace(id, std::move(track)).first->second;
  }
  std::int64_t process_of(const PerfettoTrack& track) const {
    const PerfettoTrack* at = &track;
    for (int i = 0; i < kMaxParents; ++i) {
      if (at->process) return *at->process;
      const auto parent = tracks_.find(at->parent);
      if (parent == tracks_.end()) break;
      at = &parent->second;
    }
    return 0;
  }

  bool read_event(std::string_view bytes, std::int64_t time_ns, Sequence& sequence) {
    std::uint64_t type = 0, track_id = sequence.default_track;
    PerfettoSlice slice;
    slice.begin_ns = time_ns;
    std::optional<std::int64_t> legacy_duration_ns;
    ProtoReader fields(bytes);
    while (fields.next()) {
      const ProtoField& field = fields.field();
      switch (field.number) {
        case track_event::kType:
          type = field.value;
          break;
        case track_event::kTrack:
          track_id = field.value;
          break;
        case track_event::kName:
          slice.name = field.bytes;
          break;
        case track_event::kNameId:
          slice.name = find_name(sequence.names, field.value);
          break;
        case track_event::kCategories:
          if (slice.category.empty()) slice.category = field.bytes;
          break;
        case track_event::kCategoryIds:
          if (slice.category.empty()) slice.category = find_name(sequence.categories, first_number(field));
          break;
        case track_event::kFlows:
        case track_event::kTerminatingFlows:
          if (!slice.flow) slice.flow = as_signed(field.is_number() ? field.value : 0);
          break;
        case track_event::kCorrelation:
          slice.set(Arg::Correlation, as_signed(field.value));
          break;
        case track_event::kAnnotations:
          if (!read_annotation(field.bytes, sequence, slice)) return false;
          break;
        case track_event::kLegacy:
          if (!read_legacy(field.bytes, type, legacy_duration_ns)) return false;
          break;
        default:
          break;
      }
    }
    if (fields.is_broken()) return false;
    PerfettoTrack* const track = track_of(track_id);
    if (track == nullptr) return false;
    if (legacy_duration_ns) {
      slices_.finish(slice, *track, process_of(*track), wrapping_add(time_ns, *legacy_duration_ns));
      return true;
    }
    std::vector<PerfettoSlice>& open = sequence.open[track_id];
    if (type == track_event::kSliceBegin) {
      if (open.size() >= kMaxOpenSlices) return false;
      open.push_back(std::move(slice));
    } else if (type == track_event::kSliceEnd && !open.empty()) {
      open.back().add_end(slice);
      slices_.finish(open.back(), *track, process_of(*track), time_ns);
      open.pop_back();
    }
    return true;
  }
  // Repeated numbers may be packed.
  static std::uint64_t first_number(const ProtoField& field) {
    std::uint64_t number = field.value;
    std::string_view packed = field.bytes;
    if (!field.is_number() && !ProtoReader::take_varint(packed, number)) return 0;
    return number;
  }
  static bool read_legacy(std::string_view bytes, std::uint64_t& type,
                          std::optional<std::int64_t>& duration_ns) {
    constexpr std::uint32_t kPhase = 2, kDuration = 3;
    constexpr std::uint64_t kLongest = std::uint64_t{1} << 50;
    std::uint64_t phase = 0, duration_us = 0;
    ProtoReader fields(bytes);
    while (fields.next()) {
      if (fields.field().number == kPhase) phase = fields.field().value;
      if (fields.field().number == kDuration) duration_us = std::min(fields.field().value, kLongest);
    }
    if (phase == 'B') type = track_event::kSliceBegin;
    if (phase == 'E') type = track_event::kSliceEnd;
    if (phase == 'X') duration_ns = as_signed(duration_us) * 1000;
    return !fields.is_broken();
  }

  // An annotation with a meaning; of arrays, one of three numbers.
  static bool read_annotation(std::string_view bytes, const Sequence& sequence, PerfettoSlice& slice) {
    std::string_view name, text;
    std::optional<std::int64_t> number;
    std::array<std::int64_t, 3> numbers{};
    std::size_t count = 0;
    ProtoReader fields(bytes);
    while (fields.next()) {
      const ProtoField& field = fields.field();
      switch (field.number) {
        case annotation::kName:
          name = field.bytes;
          break;
        case annotation::kNameId:
          name = find_name(sequence.annotation_names, field.value);
          break;
        case annotation::kBool:
        case annotation::kUint:
        case annotation::kInt:
        case annotation::kPointer:
          number = as_signed(field.value);
          break;
        case annotation::kString:
          text = field.bytes;
          break;
        case annotation::kStringId:
          text = find_name(sequence.strings, field.value);
          break;
        case annotation::kArray: {
          ProtoReader element(field.bytes);
          while (element.next())
            if (element.field().number == annotation::kInt || element.field().number == annotation::kUint)
              if (count < 3) numbers[count] = as_signed(element.field().value);
          if (element.is_broken()) return false;
          ++count;
          break;
        }
        default:
          break;
      }
    }
    if (fields.is_broken()) return false;
    if (!number) number = parse_whole(text);
    if (number) slice.annotate(name, *number);
    if (count == 3) slice.annotate(name, numbers);
    return true;
  }
  // Some writers make text of all numbers.
  static std::optional<std::int64_t> parse_whole(std::string_view text) {
    if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string_view::npos)
      return std::nullopt;
    std::int64_t number = 0;
    for (const char c : text) number = number * 10 + (c - '0');
    return number;
  }

  const ReadOptions& options_;
  EventCounts counts_;
  SliceReader slices_;
  TraceSummary summary_;
  std::unordered_map<std::uint64_t, Sequence> sequences_;
  std::unordered_map<std::uint64_t, PerfettoTrack> tracks_;
  std::size_t interned_bytes_ = 0;
};

}  // namespace

bool looks_like_perfetto(std::string_view first_bytes) {
  bool has_track = false;
  int packets = 0;
  while (!first_bytes.empty()) {
    std::uint64_t tag = 0, size = 0;
    if (!ProtoReader::take_varint(first_bytes, tag) || tag != (1 << 3 | 2)) return has_track && packets > 1;
    if (!ProtoReader::take_varint(first_bytes, size)) break;
    if (size > first_bytes.size()) break;  // goes on beyond what is there
    ProtoReader fields(first_bytes.substr(0, static_cast<std::size_t>(size)));
    while (fields.next()) {
      const ProtoField& field = fields.field();
      const bool is_message = field.type == WireType::Bytes;
      if (is_message && (field.number == packet::kTrackEvent || field.number == packet::kTrackDescriptor ||
                         field.number == packet::kInternedData))
        has_track = true;
      if (!is_message && (field.number == packet::kTimestamp || field.number == packet::kSequenceId))
        has_track = true;
    }
    if (fields.is_broken()) return has_track && packets > 1;
    ++packets;
    first_bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return has_track;
}

TraceSummary read_perfetto(ByteSource& source, EventVisitor visit, const ReadOptions& options) {
  return PerfettoReader(visit, options).run(source);
}

}  // namespace pel::doctor
