#include "doctor/prescriptions/patient.h"

#include <algorithm>
#include <set>

#include "base/sort_stably.h"
#include "doctor/prescriptions/limits.h"

namespace pel::doctor {
namespace {

// Frames that are not the user's: of libraries, of modules and of functions that are not Python.
bool has_any(std::string_view frame, std::span<const std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return frame.find(part) != std::string_view::npos; });
}
bool is_of_torch(std::string_view frame) {
  static constexpr std::string_view kParts[] = {"torch/",     "torchinductor", "triton/",
                                                "lib/python", "<frozen ",      "<string>"};
  return frame.find(".py(") == std::string_view::npos || has_any(frame, kParts);
}
bool is_of_library(std::string_view frame) {
  static constexpr std::string_view kParts[] = {"site-packages/", "dist-packages/", "transformers/",
                                                "accelerate/",    "lightning/",     "diffusers/"};
  return is_of_torch(frame) || has_any(frame, kParts);
}

// The file with the folder that it is in.
std::string shortened(std::string_view frame) {
  const std::size_t end = frame.find(".py(");
  std::size_t slash = frame.rfind('/', end);
  if (slash != std::string_view::npos && slash != 0) slash = frame.rfind('/', slash - 1);
  return std::string(slash == std::string_view::npos ? frame : frame.substr(slash + 1));
}

}  // namespace

Patient::Patient(const Examined& examined)
    : examined_(examined), claimed_(examined.model.activities().size()) {
  const Model& model = examined.model;
  if (!has_device()) {
    find_host();
    return;
  }
  total_ns_ = examined.time.all().total();
  std::set<std::uint32_t> active;
  for (const Activity& activity : model.activities()) {
    if (activity.step != kNoStep) active.insert(activity.step);
  }
  if (model.has_marked_steps() && !active.empty()) steps_ = static_cast<std::int64_t>(active.size());
  if (model.events().size() > kMaxSpansToReplay ||
      model.activities().size() == model.activities_without_launch())
    return;
  replay_ = replay_of(examined);
  if (!replay_->refusal().empty()) {
    replay_ = nullptr;
    return;
  }
  const ReplayGraph& graph = replay_->graph();
  calls_.assign(model.events().size(), kNoCall);
  row_calls_.resize(model.events().rows.size());
  for (std::size_t i = 0; i < graph.calls(); ++i) {
    calls_[graph.call(i)] = static_cast<std::uint32_t>(i);
    row_calls_[model.events().row(graph.call(i))].push_back(static_cast<std::uint32_t>(i));
  }
  find_pauses();
}

void Patient::find_pauses() {
  const ReplayGraph& graph = replay_->graph();
  for (std::size_t i = 0; i < graph.calls(); ++i) {
    for (const Edge& edge : graph.into(graph.call_begin(i))) {
      if ((edge.kind != EdgeKind::Thread && edge.kind != EdgeKind::HandOver) ||
          edge.delay_ns - edge.loading_ns <= kLongestDispatchNs)
        continue;
      const EventId call = graph.call(i);
      const std::int64_t end_ns = events().begin_ns(call),
                         begin_ns = end_ns - (edge.delay_ns - edge.loading_ns);
      // In one op from beginning to end, or nearly so.
      const EventId op = model().op_of(call);
      const bool is_in_op = op != kNoEvent && end_ns - events().begin_ns(op) > (end_ns - begin_ns) / 2;
      pauses_.push_back({call, begin_ns, end_ns, is_in_op ? op : kNoEvent});
    }
  }
}

void Patient::launch_at_once(Change& change) const {
  if (replay_ == nullptr) return;
  const ReplayGraph& graph = replay_->graph();
  if (change.call_scale.empty()) change.call_scale.assign(graph.calls(), 1);
  for (std::size_t i = 0; i < graph.calls(); ++i) {
    if (events().duration_ns(graph.call(i)) <= kLongestDispatchNs || examined_.time.is_wait(graph.call(i)))
      change.call_scale[i] = 0;
  }
  for (const Pause& pause : pauses_) change.call_scale[call_of(pause.call)] = 1;
}

