// What one thread makes and another takes, in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace pel::doctor {

template <class T>
class HandOver {
 public:
  // False: closed, and nobody will take it.
  bool put(T item) {
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return false;
      items_.push_back(std::move(item));
    }
    changed_.notify_one();
    return true;
  }
  // Waits. Nothing: closed, and all that was put is taken.
  std::optional<T> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }
  // Either side may.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;
  bool is_closed_ = false;
};

}  // namespace pel::doctor
