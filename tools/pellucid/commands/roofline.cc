// pellucid roofline: kernels against the machine's roofs.
#include "inspect/roofline.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "pellucid/error.h"

#include "command.h"

namespace pel::tool {
namespace {

// Before anything is measured.
std::ofstream opened(const std::string& path) {
  std::ofstream file(path);
  if (!file)
    throw FileError(fmt::format("{} cannot be written: give a path in a folder that is there", path));
  return file;
}

}  // namespace

void add_roofline(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("roofline", "Run calls of models, and show how near to the roofs they come");
  struct Arguments {
    std::string svg;
    bool quick = false;
  };
  auto args = std::make_shared<Arguments>();
  command->add_option("--svg", args->svg, "Write a picture of it, too")->type_name("FILE");
  command->add_flag("--quick", args->quick, "Three runs of each call: a second in all, and rougher");
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
    // A busy machine has low roofs when they are measured.
    if (is_above)
      fmt::print(
          stderr,
          "pellucid roofline: a kernel is above the roof: pellucid machine --again when nothing else runs\n");
  });
}

}  // namespace pel::tool
