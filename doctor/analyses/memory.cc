// Device memory (profile_memory=True): the peak, what is live then, and what the allocator holds beyond that.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/readable.h"
#include "base/sort_stably.h"
#include "doctor/analyses/analysis.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/run_phases.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

constexpr std::int64_t kCurvePoints = 200;
constexpr int kMaxAllocatorLevels = 16;
constexpr std::int32_t kCpuType = 0, kHipType = 6;

using MemoryDevice = std::pair<std::int32_t, std::int32_t>;  // type and number, as c10 has them

struct MemoryPeak {
  std::int64_t events = 0, allocations = 0;
  std::int64_t allocated = 0;  // after the last event
  std::int64_t peak = 0, peak_time_ns = 0, peak_event = -1, reserved_at_peak = kNoNumber;
  std::int64_t max_reserved = kNoNumber;
  std::int64_t first_ns = 0, last_ns = 0;
  bool has_totals = true, has_addresses = true;

  void take(const MemoryEvent& event) {
    has_totals &= event.allocated != kNoNumber;
    has_addresses &= event.address != kNoNumber;
    allocated = event.allocated != kNoNumber ? event.allocated : saturating_add(allocated, event.bytes);
    if (events == 0) first_ns = event.time_ns;
    last_ns = event.time_ns;
    if (peak_event < 0 || allocated > peak) {
      peak = allocated;
      peak_time_ns = event.time_ns;
      peak_event = events;
      reserved_at_peak = event.reserved;
    }
    max_reserved = std::max(max_reserved, event.reserved);
    allocations += event.bytes > 0 ? 1 : 0;
    ++events;
  }
};

// By time; events of one time in the order of the document.
template <class F>
void each_by_time(const MemoryEvents& memory, F&& visit) {
  if (memory.is_in_order()) return memory.each(visit);
  std::vector<MemoryEvent> all;
  all.reserve(memory.size());
  memory.each([&](const MemoryEvent& event) { all.push_back(event); });
  sort_stably(all, [](const MemoryEvent& a, const MemoryEvent& b) { return a.time_ns < b.time_ns; });
  for (const MemoryEvent& event : all) visit(event);
}

struct LiveBlock {
  std::int64_t bytes, time_ns;
  RowId row;
};
struct CurvePoint {
  std::int64_t time_ns = 0, allocated = 0, reserved = kNoNumber;
  bool is_there = false;
};

// The blocks that are live at the peak of one device, and its curve: of each part of the time, the largest.
struct MemoryCourse {
  std::unordered_map<std::int64_t, LiveBlock> live;  // by address
  std::vector<CurvePoint> curve;

  MemoryCourse(const MemoryEvents& memory, MemoryDevice device, const MemoryPeak& peak)
      : curve(static_cast<std::size_t>(kCurvePoints)) {
    const std::int64_t part_ns = (peak.last_ns - peak.first_ns) / kCurvePoints + 1;
    std::int64_t allocated = 0, number = 0;
    each_by_time(memory, [&](const MemoryEvent& event) {
      if (MemoryDevice(event.device_type, event.device) != device) return;
      allocated = event.allocated != kNoNumber ? event.allocated : saturating_add(allocated, event.bytes);
      CurvePoint& point = curve[static_cast<std::size_t>((event.time_ns - peak.first_ns) / part_ns)];
      if (!point.is_there || allocated > point.allocated)
        point = {event.time_ns, allocated, event.reserved, true};
      if (number++ > peak.peak_event || event.address == kNoNumber) return;
      if (event.bytes > 0) {
        live[event.address] = {event.bytes, event.time_ns, event.row};
      } else {
        live.erase(event.address);
      }
    });
    std::erase_if(curve, [](const CurvePoint& p) { return !p.is_there; });
  }
};

std::string device_text(MemoryDevice device) {
  const auto& [type, number] = device;
  if (type == kCpuType) return "cpu";
  const char* kind = type == 1          ? "cuda"
                     : type == kHipType ? "hip"
                     : type == 12       ? "xpu"
                     : type == 13       ? "mps"
                                        : "device";
  return fmt::format("{} {}", kind, number);
}

// Ops that only allocate, for the op around them.
bool only_allocates(std::string_view op) {
  return op.starts_with("aten::empty") || op.starts_with("aten::resize") || op == "aten::new_empty" ||
         op == "aten::new_empty_strided";
}
EventId allocating_op(const Model& model, EventId e) {
  const EventId inner = model.op_of(e);
  EventId op = inner;
  for (int level = 0; op != kNoEvent && level < kMaxAllocatorLevels; ++level) {
    if (!only_allocates(model.events().name(op))) return model.is_step_mark(op) ? inner : op;
    const EventId around = model.parent(op);
    op = around == kNoEvent ? kNoEvent : model.op_of(around);
  }
  return inner;
}

