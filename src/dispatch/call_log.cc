#include "dispatch/call_log.h"

#include <exception>

#include <fmt/format.h>

#include "base/call_stack.h"
#include "base/environment.h"
#include "base/source_location.h"
#include "dispatch/record.h"
#include "profile/recorder.h"

namespace pel {
constinit thread_local CallLog* innermost_log = nullptr;

CallLog::CallLog(const Op& op, const BoxedCall& call)
    : op_(op),
      call_(call),
      outer_(innermost_log),
      depth_(outer_ ? outer_->depth_ + 1 : 0),
      uncaught_(std::uncaught_exceptions()) {
  const auto& schema = op.record().schema;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (std::holds_alternative<std::monostate>(call.args[i])) continue;  // left out
    args_ +=
        fmt::format("{}{}={}", args_.empty() ? "" : ", ", schema.args.at(i).name, to_string(call.args[i]));
  }
  innermost_log = this;
}

CallLog::~CallLog() {
  innermost_log = outer_;
  std::string keys;
  for (int k = kKeyCount - 1; k >= 0; --k) {
    if (call_.visited.contains(static_cast<Key>(k)))
      keys += fmt::format("{}{}", keys.empty() ? "" : ">", name(static_cast<Key>(k)));
  }
  std::string what = kernels_;
  if (std::uncaught_exceptions() > uncaught_) {
    what += what.empty() ? "failed" : ", failed";
  } else if (what.empty()) {
    what = op_.kind() == OpKind::Composite  ? "composite"
           : op_.kind() == OpKind::Metadata ? "no kernel: metadata only"
           : op_.kind() == OpKind::Sync     ? "no kernel: reads to the host"
                                            : "no kernel: nothing to write";
  }
  lines_.insert(lines_.begin(), fmt::format("{:{}}{}({}) keys {} -> {}  at {}", "", 2 * depth_, op_.name(),
                                            args_, keys, what, location()));
  if (outer_) {
    outer_->lines_.insert(outer_->lines_.end(), lines_.begin(), lines_.end());
  } else {
    for (const std::string& line : lines_) log_line("dispatch", line);
  }
}

std::string CallLog::location() const {
  const UserCall user = innermost_user_call(call_.site);
  const std::string line = short_location(call_.site), users_line = user.text();
  const bool is_users = line == short_location(user.site);
  return is_users ? users_line : fmt::format("{}, from {}", users_line, line);
}

void CallLog::add(const Kernel& kernel, const KernelArgs& args) {
  kernels_ += fmt::format("{}kernel {}", kernels_.empty() ? "" : ", ",
                          kernel.describe == nullptr ? kernel.name : kernel.describe(args));
}

void CallLog::refusal(const char* name, const char* reason) {
  if (profile::is_watched()) profile::note_refusal(name, reason);
  if (innermost_log) {
    innermost_log->kernels_ +=
        fmt::format("{}{} refused ({})", innermost_log->kernels_.empty() ? "" : ", ", name, reason);
  }
}

}  // namespace pel
