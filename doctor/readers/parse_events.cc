#include "doctor/readers/parse_events.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include <simdjson.h>

#include "doctor/readers/blanks.h"
#include "doctor/readers/decimal_time.h"
#include "doctor/readers/find_structure.h"
#include "doctor/readers/split_events.h"

namespace pel::doctor {
namespace {

using Structure = simdjson::internal::dom_parser_implementation;

enum class Field : std::uint8_t { Phase, Category, Name, Process, Thread, Begin, Duration, Id, Args, None };
enum class Kind : std::uint8_t { Number, Decimal, Text, Label, CallSite, Grid, Block };

// What a key of an event or of its arguments means.
struct Meaning {
  std::string_view key;
  Field field = Field::None;
  Kind kind = Kind::Number;  // of an argument
  Arg number{};
  ArgDecimal decimal{};
  ArgText text{};
};
constexpr Meaning field(std::string_view key, Field field) { return {.key = key, .field = field}; }
constexpr Meaning number(std::string_view key, Arg arg) { return {.key = key, .number = arg}; }
constexpr Meaning decimal(std::string_view key, ArgDecimal arg) {
  return {.key = key, .kind = Kind::Decimal, .decimal = arg};
}
constexpr Meaning text(std::string_view key, ArgText arg) {
  return {.key = key, .kind = Kind::Text, .text = arg};
}
constexpr Meaning special(std::string_view key, Kind kind) { return {.key = key, .kind = kind}; }

constexpr Meaning kFields[] = {
    field("ph", Field::Phase),     field("cat", Field::Category), field("name", Field::Name),
    field("pid", Field::Process),  field("tid", Field::Thread),   field("ts", Field::Begin),
    field("dur", Field::Duration), field("id", Field::Id),        field("args", Field::Args),
};
constexpr Meaning kArgs[] = {
    number("External id", Arg::ExternalId),
    number("external id", Arg::ExternalId),  // torch 1.8 to 1.12
    number("correlation", Arg::Correlation),
    number("Sequence number", Arg::Sequence),
    number("Fwd thread id", Arg::ForwardThread),
    number("Record function id", Arg::RecordFunctionId),
    number("Ev Idx", Arg::EventIndex),
    number("Profiler Event Index", Arg::EventIndex),  // before Ev Idx
    number("device", Arg::Device),
    number("context", Arg::Context),
    number("stream", Arg::Stream),
    number("bytes", Arg::Bytes),
    number("Bytes", Arg::Bytes),
    number("bytes read", Arg::BytesRead),
    number("bytes written", Arg::BytesWritten),
    number("flops", Arg::Flops),
    number("registers per thread", Arg::RegistersPerThread),
    number("shared memory", Arg::SharedMemory),
    number("graph id", Arg::GraphId),
    number("graph node id", Arg::GraphNodeId),
    number("Addr", Arg::Address),
    number("Device Type", Arg::DeviceType),
    number("Device Id", Arg::DeviceId),
    number("Total Allocated", Arg::TotalAllocated),
    number("Total Reserved", Arg::TotalReserved),
    number("Python id", Arg::PythonId),
    number("Python parent id", Arg::PythonParent),
    number("Python module id", Arg::PythonModule),
    number("wait_on_stream", Arg::WaitStream),
    number("wait_on_cuda_event_record_corr_id", Arg::WaitCorrelation),
    number("wait_on_cuda_event_id", Arg::WaitEvent),
    number("In msg nelems", Arg::InputElements),
    number("Out msg nelems", Arg::OutputElements),
    number("Group size", Arg::GroupSize),
    number("Seq", Arg::CollectiveSequence),
    number("Src Rank", Arg::SourceRank),
    number("Dst Rank", Arg::DestinationRank),
    number("Queued", Arg::Queued),
    decimal("est. achieved occupancy %", ArgDecimal::OccupancyPercent),
    decimal("blocks per SM", ArgDecimal::BlocksPerMultiprocessor),
    decimal("memory bandwidth (GB/s)", ArgDecimal::GigabytesPerSecond),
    text("Input Dims", ArgText::InputShapes),
    text("Input type", ArgText::InputTypes),
    text("Input Strides", ArgText::InputStrides),
    text("Concrete Inputs", ArgText::ConcreteInputs),
    text("Call stack", ArgText::CallStack),
    text("Collective name", ArgText::CollectiveName),
    text("Process Group Name", ArgText::ProcessGroupName),
    text("dtype", ArgText::ElementType),
    text("kernel_file", ArgText::KernelFile),
    text("Reason", ArgText::Reason),
    special("grid", Kind::Grid),
    special("block", Kind::Block),
    special("name", Kind::Label),
    special("labels", Kind::Label),
    special("Call site", Kind::CallSite),
};

// The first 8 bytes of a key, and its last 8, which may be the same; zeros follows one that is shorter.
struct KeyEnds {
  std::uint64_t head = 0, tail = 0;
};
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr KeyEnds ends_of(std::string_view key) {
  const auto word = [&](std::size_t from) {
    std::uint64_t bytes = 0;
    for (std::size_t i = std::min(kWord, key.size() - from); i-- > 0;)
      bytes = bytes << 8 | static_cast<unsigned char>(key[from + i]);
    return bytes;
  };
  return {word(0), word(key.size() - std::min(kWord, key.size()))};
}
// From there on; bytes after the text may be read.
std::uint64_t load_word(std::string_view text, std::size_t from) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word;
  std::memcpy(&word, text.data() + from, sizeof(word));
  return word;
}

// The keys of one table by hash, in a table that is known at compile time.
class Meanings {
 public:
  template <std::size_t N>
  explicit constexpr Meanings(const Meaning (&all)[N]) {
    static_assert(2 * N <= kSlots);
    for (const Meaning& meaning : all) {
      std::size_t slot = slot_of(meaning.key);
      while (!slots_[slot].key.empty()) slot = (slot + 1) % kSlots;
      slots_[slot] = meaning;
      ends_[slot] = ends_of(meaning.key);
    }
  }
  // Bytes after the key may be read.
  const Meaning* find(std::string_view key) const {
    if (key.empty()) return nullptr;
    const std::uint64_t first = load_word(key, 0);
    const KeyEnds ends = key.size() < kWord ? KeyEnds{first & ((std::uint64_t{1} << 8 * key.size()) - 1), 0}
                                            : KeyEnds{first, load_word(key, key.size() - kWord)};
    for (std::size_t slot = slot_of(key); !slots_[slot].key.empty(); slot = (slot + 1) % kSlots) {
      if (slots_[slot].key.size() != key.size() || ends_[slot].head != ends.head) continue;
      if (key.size() < kWord) return &slots_[slot];
      if (ends_[slot].tail == ends.tail && (key.size() <= 2 * kWord || slots_[slot].key == key))
        return &slots_[slot];
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kSlots = 128;
  static constexpr std::size_t slot_of(std::string_view key) {
    const auto at = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(key[i]));
    };
    return (key.size() * 37 + at(0) * 5 + at(key.size() / 2) * 11 + at(key.size() - 1)) % kSlots;
  }
  std::array<Meaning, kSlots> slots_{};
  std::array<KeyEnds, kSlots> ends_{};
};
constexpr Meanings kFieldMeanings(kFields), kArgMeanings(kArgs);

// Up to 8 digits at once: each step adds neighbours, of one digit, two and four. Bytes after the token may
// be read.
std::optional<std::int64_t> parse_short_integer(std::string_view token) {
  if (token.empty() || token.size() > kWord) return parse_integer(token);
  const unsigned past = 8 * static_cast<unsigned>(kWord - token.size());
  constexpr std::uint64_t kZeros = 0x3030303030303030, kCarries = 0x0606060606060606;
  constexpr std::uint64_t kHighHalves = 0xF0F0F0F0F0F0F0F0;
  std::uint64_t digits = load_word(token, 0) << past;
  if (past != 0) digits |= kZeros >> (64 - past);
  if ((digits & kHighHalves) != kZeros || ((digits + kCarries) & kHighHalves) != kZeros)
    return parse_integer(token);  // a sign, or no number
  digits -= kZeros;
  digits = digits * 10 + (digits >> 8);
  digits = ((digits & 0x000000FF000000FF) * 0x000F424000000064 +
            (digits >> 16 & 0x000000FF000000FF) * 0x0000271000000001) >>
           32;
  return static_cast<std::int64_t>(digits);
}

// [1, 2, 3]
bool read_three(std::string_view list, std::array<std::int64_t, 3>& to) {
  if (!list.starts_with('[')) return false;
  list = list.substr(1, list.size() - 2);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t comma = list.find(',');
    if ((comma == std::string_view::npos) != (i == 2)) return false;
    const auto number = parse_integer(without_blanks_before(without_blanks_after(list.substr(0, comma))));
    if (!number) return false;
    to[i] = *number;
    list.remove_prefix(i == 2 ? 0 : comma + 1);
  }
  return true;
}

