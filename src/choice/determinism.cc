#include "pellucid/determinism.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "base/environment.h"

namespace pel {
namespace {

Determinism at_start() {
  const char* text = std::getenv("PELLUCID_DETERMINISM");
  const std::string_view asked = text == nullptr ? "" : text;
  if (asked == "relaxed") return Determinism::Relaxed;
  if (!asked.empty() && asked != "strict")
    log_line("determinism",
             fmt::format("PELLUCID_DETERMINISM={} is neither strict nor relaxed; using strict", asked));
  return Determinism::Strict;
}

std::atomic<Determinism>& current() {
  static std::atomic<Determinism> value{at_start()};
  return value;
}

}  // namespace

Determinism determinism() { return current().load(std::memory_order_relaxed); }
void set_determinism(Determinism value) { current().store(value, std::memory_order_relaxed); }

}  // namespace pel
