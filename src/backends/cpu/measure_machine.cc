// Measures the peaks of this processor: arithmetic without memory, memory without arithmetic.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include "pellucid/machine.h"

#include "backends/cpu/gemm/amx.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/lanes.h"
#include "base/check.h"
#include "base/cpu.h"
#include "base/huge_pages.h"
#include "base/thread_pool.h"
#include "profile/machine_file.h"

namespace pel {
namespace {

using cpu::all_lanes, cpu::F32x8, cpu::fma, cpu::I32x8, cpu::load, cpu::store;

constexpr int kChains = 12;  // independent: an addition has a latency of 4 cycles, and two start in each
constexpr std::int64_t kRounds = 20000;

// A peak and the operations per run. The result is stored, so that the compiler does not remove it.
struct Peak {
  DType dtype;
  const char* by;
  double flops;
  void (*run)(float* sink);
};

// Of 32 bytes: eight f32 or four f64.
template <class V>
PEL_LANES void chains(float* sink) {
  V sums[kChains];
  for (V& s : sums) s = all_lanes<V>(1);
  const auto x = all_lanes<V>(0.999F), y = all_lanes<V>(0.001F);
  for (std::int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = fma(sums[c], x, y);
  }
  for (int c = 0; c < kChains; ++c) store(sink + 8 * c, sums[c]);
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void chains_f32_512(float* sink) {
  __m512 sums[kChains];
  for (__m512& s : sums) s = _mm512_set1_ps(1);
  const __m512 x = _mm512_set1_ps(0.999F), y = _mm512_set1_ps(0.001F);
  for (std::int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = _mm512_fmadd_ps(sums[c], x, y);
  }
  for (int c = 0; c < kChains; ++c) _mm512_storeu_ps(sink + 16 * c, sums[c]);
}
__attribute__((target("avx512f"))) void chains_f64_512(float* sink) {
  __m512d sums[kChains];
  for (__m512d& s : sums) s = _mm512_set1_pd(1);
  const __m512d x = _mm512_set1_pd(0.999), y = _mm512_set1_pd(0.001);
  for (std::int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = _mm512_fmadd_pd(sums[c], x, y);
  }
  for (int c = 0; c < kChains; ++c) _mm512_storeu_ps(sink + 16 * c, _mm512_castpd_ps(sums[c]));
}
// Four sums of sixteen by sixteen, each over 32 products.
__attribute__((target("amx-tile,amx-bf16"))) void chains_amx(float* sink) {
  const cpu::AmxRegisters registers;
  alignas(64) std::array<std::uint16_t, 512> ones;
  ones.fill(0x3f80);
  _tile_loadd(4, ones.data(), 64);
  _tile_loadd(5, ones.data(), 64);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t i = 0; i < kRounds / 16; ++i) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
  }
  alignas(64) std::array<float, 256> sums;
  _tile_stored(0, sums.data(), 64);
  sink[0] = sums[0];
}

#endif

std::vector<Peak> supported_peaks() {
  const double rounds = static_cast<double>(kRounds) * kChains * 2;
  std::vector<Peak> peaks = {{DType::F32, "fused multiply-add of 256 bits", rounds * 8, chains<cpu::F32x8>},
                             {DType::F64, "fused multiply-add of 256 bits", rounds * 4, chains<cpu::F64x4>}};
#if defined(__x86_64__)
  if (cpu::active_isa() == codegen::Isa::Avx512)
    peaks = {{DType::F32, "fused multiply-add of 512 bits", rounds * 16, chains_f32_512},
             {DType::F64, "fused multiply-add of 512 bits", rounds * 8, chains_f64_512}};
  if (cpu::amx_refusal() == nullptr)
    peaks.push_back(
        {DType::BF16, "AMX", static_cast<double>(kRounds / 16) * 4 * 16 * 16 * 32 * 2, chains_amx});
#endif
  return peaks;
}

// Reads and adds with registers of one width. A plain sum of the values read would be bound by the latency of
// its additions.
struct MemoryKernels {
  void (*read)(const float* from, std::int64_t count, float* sink);
  void (*add)(float* to, const float* a, const float* b, std::int64_t count);
};

PEL_LANES void read_256(const float* from, std::int64_t count, float* sink) {
  I32x8 sums[8] = {};
  for (std::int64_t i = 0; i + 64 <= count; i += 64) {
#pragma GCC unroll 8
    for (int c = 0; c < 8; ++c) sums[c] ^= load<I32x8>(from + i + 8 * c);
  }
  for (int c = 0; c < 8; ++c) store(sink + 8 * c, sums[c]);
}
PEL_LANES void add_256(float* to, const float* a, const float* b, std::int64_t count) {
  for (std::int64_t i = 0; i + 8 <= count; i += 8) store(to + i, load<F32x8>(a + i) + load<F32x8>(b + i));
}
#if defined(__x86_64__)
__attribute__((target("avx512f"))) void read_512(const float* from, std::int64_t count, float* sink) {
  __m512i sums[4] = {};
  for (std::int64_t i = 0; i + 64 <= count; i += 64) {
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) sums[c] = _mm512_xor_si512(sums[c], _mm512_loadu_si512(from + i + 16 * c));
  }
  for (int c = 0; c < 4; ++c) _mm512_storeu_si512(sink + 16 * c, sums[c]);
}
__attribute__((target("avx512f"))) void add_512(float* to, const float* a, const float* b,
                                                std::int64_t count) {
  for (std::int64_t i = 0; i + 16 <= count; i += 16)
    _mm512_storeu_ps(to + i, _mm512_add_ps(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i)));
}
#endif

