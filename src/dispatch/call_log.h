// PELLUCID_LOG=dispatch: one line per call with op, arguments, keys visited, kernel, refusals and call site.
#pragma once

#include <string>
#include <vector>

#include "pellucid/extend/op.h"

namespace pel {

class CallLog;
extern constinit thread_local CallLog* innermost_log __attribute__((tls_model("initial-exec")));

// Collects what happens below one call. The outermost prints it all when it ends, callers before callees.
class CallLog {
 public:
  explicit CallLog(const Op& op, const BoxedCall& call);
  ~CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  // For launch: says which kernel ran and which refused. Nothing happens when no call is logged or profiled
  // on this thread.
  [[gnu::always_inline]] static void kernel(const Kernel& kernel, const KernelArgs& args) {
    if (innermost_log != nullptr) [[unlikely]]
      innermost_log->add(kernel, args);
  }
  static void refusal(const char* name, const char* reason);

 private:
  void add(const Kernel& kernel, const KernelArgs& args);

  const Op& op_;
  const BoxedCall& call_;
  std::string args_;
  std::string kernels_;
  std::vector<std::string> lines_;  // of this call first, then of the calls inside
  CallLog* outer_;
  int depth_;
  int uncaught_;
};

}  // namespace pel
