// pellucid roofline: kernels compared with the machine's roofs.
#include "inspect/roofline.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "pellucid/error.h"

#include "command.h"

namespace pel::tool {
namespace {

// Checked before anything is measured.
std::ofstream opened(const std::string& path) {
  std::ofstream file(path);
  if (!file) throw FileError(fmt::format("{} cannot be written: pass a path in an existing folder", path));
  return file;
}

}  // namespace

void add_roofline(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "roofline", "Run typical calls of models, and show how close to the roofs they come");
  struct Arguments {
    std::string svg;
    bool quick = false;
  };
  auto args = std::make_shared<Arguments>();
  command->add_option("--svg", args->svg, "Also write the plot as SVG")->type_name("FILE");
  command->add_flag("--quick", args->quick, "Run each call three times: a second in total, and noisier");
  command->callback([&context, args] {
    std::ofstream picture;
    if (!args->svg.empty()) picture = opened(args->svg);
    const inspect::Roofline roofline = inspect::measure_roofline(
        known_or_measured(), args->quick ? inspect::Thoroughness::Quick : inspect::Thoroughness::Full,
        show_progress);
    if (picture.is_open()) {
      picture << roofline.svg();
      fmt::print(stderr, "pellucid roofline: wrote {}\n", args->svg);
    }
    const bool is_above = std::any_of(roofline.points.begin(), roofline.points.end(),
                                      [](const inspect::RooflinePoint& p) { return p.share() > 1.1; });
    context.print(context.wants_json ? roofline.json() : roofline.text(context.terminal));
    // Roofs that were measured on a busy machine are too low.
    if (is_above)
      fmt::print(stderr,
                 "pellucid roofline: a kernel is above the roof: run pellucid machine --again when nothing "
                 "else runs\n");
  });
}

}  // namespace pel::tool