void Patient::find_host() {
  const Model& model = examined_.model;
  const EventTable& events = model.events();
  SaturatingSum most;
  for (const RowId row : model.host_rows()) {
    SaturatingSum in_ops;
    std::vector<EventId> ops;
    std::vector<std::size_t> inside;
    std::int64_t until = std::numeric_limits<std::int64_t>::min();
    for (const EventId e : model.of_row(row)) {
      if (events.category(e) != Category::CpuOp) continue;
      if (events.begin_ns(e) < until) {
        ++inside.back();
        continue;
      }
      until = events.end_ns(e);
      in_ops += events.duration_ns(e);
      ops.push_back(e);
      inside.push_back(1);
    }
    if (ops.empty() || in_ops <= most) continue;
    most = in_ops;
    host_row_ = row;
    host_ops_ = std::move(ops);
    ops_in_ = std::move(inside);
  }
  if (host_ops_.empty()) return;
  host_begin_ns_ = events.begin_ns(host_ops_.front());
  host_end_ns_ = events.end_ns(host_ops_.back());
  if (model.has_marked_steps()) {  // what a step does before its first op belongs to it
    std::int64_t inside = 0;
    for (const Step& step : model.steps()) {
      if (step.end_ns <= host_begin_ns_ || step.begin_ns >= host_end_ns_) continue;
      host_begin_ns_ = std::min(host_begin_ns_, step.begin_ns);
      host_end_ns_ = std::max(host_end_ns_, step.end_ns);
      ++inside;
    }
    steps_ = std::max<std::int64_t>(1, inside);
  }
  total_ns_ = saturating_sub(host_end_ns_, host_begin_ns_);
  for (const EventId e : model.of_row(host_row_)) span_begins_.push_back(events.begin_ns(e));
}

double Patient::unprofiled_ns(std::int64_t begin_ns, std::int64_t end_ns) const {
  const auto first = std::ranges::lower_bound(span_begins_, begin_ns);
  const auto last = std::lower_bound(first, span_begins_.end(), end_ns);
  const auto ns = static_cast<double>(end_ns - begin_ns);
  return std::max(0.1 * ns, ns - kProfilerNsOfSpan * static_cast<double>(last - first));
}

std::string Patient::line_of(EventId e) const {
  constexpr std::size_t kMaxFrames = 64;
  if (e == kNoEvent) return {};
  const auto innermost = [&](EventId from) {
    std::string of_library;  // of a model that a library has, if it is further in
    for (const std::string& frame : model().stack_of(from, kMaxFrames)) {
      if (!is_of_library(frame))
        return of_library.empty() ? shortened(frame) : shortened(frame) + " > " + of_library;
      if (of_library.empty() && !is_of_torch(frame)) of_library = shortened(frame);
    }
    return of_library;
  };
  if (std::string line = innermost(e); !line.empty()) return line;
  for (EventId around = e; around != kNoEvent; around = model().parent(around)) {
    if (const EventId forward = model().forward_of(around); forward != kNoEvent) return innermost(forward);
  }
  return {};
}

std::string Patient::place_of(EventId launch_or_op) const {
  if (launch_or_op == kNoEvent) return {};
  if (std::string line = line_of(launch_or_op); !line.empty()) return line;
  return model().op_chain(launch_or_op);
}

std::string Patient::place_of_activity(std::uint32_t activity) const {
  return place_of(model().activities()[activity].launch);
}

std::vector<EventId> Patient::spans_named(std::string_view prefix) const {
  std::vector<EventId> spans;
  for (const RowId row : model().host_rows()) {
    for (const EventId e : model().of_row(row)) {
      if (!events().is_call(e) && events().name(e).starts_with(prefix)) spans.push_back(e);
    }
  }
  return spans;
}

