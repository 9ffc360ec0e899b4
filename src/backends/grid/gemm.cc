// Matmuls. Floating ones by tiles; halves are converted to f32 first, in the scratch memory of the launch.
// Tiles with vectors read a right factor in place for few rows, and else from panels that are packed there.
// Integers element by element.
#include "backends/grid/gemm.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "backends/grid/items.h"
#include "backends/grid/kernels.h"
#include "backends/grid/loops.h"
#include "codegen/c_like/expr_text.h"
#include "codegen/c_like/tile_text.h"
#include "dispatch/gemm_result.h"
#include "dispatch/pointwise.h"

namespace pel::grid {
namespace {

using codegen::ItemText;
using codegen::memory_type_name;
using codegen::RightLayout;

// Strides in elements.
struct Matrix {
  void* data = nullptr;
  std::int64_t batch = 0, row = 0, column = 0;

  Matrix transposed() const { return {data, batch, column, row}; }
};
Matrix matrix_of(const Operand& o) {
  const int rows = o.rank - 2;
  return {o.data, rows > 0 ? o.strides[0] : 0, o.strides[rows], o.strides[rows + 1]};
}

// out = beta added + alpha (a b), for each matrix of a batch. Scalars: beta, alpha.
struct Gemm {
  explicit Gemm(const KernelArgs& args) : adds(args.input_count == 3), dtype(dtype_of(args.operands[0])) {
    const Operand& first = output(args, 0);
    const int rows = first.rank - 2;
    if (rows > 0) batch = first.sizes[0];
    m = first.sizes[rows];
    n = first.sizes[rows + 1];
    k = input(args, 0).sizes[rows + 1];
    out = matrix_of(first);
    a = matrix_of(input(args, 0));
    b = matrix_of(input(args, 1));
    added = adds ? matrix_of(input(args, 2)) : out;
  }
  bool is_half() const { return dtype == kF16 || dtype == kBF16; }
  DType sum() const { return value_type(dtype); }
  int lanes() const { return abilities().is_cpu ? codegen::kVectorLanes : 1; }
  std::int64_t bytes_of_a() const { return is_half() ? in_lines(batch * m * k * size_bytes(sum())) : 0; }

  // The tile. Sums in registers, where PoCL has vectors of 256 bits: 8 by 32 is twice as fast as 8 by 48.
  // Pairs have two sums of each; of two matmuls each has half of the columns.
  int tile_rows() const { return lanes() == 1 || m == 1 ? 1 : dtype == kBF16 ? 4 : 8; }
  int tile_vectors(int sums, RightLayout right) const {
    return lanes() == 1 || n <= codegen::kVectorLanes || sums == 2 || right == RightLayout::Columns ? 1 : 2;
  }

  // How tiles with vectors would read a right factor in place.
  RightLayout layout_of(const Matrix& right) const {
    if (right.column == 1 || n == 1) return RightLayout::Rows;
    return right.row == 1 || k == 1 ? RightLayout::Columns : RightLayout::Any;
  }
  // How they read all of them. Each tile of rows reads them again, from lines that are far from each other:
  // more than two of these take longer than packing.
  RightLayout right_layout(ArrayView<Matrix> rights) const {
    if (lanes() == 1) return RightLayout::Any;
    constexpr std::int64_t kMaxRowsInPlace = 16;
    const RightLayout layout = layout_of(rights[0]);
    const bool is_alike =
        std::all_of(rights.begin(), rights.end(), [&](const Matrix& r) { return layout_of(r) == layout; });
    const bool is_in_place = m <= kMaxRowsInPlace && is_alike && layout != RightLayout::Any;
    return is_in_place ? layout : RightLayout::Panels;
  }
  // Of a right factor: its panels, or, with one lane, its elements as f32. Halves may need them for one
  // device and not for another.
  std::int64_t bytes_of(const Matrix& right, RightLayout layout, int sums) const {
    if (layout != RightLayout::Panels && !is_half()) return 0;
    const std::int64_t width = std::int64_t{codegen::kVectorLanes} * tile_vectors(sums, layout);
    return in_lines((right.batch == 0 ? 1 : batch) * k * ((n + width - 1) / width * width) *
                    size_bytes(sum()));
  }
  static std::int64_t in_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

