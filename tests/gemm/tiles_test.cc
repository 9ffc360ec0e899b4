// GEMM with our own tiles: the bits of an element depend only on its row of a and its column
// of b.
#include <cmath>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <immintrin.h>

#include "pellucid/pellucid.h"

#include "backends/cpu/gemm/amx.h"
#include "backends/cpu/gemm/gemm_tiles.h"
#include "backends/cpu/isa.h"
#include "support/bytes.h"
#include "support/environment.h"
#include "support/errors.h"

namespace pel {
namespace {

using codegen::Isa;
using cpu::TileFamily;
using test::bytes_of;

Tensor noise(Dims sizes, DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  if (!is_floating(dtype)) return to_copy(randint(dtype == kU8 ? 0 : -9, 10, sizes, {}, generator), dtype);
  return to_copy(randn(sizes, {}, generator), dtype);
}

Tensor multiply(const TileFamily& family, const Tensor& a, const Tensor& b, const char* panels = nullptr) {
  const std::int64_t m = a.sizes()[0].value(), k = a.sizes()[1].value(), n = b.sizes()[1].value();
  Tensor out = empty({m, n}, a.dtype());
  cpu::TileGemm product{
      1, m, n, k, a.dtype(), cpu::matrix_of(a), cpu::matrix_of(b), cpu::matrix_of(out), a.dtype(), {}, {}};
  product.packed.data = panels;
  cpu::run_tiles(product, family);
  return out;
}

struct NamedFamily {
  std::string name;
  const TileFamily* family;
};
std::vector<NamedFamily> families(DType dtype) {
  std::vector<NamedFamily> all{{"avx2", &cpu::tiles_for(dtype, Isa::Avx2, false)}};
  if (cpu::best_isa() == Isa::Avx512) all.push_back({"avx512", &cpu::tiles_for(dtype, Isa::Avx512, false)});
  if (dtype == kBF16 && cpu::amx_refusal() == nullptr)
    all.push_back({"amx", &cpu::tiles_for(dtype, Isa::Avx512, true)});
  return all;
}

class Threads {
 public:
  explicit Threads(int count) : before_(thread_count()) { set_thread_count(count); }
  ~Threads() { set_thread_count(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

TEST(Tiles, BitsDoNotDependOnTheBatch) {
  constexpr std::int64_t kRows = 8192, kColumns = 100;
  for (const DType dtype : {kF32, kBF16}) {
    for (const std::int64_t k : {768, 3072, 5000}) {
      const Tensor x = noise({kRows, k}, dtype, 1), weight = noise({kColumns, k}, dtype, 2);
      const Tensor plain = weight.t(), rows = weight.t().clone(Layout::RowMajor);
      const Tensor all = mm(x, plain);
      for (const int threads : {1, 2}) {
        const Threads set(threads);
        for (const std::int64_t count : {1, 7, 64, 512}) {
          for (const std::int64_t first : {0, 13, 1000, 7680}) {
            const std::string label =
                fmt::format("{} k {} rows {} from {} threads {}", name(dtype), k, count, first, threads);
            const Tensor some = x.slice(0, first, first + count);
            const std::vector<char> expected = bytes_of(all.slice(0, first, first + count));
            EXPECT_EQ(bytes_of(mm(some, plain)), expected) << label;
            EXPECT_EQ(bytes_of(mm(some, rows)), expected) << label << " row-major";
            {
              const PackedMatrix packed = pack(plain);
              EXPECT_EQ(bytes_of(mm(some, plain)), expected) << label << " packed";
            }
            if (count == 1) {
              EXPECT_EQ(bytes_of(mv(weight, some.select(0, 0))), expected) << label << " as a vector";
            }
            for (const NamedFamily& each : families(dtype))
              EXPECT_EQ(bytes_of(multiply(*each.family, some, plain)), expected) << label << " " << each.name;
          }
        }
      }
    }
  }
}

// Runs every family with every remainder of rows, columns and depth, in every layout.
TEST(Tiles, EveryFamilyProducesTheSameBits) {
  std::int64_t number = 0;
  for (const DType dtype : {kF32, kF64, kF16, kBF16, kI8, kU8, kI16, kI32, kI64, kBool}) {
    for (std::int64_t m = 1; m <= 70; ++m) {
      for (const std::int64_t n : {1, 2, 5, 15, 16, 17, 31, 33, 48, 63, 97}) {
        for (const std::int64_t k : {1, 2, 31, 33, 1023, 1026, 2050}) {
          if (number++ % (m <= 9 ? 5 : 31) != 0 || number % test::test_share() != 0) continue;
          const std::uint64_t seed = static_cast<std::uint64_t>(number);
          const Tensor a = seed % 3 == 0 ? noise({k, m}, dtype, seed).t() : noise({m, k}, dtype, seed),
                       b = seed % 2 == 0 ? noise({n, k}, dtype, seed + 1).t()
                                         : noise({k, n}, dtype, seed + 1);
          const std::vector<char> expected = bytes_of(mm(a, b));
          for (const NamedFamily& each : families(dtype)) {
            const std::string label =
                fmt::format("{} {}x{}x{} seed {} {}", name(dtype), m, n, k, seed, each.name);
            ASSERT_EQ(bytes_of(multiply(*each.family, a, b)), expected) << label;
            const Tensor panels = empty({cpu::panels_bytes(*each.family, k, n)}, kU8);
            const cpu::PackSource source{cpu::matrix_of(b), dtype};
            cpu::pack_matrices(*each.family, {&source, 1}, k, n, static_cast<char*>(panels.raw_data()));
            ASSERT_EQ(bytes_of(multiply(*each.family, a, b, static_cast<char*>(panels.raw_data()))), expected)
                << label << " packed";
          }
        }
      }
    }
  }
}

// Sums that go on after a multiple of kChainDepth are those of one GEMM.
TEST(Tiles, ContinuedSumsHaveTheBitsOfOneGemm) {
  for (const DType dtype : {kF32, kF64, kF16, kBF16}) {
    for (const std::int64_t m : {1, 5, 70, 140}) {
      for (const std::int64_t n : {1, 3, 33, 96, 200}) {
        for (const std::int64_t k : {1024, 1030, 3500}) {
          const Tensor a = n % 3 == 0 ? noise({k, m}, dtype, 1).t() : noise({m, k}, dtype, 1),
                       b = m % 2 == 0 ? noise({n, k}, dtype, 2).t() : noise({k, n}, dtype, 2);
          for (const NamedFamily& each : families(dtype)) {
            const DType type = each.family->type;
            const Tensor whole = empty({m, n}, type), parts = empty({m, n}, type);
            const auto add = [&](const Tensor& to, std::int64_t first, std::int64_t depth) {
              cpu::TileGemm gemm{1,
                                 m,
                                 n,
                                 depth,
                                 dtype,
                                 cpu::matrix_of(a.slice(1, first, first + depth)),
                                 cpu::matrix_of(b.slice(0, first, first + depth)),
                                 cpu::matrix_of(to),
                                 type,
                                 {},
                                 {}};
              gemm.continues = first > 0;
              cpu::run_tiles(gemm, *each.family);
            };
            add(whole, 0, k);
            for (std::int64_t first = 0; first < k; first += 1024)
              add(parts, first, std::min<std::int64_t>(1024, k - first));
            ASSERT_EQ(bytes_of(parts), bytes_of(whole))
                << fmt::format("{} {}x{}x{} {}", name(dtype), m, n, k, each.name);
          }
        }
      }
    }
  }
}

// Covers more than one block of depth, and depth 0.
TEST(Tiles, DeepAndEmptySums) {
  for (const DType dtype : {kF32, kBF16}) {
    for (const std::int64_t k : {0, 9000, 17'000}) {
      const Tensor x = noise({140, k}, dtype, 12), b = noise({50, k}, dtype, 13).t();
      const Tensor all = mm(x, b);
      for (const std::int64_t rows : {1, 7, 70}) {
        const Tensor some = x.slice(0, 0, rows);
        const std::vector<char> expected = bytes_of(all.slice(0, 0, rows));
        for (const Tensor& right : {b, b.clone(Layout::RowMajor)}) {
          EXPECT_EQ(bytes_of(mm(some, right)), expected) << name(dtype) << " " << k << " " << rows;
          const PackedMatrix packed = pack(right);
          EXPECT_EQ(bytes_of(mm(some, right)), expected)
              << name(dtype) << " " << k << " " << rows << " packed";
          for (const NamedFamily& each : families(dtype))
            EXPECT_EQ(bytes_of(multiply(*each.family, some, right)), expected)
                << name(dtype) << " " << each.name;
        }
      }
    }
  }
}

// Uses numbers around the smallest normal one: intermediate products and sums are flushed.
TEST(Tiles, DenormalsOfBfloatAreFlushedAlike) {
  for (const double scale : {0x1p-63, 0x1p-64, 0x1p-66, 0x1p-126, 0x1p-130}) {
    for (const std::int64_t k : {3, 31, 64, 100}) {
      for (const std::int64_t m : {1, 5, 40, 100}) {
        const Tensor a = to_copy(mul(noise({m, k}, kF32, 3), scale), kBF16),
                     b = to_copy(mul(noise({k, 48}, kF32, 4), scale < 0x1p-100 ? 1.0 : 0x1p-62), kBF16);
        const std::vector<char> expected = bytes_of(mm(a, b));
        for (const NamedFamily& each : families(kBF16))
          EXPECT_EQ(bytes_of(multiply(*each.family, a, b)), expected)
              << scale << " " << k << " " << m << " " << each.name;
        // The tiny kernel runs element by element.
        const Tensor one = mm(a.slice(0, 0, 1), b.slice(1, 0, 3).clone(Layout::RowMajor));
        EXPECT_EQ(bytes_of(one), bytes_of(mm(a, b).slice(0, 0, 1).slice(1, 0, 3))) << scale << " " << k;
      }
    }
  }
}

__attribute__((target("amx-tile"))) void use_tiles_as_a_host_would() {
  static constexpr struct alignas(64) {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {8, 16};
    std::uint8_t rows[16] = {3, 2};
  } configuration;
  _tile_loadconfig(&configuration);
  _tile_zero(0);
}

TEST(Tiles, AHostMayUseAmxToo) {
  if (const char* reason = cpu::amx_refusal()) GTEST_SKIP() << reason;
  const Tensor a = noise({40, 96}, kBF16, 5), b = noise({96, 80}, kBF16, 6);
  const std::vector<char> expected = bytes_of(mm(a, b));
  use_tiles_as_a_host_would();
  EXPECT_EQ(bytes_of(mm(a, b)), expected);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      if (i % 2 == 0) use_tiles_as_a_host_would();
      for (int repeat = 0; repeat < 20; ++repeat) EXPECT_EQ(bytes_of(mm(a, b)), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::string kernel_of(const std::function<void()>& f) {
  Recording recording;
  f();
  return recording.events().empty() ? "" : recording.events()[0].name;
}

TEST(Packing, LastsAsLongAsTheMatrixIsUnchanged) {
  for (const DType dtype : {kF32, kBF16, kF16, kI32}) {
    const Tensor x = noise({70, 200}, dtype, 7), weight = noise({130, 200}, dtype, 8);
    const std::vector<char> before = bytes_of(mm(x, weight.t()));
    const auto kernel = [&] { return kernel_of([&] { mm(x, weight.t()); }); };
    EXPECT_NE(kernel().find("_tn_"), std::string::npos) << kernel();
    {
      const PackedMatrix packed = pack(weight.t());
      EXPECT_GE(packed.size_bytes(), 130 * 200 * size_bytes(dtype));
      EXPECT_NE(kernel().find("_pn_"), std::string::npos) << kernel();
      EXPECT_EQ(bytes_of(mm(x, weight.t())), before);
      EXPECT_EQ(bytes_of(linear(x.view({2, 35, 200}), weight)), before);
      add_(weight, 1);
      EXPECT_FALSE(packed.is_current());
      EXPECT_NE(kernel().find("_tn_"), std::string::npos) << kernel();
      EXPECT_EQ(bytes_of(mm(x, weight.t())), bytes_of(mm(x, weight.t().clone(Layout::RowMajor))));
    }
    EXPECT_NE(kernel().find("_tn_"), std::string::npos) << kernel();
  }
  EXPECT_EQ(test::thrown_by<ShapeError>([&] { pack(ones({3})); }).message(),
            "expected a matrix with 2 axes; f32[3] has 1");
}

TEST(Packing, TheCacheIsOffAndBounded) {
  const Tensor x = ones({70, 64}), first = noise({96, 64}, kF32, 9), second = noise({96, 64}, kF32, 10);
  const auto kernel = [&](const Tensor& weight) { return kernel_of([&] { linear(x, weight); }); };
  for (int i = 0; i < 3; ++i) EXPECT_NE(kernel(first).find("_tn_"), std::string::npos);
  EXPECT_EQ(packing_cache_bytes(), 0);
  set_packing_cache(30'000);  // fits one of them
  EXPECT_NE(kernel(first).find("_tn_"), std::string::npos);
  EXPECT_NE(kernel(first).find("_pn_"), std::string::npos);
  const std::int64_t one = packing_cache_bytes();
  EXPECT_GE(one, 96 * 64 * 4);
  for (int i = 0; i < 2; ++i) kernel(second);
  EXPECT_NE(kernel(second).find("_pn_"), std::string::npos);
  EXPECT_LE(packing_cache_bytes(), 30'000);
  add_(second, 1);  // differs from the packed copy
  EXPECT_NE(kernel(second).find("_tn_"), std::string::npos);
  set_packing_cache(0);
  EXPECT_EQ(packing_cache_bytes(), 0);
  EXPECT_NE(kernel(first).find("_tn_"), std::string::npos);
}

TEST(Determinism, OneDnnRequiresRelaxed) {
  const Tensor a = ones({64, 256}), b = ones({256, 256});
  const auto engines = [&] {
    std::vector<KernelCandidate> found;
    for (const KernelCandidate& c : explain_matmul(a, b).candidates)
      if (c.name.find("onednn") != std::string::npos) found.push_back(c);
    return found;
  };
  if (engines().empty()) GTEST_SKIP() << "built without oneDNN";
  EXPECT_EQ(engines()[0].refusal, "needs Determinism::Relaxed");
  set_determinism(Determinism::Relaxed);
  EXPECT_EQ(engines()[0].refusal, "");
  set_determinism(Determinism::Strict);
}

}  // namespace
}  // namespace pel
