// How much of the device's peaks a run reaches: FLOPs and bytes of its ops, by the sizes that the trace has.
//
// An op counts once, with its own sizes, if a kernel was launched by it or at most kMaxLevelsUp - 1 levels
// inside it; of ops that enclose each other (linear, addmm) the innermost counts. Kernels for which the
// profiler counted FLOPs itself count with these.
#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/activity_roofs.h"
#include "doctor/model/op_cost.h"
#include "doctor/model/op_traffic.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

struct UsedOp {
  EventId op;  // or a kernel, which has no row here
  RowId row = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t step;
  std::int32_t device;
  OpWork work{};
  SaturatingSum kernel_ns{};  // of all kernels that were launched for it
  bool has_kernel_dtype = false;
};

struct Use {
  SaturatingSum flops, bytes;
  double ideal_ns = 0;   // what the FLOPs take at the peaks of their dtypes
  bool has_peak = true;  // of all of its FLOPs
};

struct DtypeUse {
  std::int64_t ops = 0;
  SaturatingSum flops, ns;
};
struct OpUse {
  std::int64_t calls = 0;
  SaturatingSum flops, bytes, ns;
  double ideal_ns = 0;
  bool has_peak = true;
};

class Utilisation {
 public:
  explicit Utilisation(const Examined& examined)
      : examined_(examined),
        events_(examined.model.events()),
        roofs_(examined.model, examined.kernels),
        steps_(examined.model.steps().size()),
        kinds_(events_.names.size(), kNotLooked),
        has_moved_(events_.size()) {
    for (const Activity& activity : examined.model.activities()) take(activity);
    keep_innermost();
    for (const UsedOp& used : ops_) count(used);
  }

  const Use& all() const { return all_; }
  const std::vector<Use>& steps() const { return steps_; }
  const std::map<std::string_view, OpUse>& by_op() const { return by_op_; }
  const std::map<std::string_view, DtypeUse>& by_dtype() const { return by_dtype_; }
  std::int64_t compute_ns() const { return compute_ns_; }
  std::int64_t unsized_ns() const { return unsized_ns_; }
  std::int64_t activity_ns() const { return activity_ns_; }
  std::int64_t unmoved_ns() const { return unmoved_ns_; }
  const Device* device() { return roofs_.device(examined_.model.active_devices().front()); }
  // Of the slowest active device; 0: one is not in the table.
  double peak_bytes_per_second() {
    double slowest = 0;
    for (const std::int32_t id : examined_.model.active_devices()) {
      const Device* device = roofs_.device(id);
      if (device == nullptr) return 0;
      slowest = slowest == 0 ? device->bytes_per_second() : std::min(slowest, device->bytes_per_second());
    }
    return slowest;
  }

 private:
  static constexpr std::uint8_t kNotLooked = 0xFF;

  WorkKind kind_of(EventId op) {
    std::uint8_t& kind = kinds_[events_.name_id(op)];
    if (kind == kNotLooked) kind = static_cast<std::uint8_t>(work_kind_of(events_.name(op)));
    return static_cast<WorkKind>(kind);
  }
  Use* step_of(std::uint32_t step) { return step < steps_.size() ? &steps_[step] : nullptr; }
  void add_bytes(std::uint32_t step, std::int64_t bytes) {
    all_.bytes += bytes;
    if (Use* use = step_of(step)) use->bytes += bytes;
  }

  // Sizes repeat, so those that were read last are kept.
  struct Cached {
    NameId name = 0, sizes = 0, types = 0, concrete = 0;
    std::optional<OpWork> work{};
  };
  std::optional<OpWork> cached_work(EventId op) {
    const OpShapes* shapes = events_.shapes(op);
    if (shapes == nullptr) return std::nullopt;
    const ConcreteInputs* concrete = events_.concrete_inputs(op);
    const Cached key{events_.name_id(op), shapes->sizes, shapes->types,
                     concrete == nullptr ? 0 : concrete->text};
    Cached& cached = cache_[(key.name * 31 + key.sizes * 7 + key.types + key.concrete) % cache_.size()];
    if (cached.name != key.name || cached.sizes != key.sizes || cached.types != key.types ||
        cached.concrete != key.concrete) {
      cached = key;
      cached.work = work_of(examined_.model, op);
    }
    return cached.work;
  }
  std::optional<OpWork> own_work(EventId op) {
    const CountedWork* counted = events_.counted_work(op);
    std::optional<OpWork> work;
    if (kind_of(op) != WorkKind::None) work = cached_work(op);
    if (counted != nullptr) {
      if (!work) work.emplace();
      work->flops = counted->flops;
      if (counted->bytes >= 0) work->bytes = counted->bytes;
    }
    return work;
  }

