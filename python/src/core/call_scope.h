// What a call from Python needs around it: the user's line if someone records it, and the interpreter's lock
// released while kernels run.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>
#include <pellucid/device.h>
#include <pellucid/extend/keys.h>
#include <pellucid/extend/op.h>

#include "core/errors.h"

namespace pel::python {

// Calls on less data than this keep the interpreter's lock. To release it and take it again costs at most 5%
// of a kernel of this size; two threads run 1.0 times as many calls of neg as one at 66 KiB, 1.4 at 120
// KiB, 1.6 at 250 KiB and 1.95 at 1 MiB.
inline constexpr std::int64_t kMinBytesToUnlock = 1 << 16;

// Of the memory that the tensor is a view of: one load, where the number of elements is a loop over the axes.
inline std::int64_t storage_bytes(const Tensor& t) { return t.header()->storage->size_bytes; }

// Whether no profile, capture, cast or gradient sees a call on this tensor, no device defers it, and it is
// too small to unlock.
inline bool is_plain_call(const Tensor& t) {
  return detail::active_keys(detail::keys_of(t)).bits() <= KeySet(Key::Backend).bits() &&
         !is_asynchronous(t.device()) && storage_bytes(t) < kMinBytesToUnlock;
}

// The user's line if keys of the tensor or the thread record calls, or if a device runs them later, when an
// error or a wait needs the line; otherwise nobody reads it, because errors look for the line themselves.
inline Site user_site_if_recorded(KeySet active, Device device) {
  return active.bits() <= KeySet(Key::Backend).bits() && !is_asynchronous(device) ? Site{} : user_site();
}
inline Site user_site_if_recorded(const Tensor& t) {
  return user_site_if_recorded(detail::active_keys(detail::keys_of(t)), t.device());
}

// Releases the interpreter's lock in its scope, if asked to.
class UnlockScope {
 public:
  explicit UnlockScope(bool unlocks) : state_(unlocks ? PyEval_SaveThread() : nullptr) {}
  ~UnlockScope() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  UnlockScope(const UnlockScope&) = delete;
  UnlockScope& operator=(const UnlockScope&) = delete;

 private:
  friend class LockScope;
  PyThreadState* state_;
};

// Takes the lock again, inside of a scope that has released it.
class LockScope {
 public:
  explicit LockScope(UnlockScope& released) : released_(released) { PyEval_RestoreThread(released_.state_); }
  ~LockScope() { released_.state_ = PyEval_SaveThread(); }
  LockScope(const LockScope&) = delete;
  LockScope& operator=(const LockScope&) = delete;

 private:
  UnlockScope& released_;
};

}  // namespace pel::python
