// The plot of a budget, for a terminal and as SVG: both axes logarithmic, so that the knee is a corner.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "inspect/braille_canvas.h"
#include "inspect/budget.h"

namespace pel::inspect {
namespace {

struct Axes {
  double min_x, max_x, min_y, max_y;

  explicit Axes(const Budget& budget)
      : min_x(budget.sizes.front().kernel_ns),
        max_x(budget.sizes.back().kernel_ns),
        min_y(budget.sizes.front().replayed.step_ns),
        max_y(budget.sizes.back().now.step_ns) {
    for (const Budget::Size& size : budget.sizes) {
      if (size.fused) min_y = std::min(min_y, size.fused->step_ns);
    }
    min_y /= 1.2;
    max_y *= 1.2;
  }
  double x(double ns) const { return std::log(ns / min_x) / std::log(max_x / min_x); }  // 0 to 1
  double y(double ns) const { return std::log(ns / min_y) / std::log(max_y / min_y); }
  double kernel_at(double x) const { return min_x * std::pow(max_x / min_x, x); }
};

constexpr int kColumns = 76, kRows = 12;

}  // namespace

std::string plot(const Budget& budget, const Terminal& terminal) {
  const Axes axes(budget);
  BrailleCanvas canvas(kColumns, kRows);
  const auto down = [&](double ns) {
    return static_cast<int>(std::lround(axes.y(ns) * (canvas.dots_down() - 1)));
  };
  const auto across = [&](double ns) {
    return static_cast<int>(std::lround(axes.x(ns) * (canvas.dots_across() - 1)));
  };
  const int knee = across(budget.knee_ns);
  for (int y = 0; y < canvas.dots_down(); y += 3) canvas.dot(knee, y, BrailleCanvas::Layer::Frame);
  for (int x = 0; x < canvas.dots_across(); ++x) {
    const Budget::Size size = budget.at(axes.kernel_at(static_cast<double>(x) / (canvas.dots_across() - 1)));
    canvas.dot(x, down(size.replayed.step_ns), BrailleCanvas::Layer::Lower);
    canvas.dot(x, down(size.now.step_ns), BrailleCanvas::Layer::Upper);
  }
  canvas.mark(across(budget.options.kernel_ns), down(budget.now.step_ns), "●");

  std::string out = terminal.dim("step time") + '\n';
  for (int i = 0; i < kRows; ++i) {
    const std::string label = i == 0           ? readable_ns(axes.max_y)
                              : i == kRows - 1 ? readable_ns(axes.min_y)
                                               : std::string();
    out += terminal.dim(pad_left(label, 9) + " │") + canvas.row(i, terminal) + '\n';
  }
  std::string line;
  for (int i = 0; i < kColumns; ++i) line += i == knee / 2 ? "┴" : "─";
  out += terminal.dim(pad_left("", 9) + " └" + line) + '\n';
  const std::string left = readable_ns(axes.min_x), middle = readable_ns(budget.knee_ns),
                    right = readable_ns(axes.max_x);
  const int before_middle = std::max(columns_of(left) + 1, knee / 2 - columns_of(middle) / 2);
  out += terminal.dim(
             pad_left("", 11) + pad_right(left, before_middle) + middle +
             pad_left(right, std::max(columns_of(right) + 1, kColumns - before_middle - columns_of(middle))) +
             "  kernel") +
         '\n';
  out += pad_left("", 11) + "upper line: " + terminal.cyan("as it is") +
         "; lower: " + terminal.green("replayed") + "; ● yours; dots: the crossover\n";
  return out;
}

std::string Budget::svg() const {
  constexpr double kLeft = 84, kTop = 56, kWidth = 640, kHeight = 300;
  const Axes axes(*this);
  const auto px = [&](double ns) { return kLeft + axes.x(ns) * kWidth; };
  const auto py = [&](double ns) { return kTop + (1 - axes.y(ns)) * kHeight; };
  const auto path = [&](auto&& step_ns) {
    std::string points;
    for (int i = 0; i <= 160; ++i) {
      const double kernel = axes.kernel_at(i / 160.0);
      points += fmt::format("{:.1f},{:.1f} ", px(kernel), py(step_ns(at(kernel))));
    }
    return points;
  };
  std::string out =
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 420" font-family="system-ui, sans-serif" font-size="13">
<style>
svg { background: #fbfaf7; color: #1d2329 } .grid { stroke: #0002 } .quiet { fill: #667 } text { fill: currentColor }
.now { color: #1f6feb } .replayed { color: #1a8f5a } .fused { color: #b7651b } .knee { stroke: #8888; stroke-dasharray: 3 4 }
tspan { fill: currentColor } polyline { fill: none; stroke: currentColor; stroke-width: 2.5; stroke-linejoin: round }
@media (prefers-color-scheme: dark) { svg { background: #14171b; color: #e7e9ec } .grid { stroke: #fff2 } .quiet { fill: #99a }
.now { color: #6cb0ff } .replayed { color: #5fd39b } .fused { color: #f0a35e } }
</style>
)";
  out += fmt::format("<text x=\"20\" y=\"30\" font-size=\"13\" font-weight=\"600\">{}</text>\n", verdict());
  for (const Size& size : sizes) {
    if (size.kernel_ns == options.kernel_ns && size.kernel_ns != knee_ns)
      continue;  // the circle is drawn there
    out += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n",
                       px(size.kernel_ns), kTop, kTop + kHeight);
    out += fmt::format(
        "<text class=\"quiet\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\">{}</text>\n",
        px(size.kernel_ns), kTop + kHeight + 18, readable_ns(size.kernel_ns));
  }
  out += fmt::format("<line class=\"knee\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n",
                     px(knee_ns), kTop, kTop + kHeight);
  if (fused)
    out += fmt::format("<polyline class=\"fused\" points=\"{}\"/>\n",
                       path([](const Size& size) { return size.fused->step_ns; }));
  out += fmt::format("<polyline class=\"replayed\" points=\"{}\"/>\n",
                     path([](const Size& size) { return size.replayed.step_ns; }));
  out += fmt::format("<polyline class=\"now\" points=\"{}\"/>\n",
                     path([](const Size& size) { return size.now.step_ns; }));
  out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5.5\" fill=\"currentColor\"/>\n",
                     px(options.kernel_ns), py(now.step_ns));
  out += fmt::format("<text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLeft - 10,
                     kTop + 5, readable_ns(axes.max_y));
  out += fmt::format("<text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLeft - 10,
                     kTop + kHeight + 4, readable_ns(axes.min_y));
  out += fmt::format(
      "<text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">time of one kernel</text>\n",
      kLeft + kWidth / 2, kTop + kHeight + 40);
  out += fmt::format(
      "<text class=\"quiet\" x=\"{}\" y=\"{}\">step time: <tspan class=\"now\">as it is</tspan>, "
      "<tspan class=\"replayed\">replayed</tspan>{}</text>\n</svg>\n",
      kLeft + 12, kTop + 18, fused ? ", <tspan class=\"fused\">fused</tspan>" : "");
  return out;
}

}  // namespace pel::inspect
