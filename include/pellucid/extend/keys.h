// Dispatch keys: the layers a call passes, highest first.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <string_view>

#include "pellucid/api.h"

namespace pel {

// A tensor carries some of them, a thread or the process adds or masks others. A call goes to the handler of
// its highest key, which does its part and redispatches to the next.
enum class Key : std::uint8_t {
  Backend = 0,
  Capture = 1,
  Batch = 2,
  Autograd = 3,
  Autocast = 4,
  Profile = 5
};
inline constexpr int kKeyCount = 6;
PEL_API std::string_view name(Key key);

class KeySet {
 public:
  constexpr KeySet() = default;
  constexpr explicit KeySet(std::uint16_t bits) : bits_(bits) {}
  constexpr KeySet(Key key) : bits_(static_cast<std::uint16_t>(1u << static_cast<int>(key))) {}
  constexpr std::uint16_t bits() const { return bits_; }
  constexpr bool contains(Key key) const { return bits_ & KeySet(key).bits_; }
  constexpr KeySet without(KeySet other) const {
    return KeySet(static_cast<std::uint16_t>(bits_ & ~other.bits_));
  }
  constexpr friend KeySet operator|(KeySet a, KeySet b) {
    return KeySet(static_cast<std::uint16_t>(a.bits_ | b.bits_));
  }
  constexpr bool operator==(const KeySet&) const = default;

 private:
  std::uint16_t bits_ = 0;
};

namespace detail {

// Bits above the keys force the slow path: the runtime is not wired yet, calls are logged, an argument is
// undefined.
inline constexpr std::uint16_t kNotWired = 1u << 15, kLogged = 1u << 14, kUndefined = 1u << 13;
// A profile wants each layer that a call passes.
inline constexpr std::uint16_t kLayered = 1u << 12;
inline constexpr std::uint16_t kSlow = kNotWired | kLogged | kUndefined | kLayered;
// An argument is on an asynchronous device: the line of the call is noted, for waits and late errors. A bit
// that tensors carry, so that calls on the CPU do not test for it.
inline constexpr std::uint16_t kOnDevice = 1u << 11;

struct ThreadKeys {
  std::uint16_t included = 0, excluded = 0;
};
extern PEL_API constinit thread_local ThreadKeys thread_keys __attribute__((tls_model("initial-exec")));
extern PEL_API constinit std::atomic<std::uint16_t> process_keys;

inline KeySet active_keys(std::uint16_t tensor_keys) {
  const unsigned on = tensor_keys | thread_keys.included | process_keys.load(std::memory_order_acquire);
  return KeySet(static_cast<std::uint16_t>(on & ~static_cast<unsigned>(thread_keys.excluded)));
}

// Whether calls on this thread are put on the call stack (src/base/call_stack.h): a function is captured, or
// calls are logged.
inline bool keeps_call_stack() {
  constexpr unsigned kKept = KeySet(Key::Capture).bits() | kLogged;
  return (active_keys(0).bits() & kKept) != 0;
}

}  // namespace detail

namespace detail {

// A call with an argument on an asynchronous device: its line is that of the launches and waits inside,
// unless there is an outer call. Defined in src/profile/op_span.cc.
class PEL_API DeviceCall {
 public:
  explicit DeviceCall(const Site& site);
  ~DeviceCall();
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

 private:
  bool sets_site_;
};

}  // namespace detail

// Adds or masks keys for this thread while in scope.
class KeyScope {
 public:
  explicit KeyScope(KeySet include, KeySet exclude = {}) : saved_(detail::thread_keys) {
    auto& keys = detail::thread_keys;
    keys.included = (KeySet(keys.included) | include).bits();
    keys.excluded = (KeySet(keys.excluded) | exclude).bits();
  }
  ~KeyScope() { detail::thread_keys = saved_; }
  KeyScope(const KeyScope&) = delete;
  KeyScope& operator=(const KeyScope&) = delete;

 private:
  detail::ThreadKeys saved_;
};

}  // namespace pel
