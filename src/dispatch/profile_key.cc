// The Profile key: a boxed call gets a span. Typed calls open theirs in op.h.
#include "pellucid/extend/op.h"

#include "dispatch/arguments.h"
#include "dispatch/registry.h"

namespace pel {
namespace {

void handle(const Op& op, BoxedCall& call) {
  const std::vector<detail::ArgRef> refs = arg_refs(call.args);
  const detail::OpSpan span(op, call.site, refs, call.keys);
  call.redispatch(op);
}

}  // namespace

void register_profile() { Registry::set_fallback(Key::Profile, handle); }

}  // namespace pel