// Walks over one event.
class Walk {
 public:
  // `mark`: the first of the places that have a meaning; two after the last one are the length of the text.
  Walk(const Structure& structure, std::string_view text, EventBatch& batch)
      : structure_(structure),
        text_(text.data()),
        mark_(structure.structural_indexes.get()),
        end_(mark_ + structure.n_structural_indexes),
        batch_(batch),
        has_escapes_(std::memchr(text.data(), '\\', text.size()) != nullptr) {}

  bool is_done() const { return mark_ == end_; }
  std::size_t position() const { return *mark_; }
  bool take_comma() {
    if (is_done() || here() != ',') return false;
    ++mark_;
    return true;
  }

  // What is wrong with the event that begins here, or null.
  const char* event(TraceEvent& event) {
    if (is_done() || here() != '{') return "an event is not an object";
    event_ = &event;
    clear(event);
    phase_ = {};
    has_duration_ = false;
    problem_ = nullptr;
    const char* const begin = text_ + *mark_;
    if (!each([this](std::string_view key) { return member(key); })) return problem_;
    event.json = {begin, static_cast<std::size_t>(text_ + mark_[-1] + 1 - begin)};
    if (phase_.empty()) return "an event has no \"ph\"";
    if (event.phase != Phase::Metadata && !event.has_time) return "an event has no \"ts\"";
    if (event.phase == Phase::Span && !has_duration_) return "a complete event has no \"dur\"";
    return nullptr;
  }

