#include "backends/cpu/gemm/amx.h"

#if defined(__x86_64__)

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/cpu/isa.h"

namespace pel::cpu {
namespace {

bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kBf16) != 0 && (d & kTiles) != 0;
}

// Linux enables the tile state only for processes that request it.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

const char* decide() {
  if (!has_amx()) return "the processor has no AMX with bf16";
  if (active_isa() != codegen::Isa::Avx512) return "PELLUCID_ISA selects an older instruction set";
  const char* requested = std::getenv("PELLUCID_ISA");
  if (requested != nullptr && std::string_view(requested) == "avx512")
    return "PELLUCID_ISA selects an older instruction set";
  return may_use_tiles() ? nullptr : "the operating system does not permit this process to use AMX";
}

struct alignas(64) Configuration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(Configuration) == 64);

__attribute__((target("amx-tile"))) void configure() {
  static constexpr Configuration kConfiguration;
  _tile_loadconfig(&kConfiguration);
}
__attribute__((target("amx-tile"))) void release() { _tile_release(); }

}  // namespace

const char* amx_refusal() {
  static const char* const reason = decide();
  return reason;
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) void round_amx_sums(
    char* to, std::int64_t to_step, const char* sums, std::int64_t sums_step, std::int64_t rows,
    std::int64_t columns) {
  constexpr std::int64_t kWide = 32, kNarrow = 16;
  for (std::int64_t r = 0; r < rows; ++r, to += to_step, sums += sums_step) {
    std::int64_t c = 0;
    for (; c + kWide <= columns; c += kWide) {
      const __m512bh both =
          _mm512_cvtne2ps_pbh(_mm512_loadu_ps(sums + 4 * (c + kNarrow)), _mm512_loadu_ps(sums + 4 * c));
      _mm512_storeu_si512(to + 2 * c, reinterpret_cast<const __m512i&>(both));
    }
    for (; c < columns; c += kNarrow) {
      const auto mask = static_cast<__mmask16>(columns - c >= kNarrow ? 0xffff : (1 << (columns - c)) - 1);
      const __m256bh some = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, sums + 4 * c));
      _mm256_mask_storeu_epi16(to + 2 * c, mask, reinterpret_cast<const __m256i&>(some));
    }
  }
}

AmxRegisters::AmxRegisters() { configure(); }
AmxRegisters::~AmxRegisters() { release(); }

}  // namespace pel::cpu

#else

namespace pel::cpu {

const char* amx_refusal() { return "the processor has no AMX with bf16"; }
void round_amx_sums(char*, std::int64_t, const char*, std::int64_t, std::int64_t, std::int64_t) {}
AmxRegisters::AmxRegisters() = default;
AmxRegisters::~AmxRegisters() = default;

}  // namespace pel::cpu

#endif
