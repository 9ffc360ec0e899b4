// Inputs that are made at the first call, so that a process pays only for the cases it runs.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace bench {

template <class Make>
class Lazy {
 public:
  explicit Lazy(Make make) : state_(std::make_shared<State>(State{std::move(make), std::nullopt})) {}
  const auto& operator()() const {
    if (!state_->value) state_->value.emplace(state_->make());
    return *state_->value;
  }

 private:
  struct State {
    Make make;
    std::optional<std::invoke_result_t<Make>> value;
  };
  std::shared_ptr<State> state_;
};

}  // namespace bench
