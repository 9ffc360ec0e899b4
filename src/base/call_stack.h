// The calls that are under way on a thread, outermost first. Captured graphs, guards and the call log cite
// the user's line by it. It grows at the same calls as the op path of an error (as_call and dispatch), and is
// kept only while a function is captured or calls are logged: otherwise a call costs one test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/extend/keys.h"

namespace pel {

class Op;
struct BoxedCall;

struct CallFrame {
  // Module: a forward call, named by the module's path. Backward: the gradient of the op `name` at `site`.
  enum class Kind : std::uint8_t { Call, Module, Backward };
  Kind kind;
  std::string_view name;
  Site site;
  const Op* op = nullptr;  // of a Call that is an op
  const BoxedCall* call = nullptr;
};

const std::vector<CallFrame>& call_stack();

class CallScope {
 public:
  explicit CallScope(const CallFrame& frame) : is_kept_(detail::keeps_call_stack()) {
    if (is_kept_) [[unlikely]]
      push(frame);
  }
  ~CallScope() {
    if (is_kept_) [[unlikely]]
      pop();
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  static void push(const CallFrame& frame);
  static void pop();

 private:
  bool is_kept_;
};

// A call as its user knows it.
struct UserCall {
  Site site{};         // of the outermost call
  std::string path{};  // from the outermost call to the innermost, as errors have it: "linear > matmul > mm"
  std::string within{};  // "in blocks.0.mlp" or "gradient of gelu at model.cc:12"; may be empty

  // NOLINTNEXTLINE(google-explicit-constructor): where only the line counts
  operator const Site&() const { return site; }
  // "model.cc:12 linear > matmul > mm, in blocks.0.mlp". A path of one call is left out. Empty if the line is
  // not known.
  std::string text() const;
};
// The innermost call on the stack of this thread; `site` is its line if the stack is empty.
UserCall innermost_user_call(const Site& site);
// The line of the outermost call on the stack of this thread, or else `site`.
const Site& user_site(const Site& site);

}  // namespace pel
