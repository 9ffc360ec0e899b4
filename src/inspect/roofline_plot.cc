// The roofline for a terminal: lines of dots, and letters for kernels.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "inspect/braille_canvas.h"
#include "inspect/roofline.h"

namespace pel::inspect {
namespace {

constexpr int kMargin = 14;  // labels of the y axis
constexpr int kRows = 16;

using Layer = BrailleCanvas::Layer;

// Converts logarithms to dots.
struct Scale {
  RooflineAxes axes;
  int width, height;

  double x(double log_x) const { return (log_x - axes.min_x) / (axes.max_x - axes.min_x) * (width - 1); }
  double y(double log_y) const { return (log_y - axes.min_y) / (axes.max_y - axes.min_y) * (height - 1); }
  double log_x(int dot) const { return axes.min_x + (axes.max_x - axes.min_x) * dot / (width - 1); }
};

int nearest(double value) { return static_cast<int>(std::lround(value)); }

void draw_roofs(BrailleCanvas& canvas, const Scale& scale, const Machine& machine) {
  double max_gflops = 0;
  for (const ComputePeak& peak : machine.peaks) max_gflops = std::max(max_gflops, peak.gflop_per_s);
  for (const MemoryLevel& level : machine.levels) {
    const double slope = std::log10(level.gb_per_s), top = std::log10(max_gflops);
    for (int dot = 0; dot < scale.width; ++dot) {
      const double y = scale.log_x(dot) + slope;
      if (y <= top) canvas.dot(dot, nearest(scale.y(y)), Layer::Upper);
    }
    // Where the line enters from below or from the left.
    const double from_x = std::max(scale.axes.min_x, scale.axes.min_y - slope);
    canvas.label(nearest(scale.x(from_x)) + 6, nearest(scale.y(from_x + slope)), level.name);
  }
  for (const ComputePeak& peak : machine.peaks) {
    const double y = std::log10(peak.gflop_per_s), ridge = y - std::log10(machine.levels.front().gb_per_s);
    for (int dot = 0; dot < scale.width; ++dot)
      if (scale.log_x(dot) >= ridge) canvas.dot(dot, nearest(scale.y(y)), Layer::Upper);
    const std::string_view label = name(peak.dtype);
    canvas.label(canvas.dots_across() - 2 * static_cast<int>(label.size()), nearest(scale.y(y)), label);
  }
}

std::string power_of_ten(int exponent) {
  return exponent >= 0 ? fmt::format("{:.0f}", std::pow(10, exponent))
                       : fmt::format("{:.{}f}", std::pow(10, exponent), -exponent);
}

}  // namespace

std::string plot(const Roofline& roofline, const Terminal& terminal) {
  const int columns = terminal.columns - kMargin - 1;
  BrailleCanvas canvas(columns, kRows);
  const Scale scale{axes_of(roofline), canvas.dots_across(), canvas.dots_down()};
  draw_roofs(canvas, scale, roofline.machine);
  for (std::size_t i = 0; i < roofline.points.size(); ++i) {
    const RooflinePoint& p = roofline.points[i];
    if (p.flops == 0) continue;
    const char own = letter(i);
    canvas.mark(nearest(scale.x(std::log10(p.flops_per_byte()))),
                nearest(scale.y(std::log10(p.gflop_per_s()))), {&own, 1});
  }
  std::vector<std::string> labels(kRows);
  for (int e = static_cast<int>(std::ceil(scale.axes.min_y)); e <= scale.axes.max_y; ++e)
    labels[static_cast<std::size_t>(kRows - 1 - nearest(scale.y(e)) / 4)] = power_of_ten(e);
  std::string text = terminal.dim(pad_left("GFLOP/s", kMargin - 1)) + "\n";
  for (int row = 0; row < kRows; ++row) {
    const std::string& label = labels[static_cast<std::size_t>(row)];
    text += terminal.dim(pad_left(label, kMargin - 1) + (label.empty() ? " │" : " ┤")) +
            canvas.row(row, terminal) + "\n";
  }
  std::string axis, below(static_cast<std::size_t>(kMargin), ' ');
  for (int column = 0; column < columns; ++column) axis += "─";
  text += terminal.dim(pad_right("", kMargin) + "└" + axis) + "\n";
  for (int e = static_cast<int>(std::ceil(scale.axes.min_x)); e <= scale.axes.max_x; ++e) {
    const std::string label = power_of_ten(e);
    const auto column = static_cast<std::size_t>(kMargin + 1 + nearest(scale.x(e)) / 2);
    if (column < below.size() || column + label.size() + 13 > static_cast<std::size_t>(terminal.columns))
      continue;
    below.append(column - below.size(), ' ');
    below += label;
  }
  return text + terminal.dim(below + "   FLOPs/byte") + "\n";
}

}  // namespace pel::inspect
