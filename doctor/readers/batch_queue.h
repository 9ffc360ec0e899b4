// Batches on their way from the thread that reads to the one that visits. Both parse: the one that would wait
// takes one that nobody has parsed yet.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "doctor/readers/event_batch.h"
#include "doctor/readers/parse_events.h"

namespace pel::doctor {

using BatchPointer = std::unique_ptr<EventBatch>;

class BatchQueue {
 public:
  explicit BatchQueue(int batches);

  // The reader's. Puts one after the others and takes one that is free; null: nobody wants more.
  BatchPointer exchange(BatchPointer batch);
  void parse_all();  // of those that were put
  // From the first thing on that parsing did not take to the end of all that was put; that is no longer on
  // its way then. Nothing: so far all is right.
  struct Broken {
    std::uint64_t offset = 0;  // in the document
    std::string text;
    std::size_t doubtful_bytes = 0;  // of the text, up to where its batch ended
  };
  std::optional<Broken> take_back();

  // The visitor's. The next one, parsed; null: closed, and all are taken.
  BatchPointer take();
  void give(BatchPointer batch);

  void close();  // either side may

 private:
  enum class State : std::uint8_t { Unparsed, IsBeingParsed, Parsed, Broken };
  struct Slot {
    BatchPointer batch;
    State state = State::Unparsed;
    std::exception_ptr error{};
  };
  bool parse_next(std::unique_lock<std::mutex>& lock, EventParser& parser);  // false: none waits for it
  bool is_any(State state) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot> slots_;  // in the order of the document
  std::vector<BatchPointer> free_;
  const std::size_t max_free_;
  bool is_closed_ = false;
  EventParser readers_parser_, visitors_parser_;
};

}  // namespace pel::doctor
