#include "base/call_stack.h"

#include <fmt/format.h>

#include "base/source_location.h"
#include "base/thread_object.h"

namespace pel {
namespace {

using Frames = std::vector<CallFrame>;

}  // namespace

const std::vector<CallFrame>& call_stack() { return thread_object<Frames>(); }
void CallScope::push(const CallFrame& frame) { thread_object<Frames>().push_back(frame); }
void CallScope::pop() { thread_object<Frames>().pop_back(); }

const Site& user_site(const Site& site) {
  for (const CallFrame& frame : call_stack())
    if (frame.kind == CallFrame::Kind::Call && frame.site.line() != 0) return frame.site;
  return site;
}

UserCall innermost_user_call(const Site& site) {
  UserCall call{user_site(site)};
  for (const CallFrame& frame : call_stack()) {
    switch (frame.kind) {
      case CallFrame::Kind::Call:
        call.path += fmt::format("{}{}", call.path.empty() ? "" : " > ", frame.name);
        break;
      case CallFrame::Kind::Module:
        if (!frame.name.empty()) call.within = fmt::format("in {}", frame.name);
        break;
      case CallFrame::Kind::Backward:
        call.within = fmt::format("gradient of {}", frame.name);
        if (frame.site.line() != 0) call.within += " at " + short_location(frame.site);
        break;
    }
  }
  return call;
}

std::string UserCall::text() const {
  if (site.line() == 0) return "";
  std::string text = short_location(site);
  if (path.find(" > ") != std::string::npos) text += ' ' + path;
  if (!within.empty()) text += ", " + within;
  return text;
}

}  // namespace pel
