// Sums against a wider one, relative to the sum of the terms' sizes, over dtypes, layouts, axes and sizes;
// and the same bits from every instruction set, number of threads and layout.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/threads.h"

#include "backends/cpu/isa.h"
#include "backends/cpu/pointwise.h"
#include "conformance/values.h"

namespace pel::conformance {
namespace {

struct Sum {
  DType dtype;
  std::int64_t rows, columns;
  int layout;  // 0 row-major, 1 transposed, 2 every other column
  int axis;    // -1: both

  std::string name() const {
    return fmt::format("sum/{}/{}x{}/layout{}/axis{}", pel::name(dtype), rows, columns, layout, axis);
  }
  Tensor input() const {
    ArgumentSource source(std::hash<std::string>()(name()));
    Pointwise facts;
    facts.tries_extremes = false;
    const std::vector<Dim> sizes = layout == 1   ? std::vector<Dim>{columns, rows}
                                   : layout == 2 ? std::vector<Dim>{rows, 2 * columns}
                                                 : std::vector<Dim>{rows, columns};
    const Tensor t = make_dense(sizes, dtype, kCpu);
    source.fill(facts, 0, dtype, t.raw_data(), t.numel().value());
    return layout == 1 ? t.t() : layout == 2 ? t.slice(1, 0, 2 * columns, 2) : t;
  }
  Tensor result(const Tensor& x) const { return axis < 0 ? sum(x) : sum(x, {axis}); }
};

std::vector<Sum> all_sums() {
  std::vector<Sum> sums;
  for (int d = 0; d < kDTypeCount; ++d) {
    for (const auto& [rows, columns] :
         {std::pair{1, 1}, {1, 7}, {3, 31}, {33, 5}, {17, 1023}, {5, 1025}, {1025, 9}, {2, 40000}}) {
      for (int layout = 0; layout < 3; ++layout) {
        for (int axis = -1; axis < 2; ++axis)
          sums.push_back({static_cast<DType>(d), rows, columns, layout, axis});
      }
    }
  }
  return sums;
}

// The terms of each output, summed wide, and the sum of their sizes.
struct Wide {
  long double sum = 0, size = 0;
};
std::vector<Wide> wide_sums(const Sum& s, const Tensor& dense) {
  std::vector<Wide> outputs(static_cast<std::size_t>(s.axis == 0 ? s.columns : s.axis == 1 ? s.rows : 1));
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t c = 0; c < s.columns; ++c) {
      Wide& wide = outputs[static_cast<std::size_t>(s.axis == 0 ? c : s.axis == 1 ? r : 0)];
      const auto term = element<long double>(dense.raw_data(), dense.dtype(), r * s.columns + c);
      wide.sum += term;
      wide.size += std::abs(term);
    }
  }
  return outputs;
}

TEST(Reductions, SumsAreWithinTheirBound) {
  int ran = 0;
  for (const Sum& s : all_sums()) {
    const Tensor x = s.input(), result = s.result(x), dense = x.clone(Layout::RowMajor);
    const std::vector<Wide> wides = wide_sums(s, dense);
    for (std::int64_t o = 0; o < result.numel().value(); ++o, ++ran) {
      const Wide& wide = wides[static_cast<std::size_t>(o)];
      const auto got = element<long double>(result.raw_data(), result.dtype(), o);
      // A chain is at most 32 + 5 additions a level, and there are two levels here; then one rounding to the
      // dtype.
      const int digits = s.dtype == kF64 ? 52 : 23;
      const long double chain = is_floating(s.dtype) ? 74 * std::ldexp(wide.size, -digits - 1) : 0;
      const long double rounding = is_floating(s.dtype) ? ulp(wide.sum, s.dtype) : 0;
      ASSERT_LE(std::abs(got - wide.sum), chain + rounding) << s.name() << " output " << o;
    }
  }
  std::printf("%d sums\n", ran);
}

TEST(Reductions, ThreadsInstructionSetsAndLayoutsGiveTheSameBits) {
  ASSERT_TRUE(cpu::best_isa().has_value()) << "this processor has no AVX2";
  const int threads_before = thread_count();
  for (const Sum& s : all_sums()) {
    const Tensor x = s.input();
    const Tensor first = s.result(x);
    for (const codegen::Isa isa : {codegen::Isa::Avx2, *cpu::best_isa()}) {
      cpu::register_pointwise(isa);
      for (const int threads : {1, 3}) {
        set_thread_count(threads);
        for (const Tensor& same : {x, x.clone(Layout::RowMajor), x.t().clone(Layout::RowMajor).t()}) {
          const Tensor again = s.result(same);
          for (std::int64_t o = 0; o < first.numel().value(); ++o)
            ASSERT_TRUE(same_bits(first.raw_data(), again.raw_data(), first.dtype(), o))
                << s.name() << " " << name(isa) << " " << threads << " threads";
        }
      }
    }
    cpu::register_pointwise(*cpu::active_isa());
  }
  set_thread_count(threads_before);
}

TEST(Reductions, NothingSumsToZero) {
  EXPECT_EQ(sum(zeros({0, 3})).item().to_double(), 0);
  const Tensor columns = sum(zeros({0, 3}), {0});
  EXPECT_EQ(to_string(columns.sizes()), "[3]");
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(element<double>(columns.raw_data(), kF32, i), 0);
}

}  // namespace
}  // namespace pel::conformance