  void take(const Activity& activity) {
    const std::int64_t ns = activity.end_ns - activity.begin_ns;
    const Category category = events_.category(activity.event);
    if (category != Category::Kernel) {
      activity_ns_ += ns;
      const std::int64_t bytes = events_.device_args(activity.event)->bytes;
      if (bytes >= 0) {
        add_bytes(activity.step, bytes);
      } else {
        unmoved_ns_ += ns;
      }
      return;
    }
    const KernelFamily family = examined_.kernels.family(activity.event);
    if (family == KernelFamily::Collective) return;
    activity_ns_ += ns;
    const bool computes = uses_tensor_cores(family);
    if (computes) compute_ns_ += ns;
    if (const CountedWork* counted = events_.counted_work(activity.event)) {
      const KernelName& kernel = examined_.kernels.of(activity.event);
      ops_of_kernels_.push_back({.op = activity.event,
                                 .step = activity.step,
                                 .device = activity.device,
                                 .work = {counted->flops, std::max<std::int64_t>(0, counted->bytes),
                                          kernel.a ? std::string_view(*kernel.a) : std::string_view()},
                                 .kernel_ns = ns});
      if (counted->bytes < 0) unmoved_ns_ += ns;
      return;
    }
    const EventId inner = examined_.model.op_of_activity(activity);
    UsedOp* used = used_by(inner, activity);
    if (used != nullptr) {
      used->kernel_ns += ns;
      if (computes && !used->has_kernel_dtype) {
        used->has_kernel_dtype = true;
        const KernelName& kernel = examined_.kernels.of(activity.event);
        if (kernel.a) used->work.dtype = *kernel.a;
      }
    } else if (computes) {
      unsized_ns_ += ns;
    }
    if (used != nullptr || (inner != kNoEvent && has_moved_[inner])) return;  // bytes count with the op
    const std::int64_t bytes = inner == kNoEvent ? -1 : traffic_bytes(inner, family);
    if (bytes >= 0) {
      has_moved_[inner] = true;
      add_bytes(activity.step, bytes);
    } else {
      unmoved_ns_ += ns;
    }
  }

  struct CachedTraffic {
    NameId name = 0, sizes = 0, types = 0, strides = 0;
    KernelFamily family{};
    std::int64_t bytes = -1;
  };
  // -1: not known.
  std::int64_t traffic_bytes(EventId op, KernelFamily family) {
    const OpShapes* shapes = events_.shapes(op);
    if (shapes == nullptr) return -1;
    const CachedTraffic key{events_.name_id(op), shapes->sizes, shapes->types, shapes->strides, family};
    CachedTraffic& cached = traffic_[(key.name * 31 + key.sizes * 7 + key.types) % traffic_.size()];
    if (cached.name != key.name || cached.sizes != key.sizes || cached.types != key.types ||
        cached.strides != key.strides || cached.family != key.family) {
      cached = key;
      cached.bytes = bytes_moved(examined_.model, op, family).value_or(-1);
    }
    return cached.bytes;
  }

  // The op whose sizes say what a kernel of `inner` computes; null: the trace has none.
  UsedOp* used_by(EventId inner, const Activity& activity) {
    EventId op = inner;
    for (int level = 0; op != kNoEvent && level < kMaxLevelsUp; ++level, op = examined_.model.parent(op)) {
      if (events_.category(op) != Category::CpuOp ||
          (kind_of(op) == WorkKind::None && events_.counted_work(op) == nullptr))
        continue;
      if (!ops_.empty() && ops_.back().op == op) return &ops_.back();
      if (const auto at = places_.find(op); at != places_.end()) return &ops_[at->second];
      const std::optional<OpWork> work = own_work(op);
      if (!work) continue;
      places_.emplace(op, ops_.size());
      return &ops_.emplace_back(UsedOp{.op = op,
                                       .row = events_.row(op),
                                       .begin_ns = events_.begin_ns(op),
                                       .end_ns = events_.end_ns(op),
                                       .step = activity.step,
                                       .device = activity.device,
                                       .work = *work});
    }
    return nullptr;
  }

