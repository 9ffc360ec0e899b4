#include "doctor/readers/split_events.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "doctor/readers/byte_marks.h"

namespace pel::doctor {
namespace {

constexpr std::size_t npos = std::string_view::npos;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

// After the closing quote of the string that begins at `begin`; npos: further on.
std::size_t string_end(std::string_view text, std::size_t begin) {
  for (std::size_t at = begin + 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return npos;
}

Piece broken(std::size_t at, const char* reason, std::size_t end = 0) {
  return {.kind = Piece::Kind::Broken, .begin = at, .end = std::max(at, end), .reason = reason};
}
Piece comma(std::size_t at, const char* reason) {
  return {.kind = Piece::Kind::Comma, .begin = at, .end = at, .reason = reason};
}

// Where the event begins whose first key was found there; npos: it is none. An event follows a bracket,
// which is after a comma or the beginning: inside an event a colon would be there.
std::size_t begin_of_event(std::string_view text, std::size_t from, std::size_t key) {
  std::size_t at = key;
  const auto back = [&] {
    while (at > from && is_blank(text[at - 1])) --at;
    return at > from ? text[--at] : '\0';
  };
  if (back() != '{') return npos;
  const std::size_t brace = at;
  const char before = back();
  return before == ',' || before == '[' || before == '\0' ? brace : npos;
}

}  // namespace

Extent extent_of(std::string_view text, std::size_t begin) {
  std::uint64_t escape = 0, in_string = 0;  // at the first byte of the stride: 1, and all ones
  int depth = 0;
  std::array<char, kStride> last;
  for (std::size_t at = begin; at < text.size(); at += kStride) {
    const char* bytes = text.data() + at;
    if (text.size() - at < kStride) {
      last.fill(' ');
      std::memcpy(last.data(), bytes, text.size() - at);
      bytes = last.data();
    }
    const ByteMarks marks = marks_of(bytes);
    const std::uint64_t strings =
        parity_up_to(marks.quotes & ~escaped_by(marks.backslashes, escape)) ^ in_string;
    in_string = std::uint64_t{0} - (strings >> 63);
    const std::uint64_t torn = marks.line_breaks & strings;
    for (std::uint64_t rest = (marks.opening | marks.closing) & ~strings; rest != 0; rest &= rest - 1) {
      const std::uint64_t bit = rest & -rest;
      if ((marks.opening & bit) != 0) {
        if (++depth > kMaxNesting) return {Extent::Outcome::TooDeep, at + std::countr_zero(bit)};
      } else if (--depth == 0) {
        if ((torn & (bit - 1)) != 0) break;
        return {Extent::Outcome::Whole, at + std::countr_zero(bit) + 1};
      }
    }
    if (torn != 0) return {Extent::Outcome::LineBreakInString, at + std::countr_zero(torn)};
  }
  return {Extent::Outcome::NeedsMore, text.size()};
}

Piece EventSplitter::unfinished(Rest rest, const char* reason) const {
  if (rest == Rest::Follows) return {.kind = Piece::Kind::NeedsMore, .begin = at_, .end = at_};
  return {.kind = Piece::Kind::Truncated, .begin = at_, .end = at_, .reason = reason};
}

Piece EventSplitter::next(std::string_view text, Rest rest) {
  for (;;) {
    if (state_ == State::Start && at_ == 0) {
      constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
      if (text.size() < kByteOrderMark.size() && rest == Rest::Follows) return unfinished(rest, "");
      if (text.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    }
    if (state_ == State::Recovery) {
      const std::size_t found = find_event(text, at_);
      if (found == npos) {
        // The beginning of an event may stand at the end of the text.
        constexpr std::size_t kOverlap = 256;
        if (rest == Rest::IsThere) {
          at_ = text.size();
          state_ = State::Done;
          continue;
        }
        at_ = std::max(at_, text.size() - std::min(text.size(), kOverlap));
        return unfinished(rest, "");
      }
      at_ = found;
      state_ = State::Events;
      wants_comma_ = had_comma_ = false;
    }
    at_ = skip_blanks(text, at_);
    if (at_ == text.size()) {
      if (state_ != State::Done) return unfinished(rest, "the document has no end");
      if (rest == Rest::Follows) return unfinished(rest, "");
      return {.kind = Piece::Kind::End, .begin = at_, .end = at_};
    }
    const char c = text[at_];
    if (state_ == State::Start) {
      if (c != '{' && c != '[') return broken(at_, "a trace begins with { or [");
      is_bare_ = c == '[';
      state_ = is_bare_ ? State::Events : State::Root;
      ++at_;
      continue;
    }
    if (state_ == State::Done) return broken(at_, "there is text after the end of the document");

    // Between two members, or two events.
    if (c == ',') {
      if (!wants_comma_) return comma(at_++, "a comma with nothing before it");
      wants_comma_ = false;
      had_comma_ = true;
      ++at_;
      continue;
    }
    const bool is_event = state_ == State::Events;
    if (c == (is_event ? ']' : '}')) {
      const std::size_t at = at_++;
      state_ = is_event && !is_bare_ ? State::Root : State::Done;
      wants_comma_ = state_ == State::Root;
      if (std::exchange(had_comma_, false)) return comma(at, "a comma is followed by nothing");
      continue;
    }
    if (wants_comma_) {
      wants_comma_ = false;
      return comma(at_, is_event ? "no comma between two events" : "no comma between two members");
    }
    const Piece piece = is_event ? event(text, rest) : root_member(text, rest);
    if (piece.kind == Piece::Kind::End) continue;  // the array of events begins
    return piece;
  }
}

Piece EventSplitter::event(std::string_view text, Rest rest) {
  if (text[at_] != '{') return broken(at_, "an event is not an object");
  const Extent extent = extent_of(text, at_);
  switch (extent.outcome) {
    case Extent::Outcome::NeedsMore:
      return unfinished(rest, "the document ends inside an event");
    case Extent::Outcome::LineBreakInString:
      return broken(at_, "a line break inside a string", extent.end);
    case Extent::Outcome::TooDeep:
      return broken(at_, "nested too deep", extent.end);
    case Extent::Outcome::Whole:
      break;
  }
  const Piece piece{.kind = Piece::Kind::Event, .begin = at_, .end = extent.end};
  if (first_key_.empty() || std::exchange(is_first_key_doubtful_, false))
    note_first_key(text.substr(piece.begin, piece.end - piece.begin));
  at_ = extent.end;
  wants_comma_ = true;
  had_comma_ = false;
  return piece;
}

Piece EventSplitter::root_member(std::string_view text, Rest rest) {
  const char* const kCut = "the document ends inside its metadata";
  if (text[at_] != '"') return broken(at_, "a member of the document without a key");
  const std::size_t key_end = string_end(text, at_);
  if (key_end == npos) return unfinished(rest, kCut);
  std::size_t at = skip_blanks(text, key_end);
  if (at == text.size()) return unfinished(rest, kCut);
  if (text[at] != ':') return broken(at, "a key is not followed by a colon");
  at = skip_blanks(text, at + 1);
  if (at == text.size()) return unfinished(rest, kCut);

  const std::string_view key = text.substr(at_ + 1, key_end - at_ - 2);
  std::size_t end;
  if (key == "traceEvents" && text[at] == '[') {
    at_ = at + 1;
    state_ = State::Events;
    wants_comma_ = had_comma_ = false;
    return {.kind = Piece::Kind::End};
  }
  if (text[at] == '{' || text[at] == '[') {
    const Extent extent = extent_of(text, at);
    if (extent.outcome == Extent::Outcome::NeedsMore) return unfinished(rest, kCut);
    if (extent.outcome == Extent::Outcome::TooDeep) return broken(at, "nested too deep", extent.end);
    if (extent.outcome != Extent::Outcome::Whole)
      return broken(at, "the metadata is not valid JSON", extent.end);
    end = extent.end;
  } else if (text[at] == '"') {
    end = string_end(text, at);
    if (end == npos) return unfinished(rest, kCut);
  } else {
    end = text.find_first_of(",}] \n\t\r", at);
    if (end == npos) return unfinished(rest, kCut);
    if (end == at) return broken(at, "a key without a value");
  }
  at_ = end;
  wants_comma_ = true;
  had_comma_ = false;
  return {.kind = Piece::Kind::Member, .begin = at, .end = end, .key = key};
}

void EventSplitter::recover(std::size_t from) {
  at_ = from;
  state_ = State::Recovery;
}

void EventSplitter::note_first_key(std::string_view event) {
  const std::size_t begin = skip_blanks(event, 1);
  const std::size_t end = begin < event.size() && event[begin] == '"' ? string_end(event, begin) : npos;
  constexpr std::size_t kLongest = 40;
  if (end != npos && end - begin <= kLongest) first_key_ = event.substr(begin, end - begin);
}

std::string_view EventSplitter::first_key() const {
  return first_key_.empty() ? std::string_view("\"ph\"") : first_key_;
}

std::size_t EventSplitter::find_event(std::string_view text, std::size_t from) const {
  const std::string_view key = first_key();
  for (std::size_t found = text.find(key, from); found != npos; found = text.find(key, found + 1)) {
    const std::size_t brace = begin_of_event(text, from, found);
    if (brace != npos) return brace;
  }
  return npos;
}

std::size_t EventSplitter::last_event(std::string_view text) {
  const std::string_view key = first_key();
  for (std::size_t found = text.rfind(key); found != npos && found > at_;
       found = text.rfind(key, found - 1)) {
    const std::size_t brace = begin_of_event(text, at_, found);
    if (brace != npos) return brace;
  }
  is_first_key_doubtful_ = true;
  return npos;
}

bool EventSplitter::comes_to_event(std::string_view text) {
  if (state_ != State::Events) return false;
  at_ = skip_blanks(text, at_);
  if (wants_comma_ && at_ < text.size() && text[at_] == ',') {
    wants_comma_ = false;
    had_comma_ = true;
    at_ = skip_blanks(text, at_ + 1);
  }
  return !wants_comma_ && at_ < text.size() && text[at_] == '{';
}

void EventSplitter::pass(std::size_t to) {
  at_ = to;
  wants_comma_ = false;
  had_comma_ = true;
}

}  // namespace pel::doctor
