#include "backends/cpu/isa.h"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "base/environment.h"

namespace pel::cpu {

using codegen::Isa;

std::optional<Isa> best_isa() {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (!avx2) return std::nullopt;
  return avx512 ? Isa::Avx512 : Isa::Avx2;
}

static std::optional<Isa> decide_isa() {
  const std::optional<Isa> best = best_isa();
  const char* requested = std::getenv("PELLUCID_ISA");
  if (requested == nullptr || *requested == '\0' || !best) return best;
  for (const Isa isa : {Isa::Avx2, Isa::Avx512}) {
    if (name(isa) == requested && isa <= *best) return isa;
  }
  if (std::string_view(requested) == "amx" && *best == Isa::Avx512) return best;
  log_line("isa",
           fmt::format("PELLUCID_ISA={} is not supported on this processor (supported: avx2{}); using {}",
                       requested, *best == Isa::Avx512 ? ", avx512, amx" : "", name(*best)));
  return best;
}

std::optional<Isa> active_isa() {
  static const std::optional<Isa> isa = decide_isa();
  return isa;
}

}  // namespace pel::cpu
