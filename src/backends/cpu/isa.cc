#include "backends/cpu/isa.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/environment.h"

namespace pel::cpu {

using codegen::Isa;

#if defined(__x86_64__)

std::optional<Isa> best_isa() {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (!avx2) return std::nullopt;
  return avx512 ? Isa::Avx512 : Isa::Avx2;
}
static constexpr std::string_view kComplement = "amx";  // of the best one

#else

std::optional<Isa> best_isa() { return Isa::Neon; }
static constexpr std::string_view kComplement;

#endif

static std::optional<Isa> decide_isa() {
  const std::optional<Isa> best = best_isa();
  const char* requested = std::getenv("PELLUCID_ISA");
  if (requested == nullptr || *requested == '\0' || !best) return best;
  std::string supported;
  for (const codegen::IsaFacts& each : codegen::kIsas) {
    if (each.architecture != codegen::kArchitecture || each.isa > *best) continue;
    if (each.name == requested) return each.isa;
    supported += fmt::format("{}{}", supported.empty() ? "" : ", ", each.name);
  }
  if (*best == Isa::Avx512) {
    if (requested == kComplement) return best;
    supported += fmt::format(", {}", kComplement);
  }
  log_line("isa", fmt::format("PELLUCID_ISA={} is not supported on this processor (supported: {}); using {}",
                              requested, supported, name(*best)));
  return best;
}

std::optional<Isa> active_isa() {
  static const std::optional<Isa> isa = decide_isa();
  return isa;
}

}  // namespace pel::cpu