 private:
  static void clear(TraceEvent& event) {
    event.phase = Phase::Other;
    event.category = Category::None;
    event.has_time = false;
    event.name = event.category_text = event.label = event.call_site = {};
    event.process = event.thread = event.id = {};
    event.begin_ns = event.duration_ns = 0;
    event.args_there = event.texts_there = event.decimals_there = 0;
    event.has_grid = event.has_block = false;
  }

  char here() const { return text_[*mark_]; }
  bool fail(const char* why) {
    problem_ = why;
    return false;
  }

  // From the first byte of the value here to where the next thing begins, without blanks.
  std::string_view token() const {
    return without_blanks_after({text_ + *mark_, static_cast<std::size_t>(mark_[1] - mark_[0])});
  }

  // Calls f(key) for each member of the object that begins here; f passes over the value. Ends after it.
  template <class F>
  bool each(F&& f) {
    ++mark_;
    if (!is_done() && here() == '}') {
      ++mark_;
      return true;
    }
    for (;;) {
      if (end_ - mark_ < 4) return fail("an object is not closed");
      if (here() != '"') return fail("a key is not a string");
      if (text_[mark_[1]] != ':') return fail("a key is not followed by a colon");
      const char *const key = text_ + *mark_ + 1, *key_end = text_ + mark_[1] - 1;
      while (*key_end != '"') --key_end;
      mark_ += 2;
      if (!f(std::string_view(key, static_cast<std::size_t>(key_end - key)))) return false;
      if (is_done()) return fail("an object is not closed");
      const char c = here();
      ++mark_;
      if (c == '}') return true;
      if (c != ',') return fail("a value is followed by neither a comma nor a bracket");
    }
  }

