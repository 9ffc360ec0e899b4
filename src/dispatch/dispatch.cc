// The boxed path: a call visits its keys from the highest down.
#include <algorithm>
#include <bit>
#include <optional>

#include "pellucid/extend/op.h"

#include "base/check.h"
#include "dispatch/call_log.h"
#include "dispatch/record.h"
#include "dispatch/registry.h"
#include "profile/recorder.h"
#include "tensor/make.h"

namespace pel {
namespace {

// A composite op is differentiated, cast, batched and captured through the ops it calls; only a handler made
// for it changes that. The profiler still sees it.
constexpr KeySet kThroughParts = KeySet(Key::Autocast) | Key::Autograd | Key::Batch | Key::Capture;

std::uint16_t keys_of(const Value& arg) {
  if (const Tensor* t = std::get_if<Tensor>(&arg)) return detail::keys_of(*t);
  if (const auto* list = std::get_if<std::vector<Tensor>>(&arg))
    return detail::keys_of(ArrayView<Tensor>(*list));
  return 0;
}

std::uint16_t keys_of_args(const std::vector<Value>& args) {
  unsigned keys = 0;
  for (const Value& arg : args) keys |= keys_of(arg);
  return static_cast<std::uint16_t>(keys);
}

[[noreturn]] void throw_undefined(const Op& op, const BoxedCall& call) {
  std::string names;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (keys_of(call.args[i]) & detail::kUndefined)
      names += (names.empty() ? "" : ", ") + op.record().schema.args[i].name;
  }
  throw ValueError(fmt::format("argument {} is an undefined tensor", names));
}

}  // namespace

void BoxedCall::redispatch(const Op& op) {
  while (keys.bits() > KeySet(Key::Backend).bits()) {
    const auto key = static_cast<Key>(std::bit_width(keys.bits()) - 1);
    keys = keys.without(key);
    Handler handler = Registry::handler(op, key);
    const bool has_rule = (key == Key::Autograd && op.gradient() != nullptr) ||
                          (key == Key::Autocast && op.cast_rule() != CastRule::None) ||
                          (key == Key::Capture && op.is_one_call());
    const bool through_parts = op.kind() == OpKind::Composite && kThroughParts.contains(key) && !has_rule;
    if (!handler && !through_parts) handler = Registry::fallback(key);
    if (handler) {
      visited = visited | key;
      if (key == Key::Profile) return handler(op, *this);
      const profile::LayerSpan layer(key);
      return handler(op, *this);
    }
  }
  visited = visited | Key::Backend;
  const profile::LayerSpan layer(Key::Backend);
  op.body_(op, *this);
}

void detail::dispatch(const Op& op, BoxedCall& call) {
  if (call.keys.bits() & kNotWired) {
    wire_runtime();
    call.keys = active_keys(keys_of_args(call.args));
  }
  if (call.keys.bits() & kUndefined) throw_undefined(op, call);
  std::optional<DeviceCall> on_device;
  if ((call.keys.bits() & kOnDevice) != 0 || op.communicates()) {
    on_device.emplace(call.site);
    call.keys = call.keys.without(KeySet(kOnDevice));
  }
  call.keys = call.keys.without(KeySet(kLayered));
  const CallScope scope({CallFrame::Kind::Call, op.name(), call.site, &op, &call});
  std::optional<CallLog> log;
  if (call.keys.bits() & kLogged) {
    call.keys = call.keys.without(KeySet(kLogged));
    log.emplace(op, call);
  }
  call.redispatch(op);
}

std::vector<Value> call_boxed(const Op& op, std::vector<Value> args, Site site) {
  BoxedCall call{site, KeySet(detail::kNotWired), {}, std::move(args), {}};
  try {
    const auto& wanted = op.record().schema.args;
    PEL_CHECK(call.args.size() <= wanted.size(), ValueError, "got {} arguments; {} takes {}",
              call.args.size(), op.schema(), wanted.size());
    for (std::size_t i = call.args.size(); i < wanted.size(); ++i) {
      PEL_CHECK(wanted[i].default_value.has_value(), ValueError, "argument {} is missing: {}", wanted[i].name,
                op.schema());
      call.args.push_back(*wanted[i].default_value);
    }
    detail::dispatch(op, call);
  } catch (Error& error) {
    error.leave_call(op.name(), site);
    throw;
  }
  return std::move(call.results);
}

void bump_version(const Tensor& written) {
  // Atomic: threads may write to different rows of one storage at the same time.
  written.header()->storage->version.fetch_add(1, std::memory_order_relaxed);
}

void detail::throw_wrong_value(const Value& value, ArgType wanted) {
  throw ValueError(
      fmt::format("expected an argument of type {}, got {}", to_string(wanted), to_string(value)));
}

void detail::throw_wrong_length(std::size_t length, std::size_t wanted) {
  throw ValueError(fmt::format("a list of {} numbers is expected, not of {}", wanted, length));
}

std::size_t detail::index_of_spelling(std::string_view given, std::string_view argument,
                                      ArrayView<std::string_view> spellings) {
  const auto* const found = std::find(spellings.begin(), spellings.end(), given);
  if (found != spellings.end()) return static_cast<std::size_t>(found - spellings.begin());
  std::string allowed;
  for (std::size_t i = 0; i < spellings.size(); ++i)
    allowed += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 < spellings.size() ? ", " : " or ", spellings[i]);
  throw ValueError(fmt::format("{} is {}, not \"{}\"", argument, allowed, given));
}

std::string to_string(const Value& value) {
  struct Text {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(const Tensor& t) const { return describe(t); }
    std::string operator()(const std::vector<Tensor>& list) const {
      std::string text = "[";
      for (const Tensor& t : list) text += (text.size() > 1 ? ", " : "") + describe(t);
      return text + "]";
    }
    std::string operator()(Dim d) const { return pel::to_string(d); }
    std::string operator()(double v) const { return pel::to_string(Scalar(v)); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const Scalar& s) const { return pel::to_string(s); }
    std::string operator()(DType d) const { return std::string(name(d)); }
    std::string operator()(Device d) const { return pel::to_string(d); }
    std::string operator()(const std::vector<Dim>& dims) const { return pel::to_string(Dims(dims)); }
    std::string operator()(const std::string& s) const { return '"' + s + '"'; }
  };
  return std::visit(Text(), value);
}

}  // namespace pel