  bool adds;
  DType dtype;
  std::int64_t batch = 1, m, n, k;
  Matrix out, a, b, added;
};

// Copies a matrix to dense rows of another dtype.
Matrix copied(const Matrix& from, std::int64_t batch, std::int64_t rows, std::int64_t columns, DType dtype,
              DType to, void* memory) {
  if (from.batch == 0) batch = 1;
  const std::int64_t sizes[3] = {batch, rows, columns}, strides[3] = {from.batch, from.row, from.column},
                     dense[3] = {rows * columns, columns, 1};
  Operand operands[2] = {{memory, sizes, dense, 3, static_cast<std::uint8_t>(to), 1, {}},
                         {from.data, sizes, strides, 3, static_cast<std::uint8_t>(dtype), 0, {}}};
  if (batch * rows * columns != 0) run_loop(cast_loop(dtype, to), operands, {});
  return {memory, from.batch == 0 ? 0 : rows * columns, columns, 1};
}

// Packs a right factor for tiles with vectors.
Matrix packed(const Gemm& gemm, const Matrix& from, int vectors, void* memory) {
  codegen::PackText pack{"pel_gemm_pack", gemm.dtype, gemm.sum(), gemm.layout_of(from), vectors};
  static Functions functions;
  const std::uint64_t key = static_cast<std::uint64_t>(pack.stored) |
                            static_cast<std::uint64_t>(pack.layout) << 8 |
                            static_cast<std::uint64_t>(pack.vectors) << 16;
  const FunctionHandle function =
      built(functions, key, pack.name, [&] { return codegen::pack_text(dialect(), pack); });
  const std::int64_t width = std::int64_t{codegen::kVectorLanes} * vectors,
                     panels = (gemm.n + width - 1) / width, batch = from.batch == 0 ? 1 : gemm.batch,
                     blocks = (gemm.k + codegen::kPackDepth - 1) / codegen::kPackDepth;
  GridCall call;
  call.address(memory);
  call.address(from.data);
  for (const std::int64_t number : {gemm.n, gemm.k, panels, from.batch, from.row, from.column})
    call.number(number);
  if (blocks * panels * batch != 0)
    call.launch(function, LaunchShape{{static_cast<std::uint64_t>(blocks), static_cast<std::uint64_t>(panels),
                                       static_cast<std::uint64_t>(batch)},
                                      {1, 1, 1}});
  return {memory, from.batch == 0 ? 0 : panels * gemm.k * width, gemm.k * width, 1};
}

// What eager kernels store: over [sum, added] or [sum], with params [beta, alpha].
scalar::ScalarExpr finish_expr_of(DType dtype, bool adds) {
  const DType type = value_type(dtype);
  scalar::ScalarBuilder builder;
  const scalar::Term sum = builder.input(type);
  const scalar::Term added = adds ? cast(builder.input(dtype), type) : builder.constant(type, 0.0);
  const scalar::Term beta = builder.param(type), alpha = builder.param(type);
  const scalar::Term result = gemm_result(dtype, sum, added, beta, alpha);
  return builder.finish({&result, 1});
}

void add_matrix(GridCall& call, const Matrix& matrix) {
  call.number(matrix.batch);
  call.number(matrix.row);
  call.number(matrix.column);
}
void add_numbers(GridCall& call, const Gemm& gemm, const KernelArgs& args, DType number) {
  for (const std::int64_t size : {gemm.m, gemm.n, gemm.k, gemm.batch}) call.number(size);
  for (const Matrix& matrix : {gemm.a, gemm.b, gemm.out, gemm.added}) add_matrix(call, matrix);
  call.number(gemm.adds || args.scalars[1].as_float != 1 ? 1 : 0);
  call.number(number_bits(args.scalars[0], number));
  call.number(number_bits(args.scalars[1], number));
}

SmallVector<Matrix, 2> rights_of(const KernelArgs& args, int sums) {
  SmallVector<Matrix, 2> rights;
  for (int s = 0; s < sums; ++s) rights.push_back(matrix_of(input(args, 1 + s)));
  return rights;
}
// A vector on the right is a row on the left of the transposed matmul, of which vectors of columns are
// computed. Factors of a product may be exchanged.
bool is_transposed(const Gemm& gemm, int sums) {
  return gemm.n == 1 && gemm.m > 1 && sums == 1 && gemm.lanes() > 1;
}
Gemm transposed(const Gemm& gemm) {
  Gemm other = gemm;
  std::swap(other.m, other.n);
  other.a = gemm.b.transposed();
  other.b = gemm.a.transposed();
  return other;
}
std::int64_t scratch_of(Gemm gemm, const KernelArgs& args, int sums) {
  SmallVector<Matrix, 2> rights = rights_of(args, sums);
  if (is_transposed(gemm, sums)) {
    gemm = transposed(gemm);
    rights[0] = gemm.b;
  }
  const RightLayout layout = gemm.right_layout({rights.data(), rights.size()});
  std::int64_t bytes = gemm.bytes_of_a();
  for (const Matrix& right : rights) bytes += gemm.bytes_of(right, layout, sums);
  return bytes;
}

// Launches the tiles of a matmul, or of two with the same left factor, whose other operands are in `args`.
void launch_tiles(const KernelArgs& args, Gemm gemm, int sums, const scalar::ScalarExpr& finish,
                  bool stores_sums, Functions& functions, const std::string& name) {
  auto* scratch = static_cast<std::byte*>(args.scratch);
  SmallVector<Matrix, 2> rights = rights_of(args, sums);
  const bool transposes = is_transposed(gemm, sums);
  if (transposes) {
    gemm = transposed(gemm);
    rights[0] = gemm.b;
  }
  if (gemm.is_half()) gemm.a = copied(gemm.a, gemm.batch, gemm.m, gemm.k, gemm.dtype, gemm.sum(), scratch);
  scratch += gemm.bytes_of_a();
  SmallVector<Matrix, 16> matrices;
  codegen::TileText tile;
  tile.right = gemm.right_layout({rights.data(), rights.size()});
  tile.are_columns_dense = true;
  const auto add = [&](const Operand& operand, std::vector<DType>& dtypes) {
    const Matrix matrix = matrix_of(operand);
    matrices.push_back(transposes ? matrix.transposed() : matrix);
    dtypes.push_back(dtype_of(operand));
    const std::int64_t column = matrices.back().column;
    tile.are_columns_dense =
        tile.are_columns_dense && (column == 1 || (column == 0 && &dtypes == &tile.inputs));
  };
  tile.sum = gemm.sum();
  tile.order = gemm.dtype == kBF16 ? codegen::TileTextOrder::Pairs : codegen::TileTextOrder::Chain;
  tile.lanes = gemm.lanes();
  tile.sums = sums;
  tile.rows = gemm.tile_rows();
  tile.vectors = gemm.tile_vectors(sums, tile.right);
  tile.finish = &finish;
  tile.name = "pel_gemm";
  for (int o = 0; o < args.output_count; ++o) add(output(args, o), tile.outputs);
  matrices.push_back(gemm.a);
  const bool copies = tile.lanes == 1 && gemm.is_half();
  tile.stored_right = copies || tile.right == RightLayout::Panels ? gemm.sum() : gemm.dtype;
  for (Matrix right : rights) {
    const std::int64_t bytes = gemm.bytes_of(right, tile.right, sums);
    if (tile.right == RightLayout::Panels) {
      right = packed(gemm, right, tile.vectors, scratch);
    } else if (copies) {
      right = copied(right, gemm.batch, gemm.k, gemm.n, gemm.dtype, gemm.sum(), scratch);
    }
    scratch += bytes;
    matrices.push_back(right);
  }
  for (int i = 1 + sums; i < static_cast<int>(args.input_count); ++i) add(input(args, i), tile.inputs);
  if (gemm.n == 1) tile.are_columns_dense = true;
  std::uint64_t key = static_cast<std::uint64_t>(gemm.dtype) | static_cast<std::uint64_t>(tile.rows) << 8 |
                      static_cast<std::uint64_t>(tile.vectors) << 12 |
                      (tile.are_columns_dense ? 1u << 16 : 0u) | static_cast<std::uint64_t>(tile.right) << 17;
  key = key << 4 | tile.inputs.size();
  const FunctionHandle function =
      built(functions, key, tile.name, [&] { return codegen::tile_text(dialect(), tile); }, name);
  GridCall call;
  for (const Matrix& matrix : matrices) call.address(matrix.data);
  for (const std::int64_t number : {gemm.m, gemm.n, gemm.k, gemm.batch, std::int64_t{stores_sums ? 0 : 1}})
    call.number(number);
  for (const Matrix& matrix : matrices) add_matrix(call, matrix);
  for (std::size_t i = 0; i < finish.params.size(); ++i)
    call.number(number_bits(args.scalars[i], finish.params[i]));
  const auto items = [](std::int64_t size, std::int64_t each) {
    return static_cast<std::uint64_t>((size + each - 1) / each);
  };
  const std::uint64_t columns = items(gemm.n, std::int64_t{tile.lanes} * tile.vectors),
                      rows = items(gemm.m, tile.rows), batch = static_cast<std::uint64_t>(gemm.batch);
  if (tile.lanes > 1) {
    call.launch(function, LaunchShape{{rows, columns, batch}, {1, 1, 1}});
  } else {
    call.launch(function,
                LaunchShape{{(columns + kItems - 1) / kItems * kItems, rows, batch}, {kItems, 1, 1}});
  }
}

void run_tiles(Stream&, const KernelArgs& args) {
  const Gemm gemm(args);
  static Functions functions;
  static std::array<std::optional<scalar::ScalarExpr>, 2 * kDTypeCount> finishes;
  std::optional<scalar::ScalarExpr>& finish =
      finishes[2 * static_cast<std::size_t>(gemm.dtype) + (gemm.adds ? 1 : 0)];
  if (!finish) finish = finish_expr_of(gemm.dtype, gemm.adds);
  launch_tiles(args, gemm, 1, *finish, !gemm.adds && args.scalars[1].as_float == 1, functions, "gemm");
}
Support supports_tiles(const KernelArgs& args) {
  const DType dtype = dtype_of(output(args, 0));
  if (!is_floating(dtype)) return Support::no("the dtype is not floating");
  return supports_memory(args);
}
std::uint64_t scratch_of_tiles(const KernelArgs& args) {
  return static_cast<std::uint64_t>(scratch_of(Gemm(args), args, 1));
}

// ---- A matmul, or two of one left factor, with an elementwise loop over the sums

Gemm gemm_of_fused(const FusedGemm& fused, const KernelArgs& args) {
  Gemm gemm(args);
  gemm.dtype = fused.dtype;  // results may have another
  return gemm;
}
void run_fused(Stream&, const KernelArgs& args) {
  auto& fused = *static_cast<FusedGemm*>(const_cast<void*>(args.context));
  launch_tiles(args, gemm_of_fused(fused, args), fused.sums, fused.finish, false, fused.functions,
               fused.name);
}
std::uint64_t scratch_of_fused(const KernelArgs& args) {
  const auto& fused = *static_cast<const FusedGemm*>(args.context);
  return static_cast<std::uint64_t>(scratch_of(gemm_of_fused(fused, args), args, fused.sums));
}
std::uint64_t flops_of_fused(const KernelArgs& args) {
  const auto& fused = *static_cast<const FusedGemm*>(args.context);
  const Gemm gemm = gemm_of_fused(fused, args);
  return static_cast<std::uint64_t>(2 * fused.sums * gemm.batch * gemm.m * gemm.n * gemm.k);
}

// One element an item. Integers wrap, so that they are computed in 64 bits.
void run_integers(Stream&, const KernelArgs& args) {
  const Gemm gemm(args);
  static Functions functions;
  const FunctionHandle function = built_items(
      functions, static_cast<std::uint64_t>(gemm.dtype) << 1 | (gemm.adds ? 1 : 0), "pel_gemm_integers", [&] {
        const bool is_bool = gemm.dtype == kBool;
        std::string body = R"(
  const pel_i64 j = i % call.n, r = i / call.n % call.m, z = i / call.n / call.m;
  pel_u64 total = 0;
  PEL_LOOP for (pel_i64 p = 0; p < call.k; ++p) {
    const pel_u64 x = (pel_u64)(pel_i64)PEL_AT(const M, 1)[z * call.a_batch + r * call.a_row + p * call.a_column];
    const pel_u64 y = (pel_u64)(pel_i64)PEL_AT(const M, 2)[z * call.b_batch + p * call.b_row + j * call.b_column];
)";
        body += is_bool ? "    total |= x != 0 && y != 0 ? 1 : 0;\n  }\n" : "    total += x * y;\n  }\n";
        const std::string added = gemm.adds ? "(pel_u64)(pel_i64)PEL_AT(const M, 3)[z * call.added_batch + r "
                                              "* call.added_row + j * call.added_column]"
                                            : "(pel_u64)0";
        body += fmt::format(
            "  if (call.scales != 0) total = {};\n",
            is_bool
                ? fmt::format("(total != 0 && call.alpha != 0) || ({} != 0 && call.beta != 0) ? 1 : 0", added)
                : fmt::format("total * (pel_u64)call.alpha + {} * (pel_u64)call.beta", added));
        body += "  PEL_AT(M, 0)[z * call.out_batch + r * call.out_row + j * call.out_column] = (M)total;\n";
        return ItemText{
            "pel_gemm_integers", 4,
            "m, n, k, batch, a_batch, a_row, a_column, b_batch, b_row, b_column, out_batch, out_row, "
            "out_column, added_batch, added_row, added_column, scales, beta, alpha",
            fmt::format("typedef {} M;\n", memory_type_name(gemm.dtype)), body};
      });
  GridCall call;
  for (const void* address : {gemm.out.data, gemm.a.data, gemm.b.data, gemm.added.data})
    call.address(address);
  call.number(gemm.batch * gemm.m * gemm.n);
  add_numbers(call, gemm, args, kI64);
  call.launch(function, gemm.batch * gemm.m * gemm.n, kItems);
}

Support has_no_ends(const KernelArgs& args) {
  return args.input_count == 2 ? supports_tiles(args)
                               : Support::no("the groups are divided at positions in a tensor");
}

}  // namespace

Kernel fused_gemm_kernel(FusedGemm& fused) {
  Kernel kernel{fused.name.c_str(), supports_rank, run_fused, kAllDTypes, 0, &fused};
  kernel.flops = flops_of_fused;
  kernel.scratch_bytes = scratch_of_fused;
  return kernel;
}

KernelLists gemm_kernels() {
  static const auto kGemm = [] {
    Kernel tiles{"gemm_tiles_text", supports_tiles, run_tiles};
    tiles.scratch_bytes = scratch_of_tiles;
    return std::to_array<Kernel>({tiles, {"gemm_integers_text", supports_memory, run_integers}});
  }();
  static const auto kGrouped = [] {
    Kernel tiles{"gemm_batch_text", has_no_ends, run_tiles};
    tiles.scratch_bytes = scratch_of_tiles;
    return std::to_array<Kernel>({tiles});
  }();
  static const auto kLists = std::to_array<BackendKernels>({{"mm", kGemm},
                                                            {"bmm", kGemm},
                                                            {"addmm", kGemm},
                                                            {"baddbmm", kGemm},
                                                            {"mv", kGemm},
                                                            {"grouped_mm", kGrouped}});
  return kLists;
}

}  // namespace pel::grid
