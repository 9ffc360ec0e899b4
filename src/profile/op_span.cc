// The span of an op: a record of the call, from its begin to its end.
#include <utility>

#include "pellucid/extend/op.h"

#include "profile/recorder.h"

namespace pel {

using profile::thread_state;

namespace detail {

OpSpan::OpSpan(const Op& op, const Site& site, ArrayView<ArgRef> args, KeySet keys) : op_(op), args_(args) {
  const profile::Settings now = profile::settings();
  session_ = now.session();
  if (session_ == 0) return;  // it has ended meanwhile
  profile::ThreadState& state = thread_state;
  outer_ = state.op_span;
  state.op_span = this;
  id_ = ++state.last_id;
  // Calls inside a composite op are at lines of the library: the user's line is that of the outermost call.
  sets_site_ = state.site.line() == 0;
  if (sets_site_) state.site = site;
  state.refusal_count = 0;
  state.kernel_end = 0;
  ++state.watchers;
  // Where layers are recorded, their records follow that of the kernel.
  ends_with_kernel_ = keys.bits() <= KeySet(Key::Backend).bits() && op.kind() == OpKind::Kernel &&
                      !now.wants(profile::Settings::kLayers);
  profile::OpenSpan span;
  span.start(now);
  begin_ = span.begin;
}

OpSpan::~OpSpan() {
  if (session_ == 0) return;
  profile::ThreadState& state = thread_state;
  profile::OpenSpan span{session_, begin_};
  --state.watchers;
  const bool is_on = span.finish();
  if (std::uint64_t* const waiting = std::exchange(state.pending, nullptr); waiting != nullptr) {
    if (is_on && state.session == session_) profile::commit(waiting);
  } else if (is_on) {
    write(ends_with_kernel_ && state.kernel_end != 0 ? state.kernel_end : profile::ticks());
  }
  state.op_span = outer_;
  if (sets_site_) state.site = Site();
}

void OpSpan::write(std::uint64_t end) const {
  std::uint64_t* const to = profile::take(session_);
  if (to == nullptr) return;
  std::uint64_t* next = to + profile::kWordsOf<profile::SpanRecord>;
  std::uint8_t shapes = 0;
  if (profile::settings().wants(profile::Settings::kShapes)) {
    for (const ArgRef& arg : args_) {
      for (const Tensor& t : arg.tensors) {
        if (!t.defined()) continue;
        static_assert(sizeof(Dim) == sizeof(std::int64_t));  // plain Dims are int64 in memory
        const TensorHeader& header = *t.header();
        const auto rank = static_cast<std::size_t>(header.rank);
        if (!profile::shape_fits(to, next, shapes, rank)) break;
        next = profile::write_shape(next, static_cast<std::uint8_t>(header.dtype), header.is_row_major, rank,
                                    reinterpret_cast<const std::int64_t*>(header.sizes()),
                                    reinterpret_cast<const std::int64_t*>(header.strides()));
        ++shapes;
      }
    }
  }
  const profile::ThreadState& state = thread_state;
  auto& record = profile::new_record<profile::SpanRecord>(to, next, ProfileEvent::Kind::Op);
  record.header.shapes = shapes;
  record.header.flags =
      static_cast<std::uint8_t>((op_.kind() == OpKind::Sync ? profile::kSync : 0) |
                                (op_.kind() == OpKind::Composite ? profile::kComposite : 0) |
                                (is_outermost() ? profile::kOutermost : 0));
  record.begin = begin_;
  record.end = end;
  record.name = op_.name().data();
  record.site = state.site;
  record.id = id_;
  record.sequence = sequence_;
  profile::commit(next);
}

DeviceCall::DeviceCall(const Site& site) : sets_site_(thread_state.site.line() == 0) {
  if (sets_site_) thread_state.site = site;
}
DeviceCall::~DeviceCall() {
  if (sets_site_) thread_state.site = Site();
}

void note_sequence(std::uint64_t sequence) {
  if (thread_state.op_span != nullptr) thread_state.op_span->sequence_ = sequence;
}

}  // namespace detail

}  // namespace pel
