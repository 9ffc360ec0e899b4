// Inputs that are created at the first call, so that a process pays only for the cases it runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
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

// Adds a case on one thread and on two.
template <class Api, class Cases, class Call>
void add_by_threads(Cases& cases, const std::string& name, Call call) {
  for (const int threads : {1, 2}) {
    cases.emplace_back(name + (threads == 1 ? "_1t" : "_2t"), [call, threads] {
      Api::set_threads(threads);
      return call();
    });
  }
}

}  // namespace bench
