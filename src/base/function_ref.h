// A callable passed down a call: two words, no allocation, nothing owned.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace pel {

template <class Signature>
class FunctionRef;

// Must not outlive what it refers to. As a parameter it may take a temporary lambda.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
             std::is_object_v<std::remove_reference_t<F>> && std::is_invocable_r_v<R, F&, Args...>)
  FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return static_cast<R>(
              (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...));
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace pel