std::vector<std::vector<std::uint32_t>> Patient::launched_within(const std::vector<EventId>& spans) const {
  std::vector<std::vector<std::uint32_t>> within(spans.size());
  if (spans.empty()) return within;
  const auto before = [&](EventId a, EventId b) {
    return std::pair(events().row(a), events().begin_ns(a)) <
           std::pair(events().row(b), events().begin_ns(b));
  };
  std::vector<std::uint32_t> order(spans.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  sort_stably(order, [&](std::uint32_t a, std::uint32_t b) { return before(spans[a], spans[b]); });
  const std::span<const Activity> activities = model().activities();
  for (std::uint32_t w = 0; w < activities.size(); ++w) {
    const EventId launch = activities[w].launch;
    if (launch == kNoEvent) continue;
    const auto past = std::upper_bound(order.begin(), order.end(), launch,
                                       [&](EventId e, std::uint32_t i) { return before(e, spans[i]); });
    if (past == order.begin()) continue;
    const std::uint32_t at = *std::prev(past);
    if (events().row(spans[at]) == events().row(launch) &&
        events().end_ns(spans[at]) >= events().end_ns(launch))
      within[at].push_back(w);
  }
  return within;
}

std::uint32_t Patient::call_of(EventId call) const {
  if (calls_.empty()) return kNoCall;
  for (EventId e = call; e != kNoEvent && events().is_call(e); e = model().parent(e)) {
    if (calls_[e] != kNoCall) return calls_[e];
  }
  return kNoCall;
}

void Patient::leave_out(Change& change, std::uint32_t activity) const {
  if (change.without_activity.empty()) change.without_activity.resize(model().activities().size());
  change.without_activity[activity] = true;
  const EventId launch = model().activities()[activity].launch;
  if (launch != kNoEvent && model().launched_by(launch).size() == 1) leave_out_call(change, launch);
}

void Patient::scale(Change& change, std::uint32_t activity, double factor) const {
  if (change.activity_scale.empty()) change.activity_scale.assign(model().activities().size(), 1);
  change.activity_scale[activity] *= static_cast<float>(factor);
}

void Patient::fuse(Change& change, std::span<const std::uint32_t> activities, double ns) const {
  if (activities.empty()) return;
  // In the place of the longest, whose time can carry what is left, if the first has none.
  std::uint32_t kept = activities.front();
  if (duration_ns(kept) == 0)
    kept = *std::ranges::max_element(activities, {}, [&](std::uint32_t w) { return duration_ns(w); });
  if (duration_ns(kept) == 0) return;
  for (const std::uint32_t w : activities) {
    if (w != kept) leave_out(change, w);
  }
  scale(change, kept, ns / static_cast<double>(duration_ns(kept)));
}

void Patient::leave_out_wait(Change& change, EventId call) const {
  const std::uint32_t index = call_of(call);
  if (index == kNoCall) return;
  if (change.without_sync.empty()) change.without_sync.resize(replay_->graph().calls());
  change.without_sync[index] = true;
}

void Patient::leave_out_call(Change& change, EventId call) const {
  const std::uint32_t index = call_of(call);
  if (index == kNoCall) return;
  if (change.call_scale.empty()) change.call_scale.assign(replay_->graph().calls(), 1);
  change.call_scale[index] = 0;
}

void Patient::cut(Prescription& prescription, EventId span) const {
  const std::int64_t begin_ns = events().begin_ns(span), end_ns = events().end_ns(span);
  if (has_device()) {
    cut_host(prescription.change, events().row(span), begin_ns, end_ns);
  } else {
    prescription.cuts.push_back({begin_ns, end_ns, 0});
  }
}

void Patient::cut_host(Change& change, RowId row, std::int64_t begin_ns, std::int64_t end_ns) const {
  if (replay_ == nullptr) return;
  const std::vector<std::uint32_t>& calls = row_calls_[row];
  const auto begin_of = [&](std::uint32_t c) { return events().begin_ns(replay_->graph().call(c)); };
  const auto end_of = [&](std::uint32_t c) { return events().end_ns(replay_->graph().call(c)); };
  if (change.host_cut_ns.empty()) change.host_cut_ns.resize(replay_->graph().calls());
  // From the first call that ends within or after it.
  auto at = std::lower_bound(calls.begin(), calls.end(), begin_ns,
                             [&](std::uint32_t c, std::int64_t t) { return end_of(c) <= t; });
  for (; at != calls.end(); ++at) {
    const std::int64_t last_end = at == calls.begin() ? begin_ns : end_of(*std::prev(at));
    const std::int64_t from = std::max(begin_ns, last_end), to = std::min(end_ns, begin_of(*at));
    if (to > from) change.host_cut_ns[*at] = saturating_add(change.host_cut_ns[*at], to - from);
    if (begin_of(*at) >= end_ns) break;
    if (begin_of(*at) >= begin_ns && end_of(*at) <= end_ns) {
      if (change.call_scale.empty()) change.call_scale.assign(replay_->graph().calls(), 1);
      change.call_scale[*at] = 0;
    }
  }
}

std::string_view Patient::op_name(std::uint32_t activity) const {
  const EventId op = model().op_of_activity(model().activities()[activity]);
  return op == kNoEvent ? std::string_view() : events().name(op);
}

}  // namespace pel::doctor
