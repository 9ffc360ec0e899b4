#include "inspect/roofline.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/wrapped.h"
#include "inspect/machine.h"

namespace pel::inspect {
namespace {

constexpr int kCall = 20, kDType = 4, kNumber = 9, kBar = 12;

std::string colored_share(const RooflinePoint& p, const Terminal& terminal) {
  const std::string text = pad_right(bar(p.share(), kBar), kBar);
  return p.share() >= 0.6   ? terminal.green(text)
         : p.share() >= 0.3 ? terminal.yellow(text)
                            : terminal.red(text);
}

std::string row(std::string_view mark, std::string_view call, std::string_view dtype, std::string_view time,
                std::string_view intensity, std::string_view bandwidth, std::string_view rate,
                std::string_view share) {
  return fmt::format("{} {} {}{}{}{}{}{}", pad_right(mark, 1), pad_right(call, kCall),
                     pad_right(dtype, kDType), pad_left(time, kNumber), pad_left(intensity, kNumber),
                     pad_left(bandwidth, kNumber), pad_left(rate, kNumber + 1), pad_left(share, kNumber - 2));
}

}  // namespace

RooflineAxes axes_of(const Roofline& roofline) {
  double min_y = 1e9, max_y = 1, min_x = 1, max_x = 1;
  for (const ComputePeak& peak : roofline.machine.peaks) {
    max_y = std::max(max_y, peak.gflop_per_s);
    for (const MemoryLevel& level : roofline.machine.levels) max_x = std::max(max_x, ridge(peak, level));
  }
  for (const RooflinePoint& point : roofline.points) {
    if (point.flops == 0) continue;
    min_y = std::min(min_y, point.gflop_per_s());
    min_x = std::min(min_x, point.flops_per_byte());
    max_x = std::max(max_x, point.flops_per_byte());
  }
  min_y = std::min(min_y, max_y / 10);
  return {std::log10(min_x) - 0.3, std::log10(max_x) + 0.3, std::floor(std::log10(min_y)),
          std::log10(max_y) + 0.2};
}

std::string Roofline::text(const Terminal& terminal) const {
  std::string text = terminal.bold(machine.cpu);
  text += fmt::format(", {} thread{}\n\n", machine.threads, machine.threads == 1 ? "" : "s");
  text += plot(*this, terminal) + "\n";
  text += terminal.bold(row("", "call", "", "time", "FLOPs/B", "GB/s", "GFLOP/s", "roof") +
                        "               bound by") +
          "\n";
  for (std::size_t i = 0; i < points.size(); ++i) {
    const RooflinePoint& p = points[i];
    const bool counts = p.flops > 0;
    text +=
        row(std::string(1, letter(i)), p.call, name(p.dtype), readable_ns(p.ns),
            counts ? fmt::format("{:.1f}", p.flops_per_byte()) : "—", fmt::format("{:.1f}", p.gb_per_s()),
            counts ? fmt::format("{:.1f}", p.gflop_per_s()) : "—", fmt::format("{:.0f} %", 100 * p.share()));
    text += "  " + colored_share(p, terminal) + " " + p.bound + "\n";
    text += "  " + terminal.dim(pad_right(p.kernel, terminal.columns - 2)) + "\n";
    while (text[text.size() - 2] == ' ') text.erase(text.size() - 2, 1);
  }
  constexpr std::string_view kNote =
      "roof: the minimum time of the machine for these bytes and FLOPs, divided by the measured time. FLOPs "
      "are "
      "counted for matmuls, convolutions and attention; the others show a dash, and are not in the plot.";
  text += "\n";
  for (const std::string& line : wrapped(kNote, terminal.columns)) text += terminal.dim(line) + "\n";
  return text;
}

std::string Roofline::json() const {
  JsonWriter json("pellucid.roofline/1");
  json.key("machine").begin_object();
  write_fields(json, machine);
  json.end_object().key("kernels").begin_array();
  for (const RooflinePoint& p : points) {
    json.begin_object().field("call", p.call).field("kernel", p.kernel).field("dtype", name(p.dtype));
    json.field("bytes", p.bytes).field("flops", p.flops).field("ns", p.ns).field("roof_ns", p.roof_ns);
    json.field("gb_per_s", p.gb_per_s()).field("gflop_per_s", p.gflop_per_s());
    json.field("flops_per_byte", p.flops_per_byte()).field("share_of_roof", p.share());
    json.field("bound_by", p.bound).end_object();
  }
  return json.finish();
}

}  // namespace pel::inspect