  // Over the value here, of any kind.
  bool skip() {
    int depth = 0;
    do {
      if (is_done()) return fail("a value is not closed");
      switch (here()) {
        case '{':
        case '[':
          if (++depth > kMaxNesting - 2) return fail("values are nested too deeply");
          break;
        case '}':
        case ']':
          if (--depth < 0) return fail("a key has no value");
          break;
        case ',':
        case ':':
          if (depth == 0) return fail("a key has no value");
          break;
        default:
          break;
      }
      ++mark_;
    } while (depth != 0);
    return true;
  }

  // A string as it reads.
  bool read_text(std::string_view token, std::string_view& to) {
    if (token.size() < 2 || token.front() != '"' || token.back() != '"') return false;
    const std::string_view inner = token.substr(1, token.size() - 2);
    if (!has_escapes_ || std::memchr(inner.data(), '\\', inner.size()) == nullptr) [[likely]] {
      to = inner;
      return true;
    }
    std::string& plain = batch_.new_string();
    plain.resize(inner.size() + EventBatch::kPadding);
    auto* const begin = reinterpret_cast<std::uint8_t*>(plain.data());
    const std::uint8_t* const end =
        structure_.parse_string(reinterpret_cast<const std::uint8_t*>(inner.data()), begin);
    if (end == nullptr) return false;
    to = {plain.data(), static_cast<std::size_t>(end - begin)};
    return true;
  }
  bool read_row(std::string_view token, RowName& row) {
    if (const auto number = parse_short_integer(token)) {
      row.number = *number;
      return true;
    }
    if (!read_text(token, row.text)) return false;
    constexpr std::string_view kStream = "stream ";  // torch 1.8 to 1.12
    if (row.text.starts_with(kStream))
      row.number = parse_integer(row.text.substr(kStream.size())).value_or(0);
    return true;
  }
  bool read_time(std::string_view token, std::int64_t& to, const char* why) {
    const auto ns = parse_microseconds(token);
    if (!ns) return fail(why);
    to = *ns;
    return true;
  }

  // The JSON of a value, passing over it.
  bool take_json(std::string_view& json) {
    const char* const begin = text_ + *mark_;
    const bool is_list = *begin == '[' || *begin == '{';
    if (!is_list) json = token();
    if (!skip()) return false;
    if (is_list) json = {begin, static_cast<std::size_t>(text_ + mark_[-1] + 1 - begin)};
    return true;
  }

  bool argument(std::string_view key) {
    const Meaning* meaning = kArgMeanings.find(key);
    if (meaning == nullptr) return skip();
    std::string_view json;
    if (!take_json(json)) return false;
    TraceEvent& event = *event_;
    switch (meaning->kind) {
      case Kind::Number:
        if (const auto number = parse_short_integer(json)) event.set(meaning->number, *number);
        break;
      case Kind::Decimal:
        if (const auto number = parse_decimal(json)) event.set(meaning->decimal, *number);
        break;
      case Kind::Text:
        if (json.starts_with('[')) {
          event.set(meaning->text, json);
        } else if (std::string_view text; read_text(json, text)) {
          event.set(meaning->text, text);
        }
        break;
      case Kind::Label:
        if (event.phase == Phase::Metadata || phase_.empty()) read_text(json, event.label);
        break;
      case Kind::CallSite:
        read_text(json, event.call_site);
        break;
      case Kind::Grid:
        event.has_grid = read_three(json, event.grid);
        break;
      case Kind::Block:
        event.has_block = read_three(json, event.block);
        break;
    }
    return true;
  }

