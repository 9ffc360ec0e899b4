// pellucid anatomy: one call, layer by layer.
#include "inspect/anatomy.h"

#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.h"
#include "inspect/peer_process.h"

namespace pel::tool {
namespace {

constexpr std::int64_t kLargest = 1 << 20;

}  // namespace

void add_anatomy(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("anatomy", "Show one call, layer by layer, and what each layer costs");
  auto options = std::make_shared<inspect::AnatomyOptions>();
  command->add_option("op", options->op, fmt::format("One of {}", fmt::join(inspect::subject_names(), ", ")))
      ->capture_default_str();
  command->add_option("--rows", options->sizes.rows, "Rows of the input")
      ->check(CLI::Range(std::int64_t{1}, kLargest))
      ->capture_default_str();
  command->add_option("--in", options->sizes.in, "Width of the input")
      ->check(CLI::Range(std::int64_t{1}, kLargest))
      ->capture_default_str();
  command->add_option("--out", options->sizes.out, "Width of the result of a matmul")
      ->check(CLI::Range(std::int64_t{1}, kLargest))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads that a kernel may use, here and in libtorch")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--turns", options->turns, "Bursts of each loop; more reduce the noise")
      ->check(CLI::Range(3, 10'000))
      ->capture_default_str();
  auto is_alone = std::make_shared<bool>(false);
  command->add_flag("--alone", *is_alone, "Leave libtorch out");
  command->callback([&context, options, is_alone] {
    options->wants_peer = !*is_alone;
    options->peer = inspect::find_torch_peer();
    options->progress = show_progress;
    const auto anatomy = inspect::Anatomy::measure(*options);
    context.print(context.wants_json ? anatomy.json() : anatomy.text(context.terminal));
  });
}

}  // namespace pel::tool
