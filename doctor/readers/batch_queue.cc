#include "doctor/readers/batch_queue.h"

#include <algorithm>

namespace pel::doctor {

BatchQueue::BatchQueue(int batches) : max_free_(static_cast<std::size_t>(batches)) {
  for (int i = 0; i < batches; ++i) free_.push_back(std::make_unique<EventBatch>());
}

bool BatchQueue::is_any(State state) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.state == state; });
}

bool BatchQueue::parse_next(std::unique_lock<std::mutex>& lock, EventParser& parser) {
  const auto slot = std::find_if(slots_.begin(), slots_.end(), [](const Slot& each) {
    return each.state == State::Unparsed || each.state == State::Broken;
  });
  if (slot == slots_.end() || slot->state == State::Broken) return false;  // what is after is read again
  Slot& mine = *slot;  // stays where it is, whatever is put after and taken before
  EventBatch& batch = *mine.batch;
  mine.state = State::IsBeingParsed;
  lock.unlock();
  std::exception_ptr error;
  try {
    batch.left.begin += parser.parse_many(batch.left_text(), batch);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  mine.error = error;
  mine.state = error || batch.left_text().empty() ? State::Parsed : State::Broken;
  changed_.notify_all();
  return true;
}

BatchPointer BatchQueue::exchange(BatchPointer batch) {
  std::unique_lock lock(mutex_);
  const State state = batch->left_text().empty() ? State::Parsed : State::Unparsed;
  slots_.push_back({std::move(batch), state});
  changed_.notify_all();
  while (!is_closed_) {
    if (!free_.empty()) {
      BatchPointer next = std::move(free_.back());
      free_.pop_back();
      return next;
    }
    if (is_any(State::Broken)) return std::make_unique<EventBatch>();  // take_back() frees others
    if (!parse_next(lock, readers_parser_)) changed_.wait(lock);
  }
  return nullptr;
}

void BatchQueue::parse_all() {
  std::unique_lock lock(mutex_);
  while (!is_closed_ && (is_any(State::Unparsed) || is_any(State::IsBeingParsed))) {
    if (is_any(State::Broken)) return;
    if (!parse_next(lock, readers_parser_)) changed_.wait(lock);
  }
}

std::optional<BatchQueue::Broken> BatchQueue::take_back() {
  std::unique_lock lock(mutex_);
  if (!is_any(State::Broken)) return std::nullopt;
  changed_.wait(lock, [this] { return !is_any(State::IsBeingParsed); });
  const auto first = std::find_if(slots_.begin(), slots_.end(),
                                  [](const Slot& slot) { return slot.state == State::Broken; });
  const EventBatch& batch = *first->batch;
  const std::string_view left = batch.left_text();
  Broken broken{batch.offset + batch.left.begin, std::string(left), left.size()};
  first->state = State::Parsed;  // as far as it goes
  for (auto slot = first + 1; slot != slots_.end(); ++slot) {
    broken.text += slot->batch->text().substr(0, slot->batch->left.end);
    free_.push_back(std::move(slot->batch));
  }
  slots_.erase(first + 1, slots_.end());
  changed_.notify_all();
  return broken;
}

BatchPointer BatchQueue::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (slots_.empty()) {
      if (is_closed_) return nullptr;
    } else if (slots_.front().state == State::Parsed ||
               (slots_.front().state == State::Broken && is_closed_)) {
      Slot slot = std::move(slots_.front());
      slots_.pop_front();
      if (slot.error) std::rethrow_exception(slot.error);
      return std::move(slot.batch);
    }
    if (!parse_next(lock, visitors_parser_)) changed_.wait(lock);
  }
}

void BatchQueue::give(BatchPointer batch) {
  const std::lock_guard lock(mutex_);
  if (free_.size() < max_free_) free_.push_back(std::move(batch));
  changed_.notify_all();
}

void BatchQueue::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

}  // namespace pel::doctor