// What memory that a phase allocates is for, most likely.
std::string_view category_of_phase(RunPhase phase) {
  switch (phase) {
    case RunPhase::Forward:
      return "activations";
    case RunPhase::Backward:
      return "gradients";
    case RunPhase::Optimizer:
      return "optimizer state";
    case RunPhase::Data:
      return "input";
    case RunPhase::Communication:
      return "communication";
    case RunPhase::Other:
      break;
  }
  return "other";
}
constexpr std::string_view kBeforeTrace = "allocated before the trace: weights and state";

struct LiveKey {
  std::string_view category, op;
  auto operator<=>(const LiveKey&) const = default;
};
struct LiveSum {
  std::int64_t count = 0;
  SaturatingSum bytes;
};

Value known_or_null(std::int64_t number) { return number == kNoNumber ? Value() : Value(number); }

void add_live_tables(const Examined& examined, const MemoryCourse& course, const MemoryPeak& peak,
                     Finding& finding) {
  const Model& model = examined.model;
  RunPhases phases(model);
  std::map<LiveKey, LiveSum> ops;
  SaturatingSum known;
  for (const auto& [address, block] : course.live) {
    const EventId at =
        block.row < model.events().rows.size() ? model.running_at(block.row, block.time_ns) : kNoEvent;
    const EventId op = at == kNoEvent ? kNoEvent : allocating_op(model, at);
    const RunPhase phase = at == kNoEvent ? RunPhase::Other : phases.of(at);
    LiveSum& sum =
        ops[{category_of_phase(phase), op == kNoEvent ? std::string_view() : model.events().name(op)}];
    ++sum.count;
    sum.bytes += block.bytes;
    known += block.bytes;
  }
  if (peak.has_totals && known < peak.peak)
    ops[{kBeforeTrace, {}}] = {.count = 0, .bytes = saturating_sub(peak.peak, known)};
  std::map<std::string_view, LiveSum> categories;
  for (const auto& [key, sum] : ops) {
    LiveSum& category = categories[key.category];
    category.count += sum.count;
    category.bytes += sum.bytes;
  }
  const auto bytes = [](const LiveSum& s) { return s.bytes; };
  const auto share = [&](const LiveSum& s) {
    return peak.has_totals && peak.peak > 0 ? Value(std::min(100.0, percent_of(s.bytes, peak.peak)))
                                            : Value();
  };
  const auto blocks = [](std::string_view category, const LiveSum& s) {
    return category == kBeforeTrace ? Value() : Value(s.count);
  };
  Table by_category{.key = "categories",
                    .title = "live at the peak, by category (guessed from the phase that allocated it)",
                    .columns = {{"category", "category", Unit::None, true},
                                {"bytes", "bytes", Unit::Bytes},
                                {"share", "of the peak", Unit::Percent},
                                {"count", "blocks", Unit::Count}},
                    .rows = {}};
  for (const auto& [category, sum] : by_largest(categories, bytes))
    by_category.rows.push_back({std::string(*category), sum->bytes, share(*sum), blocks(*category, *sum)});
  finding.tables.push_back(std::move(by_category));
  Table by_op{.key = "live",
              .title = "live at the peak, by the op that allocated it",
              .columns = {{"op", "op", Unit::None, true},
                          {"bytes", "bytes", Unit::Bytes},
                          {"share", "of the peak", Unit::Percent},
                          {"count", "blocks", Unit::Count},
                          {"category", "category"}},
              .rows = {},
              .shown = 8};
  for (const auto& [key, sum] : by_largest(ops, bytes)) {
    if (key->category == kBeforeTrace) continue;
    by_op.rows.push_back({key->op.empty() ? Value() : Value(std::string(key->op)), sum->bytes, share(*sum),
                          sum->count, std::string(key->category)});
  }
  if (!by_op.rows.empty()) finding.tables.push_back(std::move(by_op));
}

}  // namespace

