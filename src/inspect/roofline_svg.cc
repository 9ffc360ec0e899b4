// The roofline as a self-contained SVG, for light and dark pages.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "inspect/roofline.h"

namespace pel::inspect {
namespace {

constexpr double kWidth = 960, kHeight = 560, kLeft = 70, kTop = 50, kRight = 256, kBottom = 50;
constexpr const char* kStyle =
    "text{font:13px ui-monospace,'DejaVu Sans Mono',monospace;fill:#c9d1d9}.grid{stroke:#30363d}"
    ".roof{stroke:#58a6ff;stroke-width:2;fill:none}.peak{stroke:#3fb950;stroke-width:2}"
    ".point{fill:#d29922}.small{font-size:11px;fill:#8b949e}.title{font-size:15px;font-weight:bold}";

struct Frame {
  RooflineAxes axes;

  double x(double log_x) const {
    return kLeft + (log_x - axes.min_x) / (axes.max_x - axes.min_x) * (kWidth - kLeft - kRight);
  }
  double y(double log_y) const {
    return kTop + (axes.max_y - log_y) / (axes.max_y - axes.min_y) * (kHeight - kTop - kBottom);
  }
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string label(double x, double y, std::string_view kind, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y,
                     kind, anchor, escaped(text));
}

std::string line(std::string_view kind, double x0, double y0, double x1, double y1) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind,
                     x0, y0, x1, y1);
}

std::string grid(const Frame& f) {
  std::string svg;
  for (int e = static_cast<int>(std::ceil(f.axes.min_x)); e <= f.axes.max_x; ++e) {
    svg += line("grid", f.x(e), kTop, f.x(e), kHeight - kBottom);
    svg += label(f.x(e), kHeight - kBottom + 18, "small", "middle", fmt::format("{:g}", std::pow(10, e)));
  }
  for (int e = static_cast<int>(std::ceil(f.axes.min_y)); e <= f.axes.max_y; ++e) {
    svg += line("grid", kLeft, f.y(e), kWidth - kRight, f.y(e));
    svg += label(kLeft - 8, f.y(e) + 4, "small", "end", fmt::format("{:g}", std::pow(10, e)));
  }
  svg += label((kLeft + kWidth - kRight) / 2, kHeight - 12, "small", "middle", "FLOPs/byte");
  return svg + label(kLeft - 8, kTop - 12, "small", "end", "GFLOP/s");
}

std::string roofs(const Frame& f, const Machine& machine) {
  std::string svg;
  double log_peak = 0;
  for (const ComputePeak& peak : machine.peaks) log_peak = std::max(log_peak, std::log10(peak.gflop_per_s));
  for (const MemoryLevel& level : machine.levels) {
    const double slope = std::log10(level.gb_per_s);
    const double from = std::max(f.axes.min_x, f.axes.min_y - slope),
                 to = std::min(f.axes.max_x, log_peak - slope);
    svg += line("roof", f.x(from), f.y(from + slope), f.x(to), f.y(to + slope));
    const double angle =
        std::atan2(f.y(to + slope) - f.y(from + slope), f.x(to) - f.x(from)) * 180 / std::numbers::pi;
    svg += fmt::format(
        "<g transform=\"translate({:.1f} {:.1f}) rotate({:.1f})\">{}</g>\n", f.x(from), f.y(from + slope),
        angle, label(24, -6, "small", "start", fmt::format("{} {:.0f} GB/s", level.name, level.gb_per_s)));
  }
  for (const ComputePeak& peak : machine.peaks) {
    const double y = std::log10(peak.gflop_per_s);
    svg +=
        line("peak", f.x(y - std::log10(machine.levels.front().gb_per_s)), f.y(y), f.x(f.axes.max_x), f.y(y));
    svg += label(f.x(f.axes.max_x) - 4, f.y(y) - 6, "small", "end",
                 fmt::format("{} {:.0f} GFLOP/s", name(peak.dtype), peak.gflop_per_s));
  }
  return svg;
}

}  // namespace

std::string Roofline::svg() const {
  const Frame f{axes_of(*this)};
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<style>{2}</style>\n<rect width=\"{0}\" height=\"{1}\" rx=\"8\" fill=\"#0d1117\"/>\n",
      kWidth, kHeight, kStyle);
  svg += label(kLeft, 24, "title", "start",
               fmt::format("{}, {} thread{}", machine.cpu, machine.threads, machine.threads == 1 ? "" : "s"));
  svg += grid(f) + roofs(f, machine);
  double legend = kTop + 4;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const RooflinePoint& p = points[i];
    const std::string mark(1, letter(i));
    svg += label(kWidth - kRight + 14, legend, "", "start", fmt::format("{}  {}", mark, p.call));
    svg += label(kWidth - kRight + 38, legend + 15, "small", "start",
                 fmt::format("{}, {:.0f} % of roof, {}", name(p.dtype), 100 * p.share(), p.bound));
    legend += 37;
    if (p.flops == 0) continue;
    const double x = f.x(std::log10(p.flops_per_byte())), y = f.y(std::log10(p.gflop_per_s()));
    svg += fmt::format(
        "<circle class=\"point\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"><title>{}: {}</title></circle>\n", x, y,
        escaped(p.call), escaped(p.kernel));
    svg += label(x + 9, y + 4, "", "start", mark);
  }
  return svg + "</svg>\n";
}

}  // namespace pel::inspect
