#include "profile/recorder.h"

#include <chrono>

namespace pel {
namespace profile {

constinit thread_local ThreadState thread_state;
constinit std::atomic<std::uint32_t> settings_bits{0};

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::uint32_t thread_number() {
  static std::atomic<std::uint32_t> next{0};
  std::uint32_t& number_plus_one = thread_state.number_plus_one;
  if (number_plus_one == 0) number_plus_one = next.fetch_add(1, std::memory_order_relaxed) + 1;
  return number_plus_one - 1;
}

void record(Event event) {
  event.thread = thread_number();
  thread_state.recording->add(event);
}

void write_span(ProfileEvent::Kind kind, const OpenSpan& span, const char* name, const Site& site,
                std::uint64_t sequence) {
  std::uint64_t* const to = take(span.session);
  if (to == nullptr) return;
  std::uint64_t* const end = to + kWordsOf<SpanRecord>;
  auto& record = new_record<SpanRecord>(to, end, kind);
  record.begin = span.begin;
  record.end = ticks();
  record.name = name;
  record.site = site;
  record.id = 0;
  record.sequence = sequence;
  commit(end);
}

void write_memory(std::int64_t bytes, std::int64_t bytes_in_use) {
  std::uint64_t* const to = take(settings().session());
  if (to == nullptr) return;
  std::uint64_t* const end = to + kWordsOf<MemoryRecord>;
  auto& record = new_record<MemoryRecord>(to, end, ProfileEvent::Kind::Memory);
  record.at = ticks();
  record.bytes = bytes;
  record.bytes_in_use = bytes_in_use;
  commit(end);
}

}  // namespace profile

std::uint64_t launch_count() { return profile::thread_state.launches; }

Recording::Recording() : outer_(profile::thread_state.recording) {
  profile::thread_state.recording = this;
  ++profile::thread_state.watchers;
}
Recording::~Recording() {
  profile::thread_state.recording = outer_;
  --profile::thread_state.watchers;
}

bool is_profiling() { return profile::settings().session() != 0; }

Range::Range(ProfileEvent::Kind kind, const char* name, const Site& site, std::uint64_t sequence)
    : kind_(kind), name_(name), site_(site), sequence_(sequence) {
  const profile::Settings now = profile::settings();
  if (now.session() == 0) [[likely]]
    return;
  if (kind == ProfileEvent::Kind::Layer && !now.wants(profile::Settings::kLayers)) return;
  // Calls made by a gradient belong to the source location of the call that it is the gradient of.
  if (kind == ProfileEvent::Kind::Backward && profile::thread_state.site.line() == 0) {
    profile::thread_state.site = site;
    sets_site_ = true;
  }
  profile::OpenSpan span;
  span.start(now);
  session_ = span.session;
  begin_ = span.begin;
}

void Range::end() {
  profile::OpenSpan span{session_, begin_};
  if (span.finish()) profile::write_span(kind_, span, name_, site_, sequence_);
  if (sets_site_) profile::thread_state.site = Site();
}

}  // namespace pel
