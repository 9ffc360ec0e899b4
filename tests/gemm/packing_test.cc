// Checks packed operands against their definition: element by element, with zeros for the padding.
// Packing for AMX needs AVX-512, but not AMX itself.
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cpu/elementwise/rounding.h"
#include "backends/cpu/gemm/gemm_pack.h"
#include "backends/cpu/isa.h"

namespace pel {
namespace {

using cpu::kRegister;
using cpu::kRegisterRow;
using cpu::Matrix;
using cpu::PackRange;
using cpu::PackSource;
using cpu::TileFamily;

class PackingForAmx : public testing::Test {
 protected:
  void SetUp() override {
    if (cpu::best_isa() != codegen::Isa::Avx512) GTEST_SKIP() << "the processor has no AVX-512";
  }
  const TileFamily& family() { return cpu::tiles_for(kBF16, codegen::Isa::Avx512, true); }
};

// Elements that are distinct modulo 65,536.
struct Source {
  Source(std::int64_t rows, std::int64_t columns, bool by_columns)
      : elements(static_cast<std::size_t>(rows * columns)),
        by_columns(by_columns),
        source{{nullptr, 0, by_columns ? 1 : columns, by_columns ? rows : 1}, kBF16} {
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::uint16_t>(i * 40503 + 1);
    source.matrix.data = reinterpret_cast<char*>(elements.data());
  }
  std::uint16_t at(std::int64_t row, std::int64_t column) const {
    std::uint16_t element = 0;
    std::memcpy(&element, source.at(row, column), sizeof(element));
    return element;
  }
  std::vector<std::uint16_t> elements;
  bool by_columns;
  PackSource source;
};

std::uint16_t word_at(const std::vector<char>& bytes, std::int64_t at) {
  std::uint16_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

TEST_F(PackingForAmx, RowsAreLinesOf32) {
  for (const bool by_columns : {false, true}) {
    for (const std::int64_t count : {1, 16, 17, 31, 32, 45, 64, 100}) {
      for (const std::int64_t depth : {1, 31, 32, 33, 96, 300}) {
        const PackRange range{5, depth, 3, count};
        const Source a(count + 7, depth + 9, by_columns);
        std::vector<char> packed(static_cast<std::size_t>(cpu::packed_rows_bytes(family(), count, depth)),
                                 77);
        cpu::pack_rows(family(), a.source, range, packed.data());
        for (std::int64_t r = 0; r < count; ++r) {
          const std::int64_t block = r / 32 * 32, height = count - block > 16 ? 2 : 1;
          for (std::int64_t k = 0; k < cpu::round_up(depth, 32); ++k) {
            const std::int64_t offset = block * cpu::round_up(depth, 32) * 2 + k / 32 * height * kRegister +
                                        (r - block) * kRegisterRow + k % 32 * 2;
            const std::uint16_t expected = k < depth ? a.at(3 + r, 5 + k) : 0;
            ASSERT_EQ(word_at(packed, offset), expected) << fmt::format(
                "{} rows, depth {}, row {}, k {}, by columns {}", count, depth, r, k, by_columns);
          }
        }
      }
    }
  }
}

TEST_F(PackingForAmx, PanelsArePairsOfK) {
  for (const bool by_columns : {false, true}) {
    for (const std::int64_t count : {1, 16, 17, 32, 64, 96, 105}) {
      for (const std::int64_t depth : {1, 31, 32, 33, 64, 170}) {
        const PackRange range{5, depth, 3, count};
        const Source b(depth + 9, count + 7, by_columns);
        const std::int64_t panel_bytes = family().panel_bytes(depth);
        std::vector<char> packed(static_cast<std::size_t>(cpu::ceil_div(count, 32) * panel_bytes), 77);
        cpu::pack_panels(family(), b.source, range, packed.data(), panel_bytes);
        for (std::int64_t c = 0; c < count; ++c) {
          const std::int64_t panel = c / 32, inside = c % 32,
                             width = family().width_at(panel * 32, count) / 16;
          for (std::int64_t k = 0; k < cpu::round_up(depth, 32); ++k) {
            const std::int64_t offset = panel * panel_bytes + (k / 32 * width + inside / 16) * kRegister +
                                        k % 32 / 2 * kRegisterRow + inside % 16 * 4 + k % 2 * 2;
            const std::uint16_t expected = k < depth ? b.at(5 + k, 3 + c) : 0;
            ASSERT_EQ(word_at(packed, offset), expected) << fmt::format(
                "{} columns, depth {}, column {}, k {}, by columns {}", count, depth, c, k, by_columns);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace pel
