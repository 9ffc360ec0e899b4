// The text of one event as a TraceEvent.
#pragma once

#include <memory>
#include <string_view>

#include "doctor/trace_event.h"

namespace pel::doctor {

class EventParser {
 public:
  static constexpr std::size_t kPadding = 64;  // bytes behind the text that may be read

  EventParser();
  ~EventParser();
  EventParser(const EventParser&) = delete;
  EventParser& operator=(const EventParser&) = delete;

  // What is wrong with it, or null. What the event needs not is not looked at: of an argument that nobody
  // asks for, only the brackets and quotes have to match. Views of the event live until the next call.
  const char* parse(std::string_view json, TraceEvent& event);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pel::doctor
