// Parses JSON text into events.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "doctor/readers/event_batch.h"

namespace pel::doctor {

// Finds what has a meaning in JSON with the first stage of simdjson, which takes a vector of bytes at a time
// and checks UTF-8, and walks over that. What an event needs not is not looked at: of an argument that nobody
// asks for, only the brackets and quotes have to match.
class EventParser {
 public:
  EventParser();
  ~EventParser();
  EventParser(const EventParser&) = delete;
  EventParser& operator=(const EventParser&) = delete;

  // Adds the one event that the text is. Returns what is wrong with it, or null.
  const char* parse_one(std::string_view json, EventBatch& batch);

  // Adds the events of {…},{…}, and returns how many bytes they are, the comma after each included: fewer
  // than the text has where something is wrong, or the last one has no comma.
  std::size_t parse_many(std::string_view json, EventBatch& batch);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pel::doctor
