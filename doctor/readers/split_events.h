// Cuts a Chrome JSON trace into pieces that are parsed one by one, so that no more of a document than one
// piece has to be in memory. Looks at quotes and brackets alone; whether a piece is JSON is for its parser to
// say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pel::doctor {

// How far the object or array reaches that begins at `begin`.
struct Extent {
  enum class Outcome : std::uint8_t { Whole, NeedsMore, LineBreakInString, TooDeep };
  Outcome outcome;
  std::size_t end;  // after its last bracket; where it is not whole, of what was looked at
};
inline constexpr int kMaxNesting = 256;
Extent extent_of(std::string_view text, std::size_t begin);

struct Piece {
  // Member: a key of the root object with its value. Comma: one too many or too few, which next() passes
  // over. Broken: where it stands nothing can be made out; recover() goes on. Truncated: the document ends
  // inside a piece.
  enum class Kind : std::uint8_t { Event, Member, NeedsMore, Comma, Broken, Truncated, End };
  Kind kind;
  std::size_t begin = 0, end = 0;  // in the text; of a Member, its value; of Broken, what was looked at
  std::string_view key{};          // of a Member, as it stands between its quotes
  const char* reason = "";         // of Comma, Broken and Truncated
};

enum class Rest : std::uint8_t { Follows, IsThere };  // of the document, after the text

// Takes the document as a window that slides over it: the text of a call begins where that of the last call
// did, plus what was dropped since, and may reach further.
class EventSplitter {
 public:
  Piece next(std::string_view text, Rest rest);
  std::size_t position() const { return at_; }  // the text before is not needed again
  void drop(std::size_t bytes) { at_ -= bytes; }
  // Steps over blanks and a comma to an event, if one stands next. Then as many as end in `to`, each with its
  // comma, may be taken by another, who says so by pass().
  bool comes_to_event(std::string_view text);
  std::size_t last_event(std::string_view text);  // where the last event seems to begin; npos: nowhere
  void pass(std::size_t to);
  // Goes on with the first event that seems to begin at or after `from`. To find it, strings are not looked
  // at: a quote too many would turn the rest of the document inside out.
  void recover(std::size_t from);
  // Where the next event seems to begin, at or after `from`; npos: not before the end of the text.
  std::size_t find_event(std::string_view text, std::size_t from) const;

 private:
  enum class State : std::uint8_t { Start, Root, Events, Recovery, Done };
  Piece root_member(std::string_view text, Rest rest);
  Piece event(std::string_view text, Rest rest);
  Piece unfinished(Rest rest, const char* reason) const;
  void note_first_key(std::string_view text);
  std::string_view first_key() const;

  State state_ = State::Start;
  bool is_bare_ = false;  // the root is the array of events
  bool wants_comma_ = false;
  bool had_comma_ = false;  // and nothing after it yet
  std::size_t at_ = 0;
  // Events are recognised by the key that the first one begins with, quotes included; where none is found so,
  // by that of the next one.
  std::string first_key_;
  bool is_first_key_doubtful_ = false;
};

}  // namespace pel::doctor
