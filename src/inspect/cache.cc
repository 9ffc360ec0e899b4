#include "inspect/cache.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/json_writer.h"
#include "inspect/short_path.h"

namespace pel::inspect {
namespace {

constexpr int kName = 14, kSize = 10, kUsed = 22;

// UTC, so that the output does not depend on the place.
std::string date(std::int64_t seconds) {
  using namespace std::chrono;
  const sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = floor<days>(time);
  const year_month_day calendar(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{}-{:02}-{:02} {:02}:{:02} UTC", static_cast<int>(calendar.year()),
                     static_cast<unsigned>(calendar.month()), static_cast<unsigned>(calendar.day()),
                     clock.hours().count(), clock.minutes().count());
}

std::string what_of(const CacheEntry& entry, const Terminal& terminal) {
  if (!entry.problem.empty()) return terminal.yellow("not used: " + entry.problem);
  std::string names;
  for (const std::string& kernel : entry.kernels) names += (names.empty() ? "" : ", ") + kernel;
  const int columns = terminal.columns - kName - kSize - kUsed - 6;
  return fmt::format("{:>3}  {}", entry.kernels.size(), cut_to(names, columns));
}

}  // namespace

CacheReport CacheReport::of_this_user() {
  return {KernelCache::directory(), KernelCache::limit(), KernelCache::entries()};
}

std::int64_t CacheReport::bytes() const {
  return std::accumulate(entries.begin(), entries.end(), std::int64_t{0},
                         [](std::int64_t sum, const CacheEntry& entry) { return sum + entry.bytes; });
}
std::int64_t CacheReport::problems() const {
  return std::ranges::count_if(entries, [](const CacheEntry& entry) { return !entry.problem.empty(); });
}

std::string CacheReport::size_text(const Terminal& terminal) const {
  if (!directory) return terminal.yellow("the kernel cache is off") + "\n";
  return fmt::format("{} of {}, {} {} in {}\n", terminal.bold(readable_bytes(bytes())), readable_bytes(limit),
                     entries.size(), entries.size() == 1 ? "entry" : "entries", short_path(*directory));
}

std::string CacheReport::text(const Terminal& terminal) const {
  std::string text = size_text(terminal);
  if (entries.empty()) return text;
  text += "\n" +
          terminal.bold(fmt::format("{}{}  {}  kernels", pad_right("entry", kName), pad_left("size", kSize),
                                    pad_right("last used", kUsed))) +
          "\n";
  for (const CacheEntry& entry : entries)
    text += fmt::format("{}{}  {}  {}\n", pad_right(entry.name.substr(0, 12), kName),
                        pad_left(readable_bytes(entry.bytes), kSize), pad_right(date(entry.used), kUsed),
                        what_of(entry, terminal));
  return text;
}

std::string CacheReport::problems_text(const Terminal& terminal) const {
  std::string text;
  for (const CacheEntry& entry : entries)
    if (!entry.problem.empty()) text += fmt::format("{}: {}\n", entry.name, what_of(entry, terminal));
  if (!directory) return size_text(terminal);
  const auto count = static_cast<std::int64_t>(entries.size());
  const std::string sum = fmt::format("{} of {} entries can be used", count - problems(), count);
  return text + (problems() == 0 ? terminal.green(sum) : terminal.yellow(sum)) + "\n";
}

std::string CacheReport::json() const {
  JsonWriter json("pellucid.cache/1");
  json.field("directory", directory.value_or("")).field("limit", limit).field("bytes", bytes());
  json.key("entries").begin_array();
  for (const CacheEntry& entry : entries) {
    json.begin_object().field("name", entry.name).field("bytes", entry.bytes).field("used", entry.used);
    json.field("problem", entry.problem).key("kernels").begin_array();
    for (const std::string& kernel : entry.kernels) json.value(kernel);
    json.end_array().end_object();
  }
  return json.end_array().finish();
}

}  // namespace pel::inspect
