#include "backends/cpu/gemm/tile_set.h"

#include <array>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "backends/cpu/gemm/amx.h"
#include "backends/cpu/gemm/gemm_loops.h"
#include "backends/cpu/generated/prebuilt_code.h"
#include "backends/cpu/isa.h"
#include "base/check.h"

namespace pel::cpu {

using codegen::Isa;
using codegen::TileKernel;
using codegen::TileOrder;

namespace {

struct Shape {
  int rows, vectors;
};
// Register tiles that fill the vector registers. Pairs need two sums per element.
Shape shape_of(TileOrder order, Isa isa) {
  if (order == TileOrder::Amx) return {2, 2};
  const bool has_many = facts(isa).vectors >= 32;
  if (order == TileOrder::Pairs) return has_many ? Shape{4, 3} : Shape{3, 2};
  return has_many ? Shape{8, 3} : Shape{6, 2};
}

// Returns whether there are tiles that transpose b in registers.
bool has_transposing_tiles(TileOrder order, DType type) {
  return order != TileOrder::Amx && size_bytes(type) == 4;
}

std::string tile_name(TileOrder order, DType type, int rows, int columns, Isa isa) {
  constexpr std::string_view kNames[] = {"chain", "pairs", "amx"};
  return fmt::format("pel_tile_{}_{}_{}x{}_{}", kNames[static_cast<int>(order)], name(type), rows, columns,
                     codegen::name(isa));
}
// Rows and columns of a tile are multiples of these.
struct Units {
  int rows, columns;
};
Units units_of(TileOrder order, DType type, Isa isa) {
  if (order == TileOrder::Amx) return {codegen::kAmxSide, codegen::kAmxSide};
  return {1, vector_bytes(isa) / static_cast<int>(size_bytes(type))};
}
std::string transposing_tile_name(TileOrder order, DType type, int rows, Isa isa) {
  return fmt::format("pel_tile_transposing_{}_{}_{}_{}", order == TileOrder::Pairs ? "pairs" : "chain",
                     name(type), rows, codegen::name(isa));
}
// Panels that a tile of so many rows, in units, reads side by side. Chains fill the registers of their
// largest tile with sums; AMX has registers for six sums, a row and a column.
int panels_of(TileOrder order, DType type, int rows, Isa isa) {
  if (type != kF32 || order == TileOrder::Pairs) return 1;
  if (order == TileOrder::Amx) return rows == 1 ? 3 : 1;
  return shape_of(order, isa).rows / rows;
}
std::string wide_tile_name(TileOrder order, int rows, Isa isa) {
  return fmt::format("pel_tile_wide_{}_{}_{}", order == TileOrder::Amx ? "amx" : "chain", rows,
                     codegen::name(isa));
}
void add(std::vector<TileKernel>& set, TileOrder order, DType type, Isa isa) {
  const Shape max = shape_of(order, isa);
  const auto [side, lanes] = units_of(order, type, isa);
  for (int rows = 1; rows <= max.rows; ++rows) {
    for (int vectors = 1; vectors <= max.vectors; ++vectors)
      set.push_back({tile_name(order, type, side * rows, lanes * vectors, isa), order, type, rows, vectors});
    if (has_transposing_tiles(order, type))
      set.push_back({transposing_tile_name(order, type, rows, isa), order, type, rows, 1, true});
    if (const int panels = panels_of(order, type, rows, isa); panels > 1)
      set.push_back({wide_tile_name(order, rows, isa), order, type, rows, max.vectors, false, panels});
  }
}

codegen::PelTileFn* find_tile(const std::string& name, Isa isa) {
  for (const PrebuiltTile& tile : prebuilt_code(isa).tiles) {
    if (tile.name == name) return tile.function;
  }
  throw InternalError("there is no prebuilt tile named " + name);
}

TileFamily make_family(DType dtype, Isa isa, bool with_amx) {
  TileFamily family{};
  family.type = gemm_sum_type(dtype);
  family.order = dtype != kBF16 ? TileOrder::Chain : with_amx ? TileOrder::Amx : TileOrder::Pairs;
  const Shape max = shape_of(family.order, isa);
  const auto [side, lanes] = units_of(family.order, family.type, isa);
  family.rows = max.rows * side;
  family.columns = max.vectors * lanes;
  family.unit = lanes;
  family.element_size = family.is_amx() ? size_bytes(kBF16) : size_bytes(family.type);
  for (int vectors = 1; vectors <= max.vectors; ++vectors) {
    for (int rows = 1; rows <= family.rows; ++rows)
      family.tiles[vectors - 1][rows] = find_tile(
          tile_name(family.order, family.type, (rows + side - 1) / side * side, vectors * lanes, isa), isa);
  }
  for (int rows = 1; has_transposing_tiles(family.order, family.type) && rows <= family.rows; ++rows)
    family.transposing[rows] = find_tile(transposing_tile_name(family.order, family.type, rows, isa), isa);
  for (int rows = 1; rows < static_cast<int>(std::size(family.wide)) && rows <= family.rows; ++rows) {
    const int units = (rows + side - 1) / side, panels = panels_of(family.order, family.type, units, isa);
    if (panels > 1) family.wide[rows] = {find_tile(wide_tile_name(family.order, units, isa), isa), panels};
  }
  return family;
}

}  // namespace

std::vector<TileKernel> tile_set(Isa isa) {
  std::vector<TileKernel> set;
  for (const DType type : {kF32, kF64, kI32, kI64}) add(set, TileOrder::Chain, type, isa);
  add(set, TileOrder::Pairs, kF32, isa);
  if (isa == Isa::Avx512) add(set, TileOrder::Amx, kF32, isa);
  return set;
}

const TileFamily& tiles_for(DType dtype, Isa isa, bool with_amx) {
  static std::mutex mutex;
  static auto* const families = new std::map<std::array<int, 3>, TileFamily>;
  const std::lock_guard lock(mutex);
  const std::array<int, 3> key{static_cast<int>(dtype), static_cast<int>(isa), with_amx ? 1 : 0};
  auto found = families->find(key);
  if (found == families->end()) found = families->emplace(key, make_family(dtype, isa, with_amx)).first;
  return found->second;
}

const TileFamily& tiles_for(DType dtype) {
  static const auto kFamilies = [] {
    std::array<const TileFamily*, kDTypeCount> all{};
    for (int d = 0; d < kDTypeCount; ++d)
      all[static_cast<std::size_t>(d)] =
          &tiles_for(static_cast<DType>(d), *active_isa(), amx_refusal() == nullptr);
    return all;
  }();
  return *kFamilies[static_cast<std::size_t>(dtype)];
}

std::string_view isa_name(const TileFamily& family) {
  return family.is_amx() ? "amx" : codegen::name(*active_isa());
}

}  // namespace pel::cpu