  void keep_innermost() {
    const auto before = [](const UsedOp& a, const UsedOp& b) {
      if (a.row != b.row) return a.row < b.row;
      if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
      return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.op < b.op;
    };
    if (!std::is_sorted(ops_.begin(), ops_.end(), before)) std::sort(ops_.begin(), ops_.end(), before);
    const auto has_inner = [&](std::size_t i) {
      return i + 1 < ops_.size() && ops_[i + 1].row == ops_[i].row && ops_[i + 1].begin_ns < ops_[i].end_ns;
    };
    std::vector<UsedOp> kept;
    kept.reserve(ops_.size() + ops_of_kernels_.size());
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (!has_inner(i)) kept.push_back(ops_[i]);
    }
    kept.insert(kept.end(), ops_of_kernels_.begin(), ops_of_kernels_.end());
    ops_ = std::move(kept);
  }

  void count(const UsedOp& used) {
    const Device* device = roofs_.device(used.device);
    const double peak = device == nullptr ? 0 : device->flops_per_second(used.work.dtype);
    const double ideal_ns = peak == 0 ? 0 : 1e9 * static_cast<double>(used.work.flops) / peak;
    const bool has_peak = peak != 0 || used.work.flops == 0;
    for (Use* use : std::array{&all_, step_of(used.step)}) {
      if (use == nullptr) continue;
      use->flops += used.work.flops;
      use->bytes += used.work.bytes;
      use->ideal_ns += ideal_ns;
      use->has_peak &= has_peak;
    }
    OpUse& op = by_op_[events_.name(used.op)];
    ++op.calls;
    op.flops += used.work.flops;
    op.bytes += used.work.bytes;
    op.ns += used.kernel_ns;
    op.ideal_ns += ideal_ns;
    op.has_peak &= has_peak;
    DtypeUse& dtype = by_dtype_[used.work.dtype];
    ++dtype.ops;
    dtype.flops += used.work.flops;
    dtype.ns += used.kernel_ns;
  }

  const Examined& examined_;
  const EventTable& events_;
  ActivityRoofs roofs_;
  Use all_;
  std::vector<Use> steps_;
  std::vector<std::uint8_t> kinds_;  // WorkKind, by NameId
  std::vector<bool> has_moved_;      // ops whose traffic was counted
  std::vector<UsedOp> ops_, ops_of_kernels_;
  std::unordered_map<EventId, std::size_t> places_;  // in ops_
  std::array<Cached, 1024> cache_{};
  std::array<CachedTraffic, 1024> traffic_{};
  std::map<std::string_view, OpUse> by_op_;
  std::map<std::string_view, DtypeUse> by_dtype_;
  SaturatingSum compute_ns_, unsized_ns_, activity_ns_, unmoved_ns_;
};

Value rate_of(std::int64_t amount, std::int64_t ns) {
  return ns <= 0 ? Value() : Value(1e9 * static_cast<double>(amount) / static_cast<double>(ns));
}

// None above 100: then the data sheet is not that of the device, or times and sizes do not belong together.
Value percent_of_peak(double ideal_ns, std::int64_t ns, bool is_known) {
  if (!is_known || ns <= 0) return {};
  const double percent = 100 * ideal_ns / static_cast<double>(ns);
  return percent > 100 ? Value() : Value(percent);
}

Value share_of_bandwidth(std::int64_t bytes, std::int64_t ns, double peak) {
  if (peak == 0 || ns <= 0) return {};
  const double percent = 100 * (1e9 * static_cast<double>(bytes) / static_cast<double>(ns)) / peak;
  return percent > 100 ? Value() : Value(percent);
}

}  // namespace