  bool member(std::string_view key) {
    const Meaning* meaning = kFieldMeanings.find(key);
    const Field field = meaning == nullptr ? Field::None : meaning->field;
    if (field == Field::None) return skip();
    if (field == Field::Args) {
      // null, or anything else that is not an object, says nothing
      return here() == '{' ? each([this](std::string_view name) { return argument(name); }) : skip();
    }
    const std::string_view value = token();
    TraceEvent& event = *event_;
    switch (field) {
      case Field::Phase:
        if (!read_text(value, phase_)) return fail("\"ph\" is not a string");
        event.phase = phase_of(phase_);
        break;
      case Field::Category:
        if (!read_text(value, event.category_text)) return fail("\"cat\" is not a string");
        event.category = category_of(event.category_text);
        break;
      case Field::Name:
        if (!read_text(value, event.name)) return fail("\"name\" is not a string");
        break;
      case Field::Process:
        if (!read_row(value, event.process)) return fail("\"pid\" is neither a number nor a string");
        break;
      case Field::Thread:
        if (!read_row(value, event.thread)) return fail("\"tid\" is neither a number nor a string");
        break;
      case Field::Begin:
        event.has_time = true;
        if (!read_time(value, event.begin_ns, "\"ts\" is not a time")) return false;
        break;
      case Field::Duration:
        has_duration_ = true;
        if (!read_time(value, event.duration_ns, "\"dur\" is not a time")) return false;
        break;
      case Field::Id:
        if (!read_row(value, event.id)) return fail("\"id\" is neither a number nor a string");
        break;
      case Field::Args:
      case Field::None:
        break;
    }
    ++mark_;
    return true;
  }

  const Structure& structure_;
  const char* text_;
  const std::uint32_t *mark_, *end_;
  EventBatch& batch_;
  bool has_escapes_;
  TraceEvent* event_ = nullptr;
  std::string_view phase_;
  bool has_duration_ = false;
  const char* problem_ = nullptr;
};

}  // namespace

struct EventParser::State {
  std::unique_ptr<Structure> structure;
  const bool has_simd = simdjson::get_active_implementation()->name() != "fallback";

  // What is wrong with the text as a whole, or null.
  const char* find_structure(std::string_view text) {
    simdjson::error_code error = simdjson::SUCCESS;
    if (!structure || structure->capacity() < text.size()) {
      const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(text.size(), 4096));
      error = structure ? structure->allocate(capacity, kMaxNesting)
                        : simdjson::get_active_implementation()->create_dom_parser_implementation(
                              capacity, kMaxNesting, structure);
    }
    if (!error) {
      error = has_simd ? structure->stage1(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                           simdjson::stage1_mode::regular)
                       : doctor::find_structure(text, *structure);
    }
    return error ? simdjson::error_message(error) : nullptr;
  }
};

EventParser::EventParser() : state_(std::make_unique<State>()) {
  static_assert(EventBatch::kPadding >= simdjson::SIMDJSON_PADDING);
}
EventParser::~EventParser() = default;

const char* EventParser::parse_one(std::string_view json, EventBatch& batch) {
  if (const char* problem = state_->find_structure(json)) return problem;
  Walk walk(*state_->structure, json, batch);
  if (const char* problem = walk.event(batch.next_event())) return problem;
  if (!walk.is_done()) return "there is text after the event";
  batch.add_event();
  return nullptr;
}

std::size_t EventParser::parse_many(std::string_view json, EventBatch& batch) {
  if (state_->find_structure(json) != nullptr) return 0;
  Walk walk(*state_->structure, json, batch);
  std::size_t done = 0;
  while (!walk.is_done() && walk.event(batch.next_event()) == nullptr && walk.take_comma()) {
    batch.add_event();
    done = walk.is_done() ? json.size() : walk.position();
  }
  return done;
}

}  // namespace pel::doctor
