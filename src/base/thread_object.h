// One object of a type for each thread, on the heap.
//
// A library that another program loads at run time gets its thread_local variables from a small reserve that
// glibc has for all such libraries: 1,536 bytes, at most 512 of them for this one. Caches and scratch of a
// thread are thread objects, which need 16 bytes of it together. A thread_local variable of their own is only
// for state that each call reads.
#pragma once

#include <atomic>

namespace pel {
namespace detail {

inline constexpr int kThreadSlots = 32;
// Of this thread, by slot; null where the thread has no object yet. Slot 0 is always null.
extern constinit thread_local void** thread_objects;

using MakeThreadObject = void* (*)();
using DeleteThreadObject = void (*)(void*);
void* make_thread_object(std::atomic<int>& slot, MakeThreadObject make, DeleteThreadObject destroy);

template <class T>
inline constinit std::atomic<int> thread_slot{0};  // 0: no thread has an object yet

}  // namespace detail

// Returns the T of this thread. It is made by the first call and deleted when the thread ends.
template <class T>
T& thread_object() {
  void* object = detail::thread_objects[detail::thread_slot<T>.load(std::memory_order_acquire)];
  if (object == nullptr) [[unlikely]] {
    object = detail::make_thread_object(
        detail::thread_slot<T>, [] { return static_cast<void*>(new T()); },
        [](void* made) { delete static_cast<T*>(made); });
  }
  return *static_cast<T*>(object);
}

}  // namespace pel