std::optional<Finding> analyse_utilisation(const Examined& examined) {
  const Model& model = examined.model;
  if (model.activities().empty()) return std::nullopt;
  Utilisation use(examined);
  const bool has_device = use.device() != nullptr;
  const double bandwidth = use.peak_bytes_per_second();
  const std::int64_t span = examined.time.all().total();
  const Use& all = use.all();
  const Value mfu = percent_of_peak(all.ideal_ns, span, has_device && all.has_peak && all.flops > 0);
  Finding finding{.key = "utilisation", .title = "Utilisation of the device"};
  finding.facts = {
      {"flops", "FLOPs", all.flops, Unit::Flops},
      {"flops_per_second", "FLOP/s of device time", rate_of(all.flops, span), Unit::FlopsPerSecond},
      {"mfu", "MFU", mfu, Unit::Percent},
      {"unsized_ns", "compute kernels without sizes", use.unsized_ns(), Unit::Nanoseconds},
      {"unsized_share", "of compute kernel time", percent_of(use.unsized_ns(), use.compute_ns()),
       Unit::Percent},
      {"bytes", "bytes moved", all.bytes, Unit::Bytes},
      {"bytes_per_second", "bytes/s of device time", rate_of(all.bytes, span), Unit::BytesPerSecond},
      {"bandwidth", "of peak bandwidth", share_of_bandwidth(all.bytes, span, bandwidth), Unit::Percent},
      {"unmoved_ns", "activity of unknown bytes", use.unmoved_ns(), Unit::Nanoseconds},
      {"unmoved_share", "of activity time", percent_of(use.unmoved_ns(), use.activity_ns()), Unit::Percent},
  };
  finding.sentences.emplace_back(
      "MFU is the share of device time that the matmuls, convolutions and attention of the trace would take "
      "at "
      "the peaks of the data sheet; what is computed again in the backward pass counts, too.");
  const DeviceProperties* properties = model.device(model.active_devices().front());
  if (!has_device) {
    finding.sentences.push_back(
        properties == nullptr || properties->name.empty()
            ? "The trace does not name the device, so its peaks, and the MFU, are not known."
            : fmt::format("{} is not in the table of devices, so its peaks, and the MFU, are not known.",
                          properties->name));
  } else if (!all.has_peak) {
    finding.sentences.emplace_back(
        "Some FLOPs are in a dtype for which the data sheet has no peak, so the MFU is not known.");
  }
  if (use.unsized_ns() > 0)
    finding.sentences.push_back(fmt::format(
        "The sizes of {:.1f} % of the time of matmuls, convolutions and attention are not in the trace, so "
        "the "
        "FLOPs are a lower bound: record with profile(record_shapes=True); kernels of a graph have no ops.",
        percent_of(use.unsized_ns(), use.compute_ns())));
  Table steps{.key = "steps",
              .title = "by step",
              .columns = {{"step", "step", Unit::None, true},
                          {"device_ns", "device time", Unit::Nanoseconds},
                          {"flops", "FLOPs", Unit::Flops},
                          {"flops_per_second", "FLOP/s", Unit::FlopsPerSecond},
                          {"mfu", "MFU", Unit::Percent},
                          {"bytes", "bytes", Unit::Bytes},
                          {"bytes_per_second", "bytes/s", Unit::BytesPerSecond},
                          {"bandwidth", "of peak", Unit::Percent}},
              .rows = {}};
  for (std::size_t i = 0; i < use.steps().size(); ++i) {
    const Use& step = use.steps()[i];
    const std::int64_t ns = examined.time.of_steps()[i].total();
    steps.rows.push_back({model.steps()[i].name, ns, step.flops, rate_of(step.flops, ns),
                          percent_of_peak(step.ideal_ns, ns, has_device && step.has_peak && step.flops > 0),
                          step.bytes, rate_of(step.bytes, ns),
                          share_of_bandwidth(step.bytes, ns, bandwidth)});
  }
  finding.tables.push_back(std::move(steps));
  if (!use.by_op().empty()) {
    Table ops{.key = "ops",
              .title = "by op, in the time of its kernels",
              .columns = {{"op", "op", Unit::None, true},
                          {"count", "times", Unit::Count},
                          {"time_ns", "kernel time", Unit::Nanoseconds},
                          {"flops", "FLOPs", Unit::Flops},
                          {"flops_per_second", "FLOP/s", Unit::FlopsPerSecond},
                          {"peak_share", "of peak", Unit::Percent},
                          {"bytes", "", Unit::Bytes}},
              .rows = {}};
    for (const auto& [op, sum] : by_largest(use.by_op(), [](const OpUse& o) { return o.ns; }))
      ops.rows.push_back(
          {std::string(*op), sum->calls, sum->ns, sum->flops, rate_of(sum->flops, sum->ns),
           percent_of_peak(sum->ideal_ns, sum->ns, has_device && sum->has_peak && sum->flops > 0),
           sum->bytes});
    finding.tables.push_back(std::move(ops));
    Table dtypes{.key = "dtypes",
                 .title = "by dtype",
                 .columns = {{"dtype", "dtype", Unit::None, true},
                             {"count", "ops", Unit::Count},
                             {"flops", "FLOPs", Unit::Flops},
                             {"time_ns", "kernel time", Unit::Nanoseconds},
                             {"peak_flops_per_second", "peak", Unit::FlopsPerSecond}},
                 .rows = {}};
    for (const auto& [dtype, sum] : by_largest(use.by_dtype(), [](const DtypeUse& d) { return d.flops; })) {
      const double peak = has_device ? use.device()->flops_per_second(*dtype) : 0;
      dtypes.rows.push_back({dtype->empty() ? Value() : Value(std::string(*dtype)), sum->ops, sum->flops,
                             sum->ns, peak == 0 ? Value() : Value(peak)});
    }
    finding.tables.push_back(std::move(dtypes));
  }
  return finding;
}

}  // namespace pel::doctor
