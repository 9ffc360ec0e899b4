#include "inspect/machine.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/wrapped.h"
#include "inspect/short_path.h"

namespace pel::inspect {
namespace {

constexpr int kLabel = 10, kColumn = 15;

std::string levels_text(const Machine& machine, const Terminal& terminal) {
  double max_gb_per_s = 0;
  for (const MemoryLevel& level : machine.levels) max_gb_per_s = std::max(max_gb_per_s, level.gb_per_s);
  std::string text =
      terminal.bold(fmt::format("{}{}{}", pad_right("memory", kLabel), pad_left("holds", kColumn),
                                pad_left("read, written", kColumn))) +
      "\n";
  for (const MemoryLevel& level : machine.levels) {
    const std::string size = level.bytes == 0 ? "all" : readable_bytes(static_cast<double>(level.bytes));
    text += fmt::format(
        "{}{}{}  {}\n", pad_right(level.name, kLabel), pad_left(size, kColumn),
        pad_left(fmt::format("{:.1f} GB/s", level.gb_per_s), kColumn),
        terminal.green(bar(level.gb_per_s / max_gb_per_s, terminal.columns - kLabel - 2 * kColumn - 2)));
  }
  return text;
}

std::string peaks_text(const Machine& machine, const Terminal& terminal) {
  std::string text = terminal.bold(pad_right("matmul", kLabel) + pad_left("peak", kColumn) + "  by") + "\n";
  for (const ComputePeak& peak : machine.peaks) {
    text += fmt::format("{}{}  {}\n", pad_right(name(peak.dtype), kLabel),
                        pad_left(fmt::format("{:.0f} GFLOP/s", peak.gflop_per_s), kColumn), peak.by);
  }
  return text;
}

std::string ridges_text(const Machine& machine, const Terminal& terminal) {
  std::string head = pad_right("ridge", kLabel);
  for (const MemoryLevel& level : machine.levels) head += pad_left(level.name, kColumn);
  std::string text = terminal.bold(head) + "\n";
  for (const ComputePeak& peak : machine.peaks) {
    text += pad_right(name(peak.dtype), kLabel);
    for (const MemoryLevel& level : machine.levels)
      text += terminal.cyan(pad_left(fmt::format("{:.1f} FLOPs/B", ridge(peak, level)), kColumn));
    text += "\n";
  }
  return text;
}

std::string threads_text(const Machine& machine) {
  if (machine.threads == 1) return "";
  return fmt::format(
      "A worker that is parked runs a piece {} after the call of a loop, one that spins {}.\n\n",
      readable_ns(machine.wake_ns), readable_ns(machine.join_ns));
}

}  // namespace

double ridge(const ComputePeak& peak, const MemoryLevel& level) { return peak.gflop_per_s / level.gb_per_s; }

std::string text(const Machine& machine, const Terminal& terminal) {
  std::string text = terminal.bold(machine.cpu);
  text += fmt::format(
      "\n{} thread{}, {}\n\n", machine.threads, machine.threads == 1 ? "" : "s",
      machine.isa.empty() ? "all instruction sets of the processor" : "PELLUCID_ISA=" + machine.isa);
  text += levels_text(machine, terminal) + "\n" + peaks_text(machine, terminal) + "\n" +
          ridges_text(machine, terminal) + "\n" + threads_text(machine);
  constexpr std::string_view kRidge =
      "A kernel with more FLOPs per byte than the ridge is bound by compute, one with fewer by that memory.";
  for (const std::string& line : wrapped(kRidge, terminal.columns)) text += terminal.dim(line) + "\n";
  return text + terminal.dim("stored in " + short_path(Machine::path()) + "; --again measures again") + "\n";
}

void write_fields(JsonWriter& json, const Machine& machine) {
  json.field("cpu", machine.cpu).field("isa", machine.isa).field("threads", machine.threads);
  json.key("levels").begin_array();
  for (const MemoryLevel& level : machine.levels) {
    json.begin_object().field("name", level.name).field("bytes", level.bytes);
    json.field("gb_per_s", level.gb_per_s).end_object();
  }
  json.end_array().key("peaks").begin_array();
  for (const ComputePeak& peak : machine.peaks) {
    json.begin_object().field("dtype", name(peak.dtype)).field("gflop_per_s", peak.gflop_per_s);
    json.field("by", peak.by).key("ridges").begin_array();
    for (const MemoryLevel& level : machine.levels) {
      json.begin_object().field("level", level.name).field("flops_per_byte", ridge(peak, level)).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().field("wake_ns", machine.wake_ns).field("join_ns", machine.join_ns);
}

std::string json(const Machine& machine) {
  JsonWriter json("pellucid.machine/1");
  write_fields(json, machine);
  return json.field("path", Machine::path()).finish();
}

}  // namespace pel::inspect
