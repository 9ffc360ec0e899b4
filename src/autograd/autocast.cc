// The Autocast key: arguments in the dtype that an op's record asks for.
#include <unordered_map>

#include "pellucid/autograd.h"
#include "pellucid/extend/op.h"
#include "pellucid/ops.h"

#include "autograd/leaf_watch.h"
#include "autograd/register.h"
#include "base/check.h"
#include "base/thread_object.h"
#include "dispatch/registry.h"

namespace pel {
namespace {

struct Cast {
  Tensor from, to;
  std::uint32_t version;
};
struct ThreadCasts {
  DType lower = kBF16;
  int depth = 0;
  std::unordered_map<const detail::TensorHeader*, Cast> leaves;  // until the outermost scope ends
};
ThreadCasts& casts() { return thread_object<ThreadCasts>(); }

Tensor cast(const Tensor& t, DType dtype) {
  if (!t.requires_grad() || !t.is_leaf() || !is_grad_enabled()) return to(t, dtype);
  Cast& cached = casts().leaves[t.header()];
  if (!cached.to.defined() || cached.to.dtype() != dtype || cached.version != t.version())
    cached = {t, to(t, dtype), t.version()};
  return cached.to;
}

void handle(const Op& op, BoxedCall& call) {
  const CastRule rule = op.cast_rule();
  const KeyScope below({}, Key::Autocast);
  const auto wants = [&](const Tensor& t) {
    if (!t.defined()) return false;
    return rule == CastRule::Lower ? t.dtype() == kF32 : t.dtype() == kF16 || t.dtype() == kBF16;
  };
  const DType dtype = rule == CastRule::Lower ? casts().lower : kF32;
  for (std::size_t i = 0; i < call.args.size() && rule != CastRule::None; ++i) {
    if (auto* t = std::get_if<Tensor>(&call.args[i])) {
      if (wants(*t)) call.args[i] = cast(*t, dtype);
    } else if (auto* list = std::get_if<std::vector<Tensor>>(&call.args[i])) {
      for (Tensor& each : *list) {
        if (wants(each)) each = cast(each, dtype);
      }
    }
  }
  call.redispatch(op);
}

}  // namespace

std::optional<DType> autocast_dtype() {
  return detail::active_keys(0).contains(Key::Autocast) ? std::optional(casts().lower) : std::nullopt;
}

Autocast::Autocast(DType lower, Site site) : scope_(Key::Autocast), saved_(casts().lower) {
  as_call("Autocast", site, [&] {
    PEL_CHECK(lower == kBF16 || lower == kF16, DTypeError, "expected bf16 or f16 as the lower dtype, got {}",
              name(lower));
  });
  casts().lower = lower;
  ++casts().depth;
}
Autocast::~Autocast() {
  casts().lower = saved_;
  if (--casts().depth == 0) casts().leaves.clear();
}

struct autograd::SeparateCasts::Saved {
  std::unordered_map<const detail::TensorHeader*, Cast> leaves;
};
autograd::SeparateCasts::SeparateCasts() : saved_(std::make_unique<Saved>()) {
  saved_->leaves.swap(casts().leaves);
}
autograd::SeparateCasts::~SeparateCasts() { saved_->leaves.swap(casts().leaves); }

void autograd::register_autocast() { Registry::set_fallback(Key::Autocast, handle); }

}  // namespace pel