MemoryKernels memory_kernels() {
#if defined(__x86_64__)
  if (cpu::active_isa() == codegen::Isa::Avx512) return {read_512, add_512};
#endif
  return {read_256, add_256};
}

double seconds_of(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Returns the minimum of many runs: interference only makes a run longer.
double best_seconds(double budget, const std::function<void()>& f) {
  double best = seconds_of(f), spent = best;
  for (int i = 0; i < 5 || spent < budget; ++i) {
    const double now = seconds_of(f);
    best = std::min(best, now);
    spent += now;
  }
  return best;
}

// Runs one piece per thread. Pieces repeat long enough for all of them to overlap.
void on_all_threads(int threads, const std::function<void(int)>& piece) {
  parallel_for(threads, Grain::whole(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) piece(static_cast<int>(i));
  });
}

struct Level {
  const char* name;
  int size_name;   // sysconf name
  bool is_shared;  // by all threads
};
constexpr Level kLevels[] = {{"L1", _SC_LEVEL1_DCACHE_SIZE, false},
                             {"L2", _SC_LEVEL2_CACHE_SIZE, false},
                             {"L3", _SC_LEVEL3_CACHE_SIZE, true}};

double level_gb_per_s(float* data, std::int64_t floats_each, int threads) {
  const MemoryKernels kernels = memory_kernels();
  const std::int64_t bytes = floats_each * 4;
  const std::int64_t repeats = std::max<std::int64_t>(1, (std::int64_t{8} << 20) / bytes);
  const double moved = static_cast<double>(bytes * repeats) * threads;
  std::vector<std::array<float, 64>> sinks(static_cast<std::size_t>(threads));
  const double reading = best_seconds(0.08, [&] {
    on_all_threads(threads, [&](int t) {
      for (std::int64_t r = 0; r < repeats; ++r)
        kernels.read(data + t * floats_each, floats_each, sinks[static_cast<std::size_t>(t)].data());
    });
  });
  const std::int64_t third = floats_each / 3 / 64 * 64;
  const double adding = best_seconds(0.08, [&] {
    on_all_threads(threads, [&](int t) {
      float* const own = data + t * floats_each;
      for (std::int64_t r = 0; r < repeats; ++r) kernels.add(own, own + third, own + 2 * third, third);
    });
  });
  const double added = static_cast<double>(third * 12 * repeats) * threads;
  return std::max(moved / reading, added / adding) / 1e9;
}

// The median time from the call of a loop until a worker runs a piece of it.
double ns_to_join(bool is_parked) {
  using Clock = std::chrono::steady_clock;
  constexpr double kTooLong = 20e6;  // the worker's processor serves another process
  const auto ns_since = [](Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  };
  std::vector<double> times;
  for (int round = 0; round < (is_parked ? 41 : 401); ++round) {
    if (is_parked) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than workers spin
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<double> joined = kTooLong;
    const Clock::time_point begin = Clock::now();
    on_all_threads(2, [&](int) {
      if (std::this_thread::get_id() != caller) {
        joined = ns_since(begin);
      } else {  // leaves the other piece to the worker
        while (joined == kTooLong && ns_since(begin) < kTooLong) pause_spinning();
      }
    });
    times.push_back(joined);
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

}  // namespace

Machine Machine::measure(const std::function<void(const char* what, double done)>& progress) {
  const auto report = [&](const char* what, double done) {
    if (progress) progress(what, done);
  };
  PEL_CHECK(cpu::active_isa(), ValueError, "measuring the machine needs AVX2, which this processor lacks");
  Machine machine = profile::empty_machine();
  const int threads = machine.threads;
  double step = 0;
  for (const Peak& peak : supported_peaks()) {
    report("arithmetic", step++ / 9);
    std::vector<std::array<float, 256>> sinks(static_cast<std::size_t>(threads));
    const double seconds = best_seconds(0.15, [&] {
      on_all_threads(threads, [&](int t) { peak.run(sinks[static_cast<std::size_t>(t)].data()); });
    });
    machine.peaks.push_back({peak.dtype, peak.flops * threads / seconds / 1e9, peak.by});
  }
  std::int64_t last = std::int64_t{8} << 20;
  for (const Level& level : kLevels) {
    const std::int64_t each = sysconf(level.size_name);
    if (each > 0) last = std::max(last, each * (level.is_shared ? 1 : threads));
  }
  // More than all caches hold, in full pages.
  const auto bytes =
      static_cast<std::size_t>(std::min(4 * last, std::int64_t{1} << 30)) / kHugePageBytes * kHugePageBytes;
  auto* const data = reinterpret_cast<float*>(map_huge_pages(bytes));
  PEL_CHECK(data != nullptr, MemoryError, "could not allocate {} bytes to measure memory", bytes);
  std::fill_n(data, bytes / 4, 1.0F);
  for (const Level& level : kLevels) {
    report(level.name, step++ / 9);
    const std::int64_t each = sysconf(level.size_name);
    if (each <= 0) continue;  // the system does not report it
    const std::int64_t all = level.is_shared ? each : each * threads;
    // Half of the cache: the rest is for other data of the thread.
    machine.levels.push_back(
        {level.name, all, level_gb_per_s(data, all / threads / 2 / 4 / 64 * 64, threads)});
  }
  report("memory", step++ / 9);
  machine.levels.push_back(
      {"memory", 0, level_gb_per_s(data, static_cast<std::int64_t>(bytes) / threads / 4 / 64 * 64, threads)});
  munmap(data, bytes);
  if (threads > 1) {
    report("threads", step++ / 9);
    machine.wake_ns = ns_to_join(true);
    machine.join_ns = ns_to_join(false);
  }
  profile::keep_machine(machine);
  report("", 1);
  return machine;
}

}  // namespace pel
