// What was decided about a graph, and why: every pass writes down what it did.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/call_stack.h"

namespace pel::compiler {

struct Decision {
  std::string pass, what, reason;
  UserCall site{};  // the call that it is about
  // Refused: two calls that could have been one kernel are not.
  enum class Kind : bool { Done, Refused } kind = Kind::Done;
};

struct Explanation {
  std::vector<Decision> decisions;

  // One line a decision: "remove_dead_code: %5 = mul: nothing reads it  # model.cc:12".
  std::string text() const;
};

}  // namespace pel::compiler