std::optional<Finding> analyse_memory(const Examined& examined) {
  const Model& model = examined.model;
  const MemoryEvents& memory = model.events().memory();
  if (memory.size() == 0) return std::nullopt;
  std::map<MemoryDevice, MemoryPeak> devices;
  MemoryDevice last{};
  MemoryPeak* at = nullptr;
  each_by_time(memory, [&](const MemoryEvent& event) {
    const MemoryDevice device(event.device_type, event.device);
    if (at == nullptr || device != last) {
      at = &devices[device];
      last = device;
    }
    at->take(event);
  });
  // A device rather than the CPU; of several, the one with the most.
  auto chosen = devices.begin();
  for (auto it = devices.begin(); it != devices.end(); ++it) {
    const auto rank = [](const auto& d) { return std::pair(d.first.first != kCpuType, d.second.peak); };
    if (rank(*it) > rank(*chosen)) chosen = it;
  }
  const auto& [device, peak] = *chosen;
  const MemoryCourse course(memory, device, peak);
  const std::int64_t origin = model.steps().empty() ? peak.first_ns : model.steps()[0].begin_ns;
  const std::uint32_t step = model.step_at(peak.peak_time_ns);
  const bool has_reserved = peak.reserved_at_peak != kNoNumber;
  const std::int64_t unused = has_reserved ? saturating_sub(peak.reserved_at_peak, peak.peak) : kNoNumber;
  Finding finding{.key = "memory", .title = "Memory"};
  finding.facts = {
      {"device", "device", device_text(device)},
      {"peak_bytes", "peak allocated", peak.peak, Unit::Bytes},
      {"peak_at_ns", "after the first step began", saturating_sub(peak.peak_time_ns, origin),
       Unit::Nanoseconds},
      {"peak_step", "in", step == kNoStep ? Value() : Value(model.steps()[step].name)},
      {"reserved_bytes", "reserved at the peak", known_or_null(peak.reserved_at_peak), Unit::Bytes},
      {"unused_bytes", "reserved and not allocated", known_or_null(unused), Unit::Bytes},
      {"unused", "of what is reserved",
       has_reserved && unused >= 0 && peak.peak >= 0 ? Value(percent_of(unused, peak.reserved_at_peak))
                                                     : Value(),
       Unit::Percent},
      {"allocations", "allocations", peak.allocations, Unit::Count},
      {"frees", "frees", peak.events - peak.allocations, Unit::Count},
  };
  if (!peak.has_totals)
    finding.sentences.emplace_back(
        "The trace has no totals, so bytes count from its first allocation: memory from before is not in "
        "them.");
  if (!peak.has_addresses)
    finding.sentences.emplace_back(
        "The trace has no addresses, so it does not say which allocations are live at the peak.");
  if (unused > 0 && unused > peak.peak / 4)
    finding.sentences.push_back(fmt::format(
        "The allocator holds {} that no tensor used at the peak: fragments, or blocks for a later "
        "peak. PYTORCH_{}_ALLOC_CONF=expandable_segments:True reduces fragments.",
        readable_bytes(unused), device.first == kHipType ? "HIP" : "CUDA"));
  if (peak.has_addresses) add_live_tables(examined, course, peak, finding);
  if (devices.size() > 1) {
    Table table{.key = "devices",
                .title = "by device",
                .columns = {{"device", "device", Unit::None, true},
                            {"peak_bytes", "peak", Unit::Bytes},
                            {"peak_at_ns", "at", Unit::Nanoseconds},
                            {"reserved_bytes", "reserved then", Unit::Bytes},
                            {"max_reserved_bytes", "reserved at most", Unit::Bytes},
                            {"allocations", "allocations", Unit::Count},
                            {"frees", "frees", Unit::Count}},
                .rows = {}};
    for (const auto& [where, sum] : by_largest(devices, [](const MemoryPeak& p) { return p.peak; }))
      table.rows.push_back({device_text(*where), sum->peak, saturating_sub(sum->peak_time_ns, origin),
                            known_or_null(sum->reserved_at_peak), known_or_null(sum->max_reserved),
                            sum->allocations, sum->events - sum->allocations});
    finding.tables.push_back(std::move(table));
  }
  Table curve{.key = "curve",  // for JSON, and a picture on the page
              .title = fmt::format("memory of {} over time", device_text(device)),
              .columns = {{"at_ns", "", Unit::Nanoseconds},
                          {"allocated_bytes", "", Unit::Bytes},
                          {"reserved_bytes", "", Unit::Bytes}},
              .rows = {}};
  for (const CurvePoint& point : course.curve)
    curve.rows.push_back(
        {saturating_sub(point.time_ns, origin), point.allocated, known_or_null(point.reserved)});
  finding.tables.push_back(std::move(curve));
  return finding;
}

}  // namespace pel::doctor
