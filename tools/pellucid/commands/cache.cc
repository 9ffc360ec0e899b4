// pellucid cache: the compiled kernels that are kept on disk.
#include "inspect/cache.h"

#include <fmt/format.h>

#include "command.h"

namespace pel::tool {

void add_cache(CLI::App& app, Context& context) {
  CLI::App* cache = app.add_subcommand("cache", "Show, check or clear the kernels that are kept on disk");
  cache->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, std::function<std::string(Context&)> text) {
    cache->add_subcommand(name, help)->callback([&context, text = std::move(text)] {
      context.print(context.wants_json ? inspect::CacheReport::of_this_user().json() : text(context));
    });
  };
  add("list", "List the entries: size, last use, kernels",
      [](Context& to) { return inspect::CacheReport::of_this_user().text(to.terminal); });
  add("size", "Print how much the cache holds, and where",
      [](Context& to) { return inspect::CacheReport::of_this_user().size_text(to.terminal); });
  add("verify", "Check every entry; the exit code is 5 if one cannot be used", [](Context& to) {
    const inspect::CacheReport report = inspect::CacheReport::of_this_user();
    if (report.problems() > 0) to.exit_code = kReadInPart;
    return report.problems_text(to.terminal);
  });
  cache->add_subcommand("clear", "Remove all entries and the key")->callback([&context] {
    context.refuse_json("how many entries it removed");
    context.print(context.terminal.bold(fmt::format("removed {} entries", KernelCache::clear())) + "\n");
  });
}

}  // namespace pel::tool
