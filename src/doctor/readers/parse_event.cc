#include "doctor/readers/parse_event.h"

#include <array>
#include <cstring>

#include <simdjson.h>

#include "doctor/readers/decimal_time.h"

namespace pel::doctor {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

enum class Field : std::uint8_t { Phase, Category, Name, Process, Thread, Begin, Duration, Id, Args, None };
enum class Text : std::uint8_t { Label, CallSite, None };

// What a key of an event or of its arguments means.
struct Meaning {
  std::string_view key;
  Field field = Field::None;
  Text text = Text::None;
  Arg arg{};
};
constexpr Meaning field(std::string_view key, Field field) { return {.key = key, .field = field}; }
constexpr Meaning number(std::string_view key, Arg arg) { return {.key = key, .arg = arg}; }
constexpr Meaning text(std::string_view key, Text text) { return {.key = key, .text = text}; }

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
    text("name", Text::Label),
    text("labels", Text::Label),
    text("Call site", Text::CallSite),
};

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
    }
  }
  const Meaning* find(std::string_view key) const {
    if (key.empty()) return nullptr;
    for (std::size_t slot = slot_of(key); !slots_[slot].key.empty(); slot = (slot + 1) % kSlots) {
      if (slots_[slot].key == key) return &slots_[slot];
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
};
constexpr Meanings kFieldMeanings(kFields), kArgMeanings(kArgs);

std::string_view without_blanks_behind(std::string_view token) {
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  return token;
}

bool read_text(ondemand::value& value, std::string_view token, std::string_view& to) {
  if (!token.starts_with('"')) return false;
  const std::string_view inner = token.substr(1, token.size() < 2 ? 0 : token.size() - 2);
  if (std::memchr(inner.data(), '\\', inner.size()) != nullptr)
    return value.get_string().get(to) == simdjson::SUCCESS;
  to = inner;
  return true;
}

bool read_row(ondemand::value& value, std::string_view token, RowName& row) {
  if (const auto number = parse_integer(token)) {
    row.number = *number;
    return true;
  }
  if (!read_text(value, token, row.text)) return false;
  constexpr std::string_view kStream = "stream ";  // torch 1.8 to 1.12
  if (row.text.starts_with(kStream)) row.number = parse_integer(row.text.substr(kStream.size())).value_or(0);
  return true;
}

struct Parse {
  std::string_view json;
  TraceEvent& event;
  const char* problem = nullptr;
  std::string_view phase{};
  bool has_duration = false;

  bool fail(const char* why) {
    problem = why;
    return false;
  }
  bool fail(error_code error) { return fail(simdjson::error_message(error)); }

  // Calls f(key, value, token) for each member; a token reaches to the next one.
  template <class F>
  bool each(ondemand::object& object, F&& f) {
    for (auto member : object) {
      ondemand::field field;
      if (const error_code error = std::move(member).get(field)) return fail(error);
      const char* key = field.key().raw();
      const std::string_view token = without_blanks_behind(field.value().raw_json_token());
      const char* key_end = token.data() - 1;  // behind the key stand its quote, a colon and blanks
      while (key_end != key && *key_end != '"') --key_end;
      if (!f(std::string_view(key, static_cast<std::size_t>(key_end - key)), field.value(), token))
        return false;
    }
    return true;
  }

  bool args(ondemand::value& value) {
    ondemand::object object;
    if (value.get_object().get(object)) return true;  // null, or anything else that says nothing
    return each(object, [&](std::string_view key, ondemand::value& item, std::string_view token) {
      const Meaning* meaning = kArgMeanings.find(key);
      if (meaning == nullptr) return true;
      switch (meaning->text) {
        case Text::Label:
          if (event.phase == Phase::Metadata || phase.empty()) read_text(item, token, event.label);
          break;
        case Text::CallSite:
          read_text(item, token, event.call_site);
          break;
        case Text::None:
          if (const auto number = parse_integer(token)) event.set(meaning->arg, *number);
          break;
      }
      return true;
    });
  }

  bool time(std::string_view token, std::int64_t& to, const char* why) {
    const auto ns = parse_microseconds(token);
    if (!ns) return fail(why);
    to = *ns;
    return true;
  }

  bool member(std::string_view key, ondemand::value& value, std::string_view token) {
    const Meaning* meaning = kFieldMeanings.find(key);
    switch (meaning == nullptr ? Field::None : meaning->field) {
      case Field::Phase:
        if (!read_text(value, token, phase)) return fail("ph is no string");
        event.phase = phase_of(phase);
        return true;
      case Field::Category:
        if (!read_text(value, token, event.category_text)) return fail("cat is no string");
        event.category = category_of(event.category_text);
        return true;
      case Field::Name:
        return read_text(value, token, event.name) || fail("name is no string");
      case Field::Process:
        return read_row(value, token, event.process) || fail("pid is neither a number nor a string");
      case Field::Thread:
        return read_row(value, token, event.thread) || fail("tid is neither a number nor a string");
      case Field::Begin:
        event.has_time = true;
        return time(token, event.begin_ns, "ts is no time");
      case Field::Duration:
        has_duration = true;
        return time(token, event.duration_ns, "dur is no time");
      case Field::Id:
        return read_row(value, token, event.id) || fail("id is neither a number nor a string");
      case Field::Args:
        return args(value);
      case Field::None:
        return true;
    }
    return true;
  }
};

}  // namespace

struct EventParser::State {
  ondemand::parser parser;
};

EventParser::EventParser() : state_(std::make_unique<State>()) {}
EventParser::~EventParser() = default;

const char* EventParser::parse(std::string_view json, TraceEvent& event) {
  static_assert(kPadding >= simdjson::SIMDJSON_PADDING);
  event.phase = Phase::Other;
  event.category = Category::None;
  event.has_time = false;
  event.name = event.category_text = event.label = event.call_site = {};
  event.process = event.thread = event.id = {};
  event.begin_ns = event.duration_ns = 0;
  event.args_there = 0;
  event.json = json;

  Parse parse{.json = json, .event = event};
  ondemand::document document;
  ondemand::object object;
  if (const error_code error = state_->parser.iterate(json, json.size() + kPadding).get(document))
    return simdjson::error_message(error);
  if (const error_code error = document.get_object().get(object)) return simdjson::error_message(error);
  const bool is_read =
      parse.each(object, [&](std::string_view key, ondemand::value& value, std::string_view token) {
        return parse.member(key, value, token);
      });
  if (!is_read) return parse.problem;
  if (parse.phase.empty()) return "no ph";
  if (event.phase != Phase::Metadata && !event.has_time) return "no ts";
  if (event.phase == Phase::Span && !parse.has_duration) return "no dur";
  return nullptr;
}

}  // namespace pel::doctor
