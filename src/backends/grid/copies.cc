// copy_ with a conversion between any dtypes, and fill_.
#include <array>
#include <memory>

#include <fmt/format.h>

#include "backends/grid/items.h"
#include "backends/grid/kernels.h"
#include "backends/grid/loops.h"

namespace pel::grid {

Loop& cast_loop(DType from, DType to) {
  using Loops = std::array<std::array<std::unique_ptr<Loop>, kDTypeCount>, kDTypeCount>;
  static std::array<Loops, kDeviceTypeCount> loops;  // each under the lock of its device
  std::unique_ptr<Loop>& loop =
      loops[target_index()][static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  if (loop == nullptr) {
    scalar::ScalarBuilder builder;
    const scalar::Term result = cast(builder.input(from), to);
    loop =
        std::make_unique<Loop>(fmt::format("copy_{}_{}", name(from), name(to)), builder.finish({&result, 1}));
  }
  return *loop;
}

namespace {

void run_copy(Stream&, const KernelArgs& args) {
  run_loop(cast_loop(dtype_of(input(args, 0)), dtype_of(output(args, 0))), args.operands, {});
}

void run_fill(Stream&, const KernelArgs& args) {
  const DType dtype = dtype_of(output(args, 0));
  // A number of the host, as an element of the dtype.
  const std::int64_t bits = fill_bits(args.scalars[0], dtype);
  const std::int64_t strides[kMaxGridAxes] = {};
  Operand operands[2] = {output(args, 0), output(args, 0)};
  operands[1].data = const_cast<std::int64_t*>(&bits);
  operands[1].strides = strides;
  run_loop(cast_loop(dtype, dtype), operands, {});
}

}  // namespace

KernelLists copy_kernels() {
  static const auto kCopy = std::to_array<Kernel>({{"copy_text", supports_rank, run_copy}});
  static const auto kFill = std::to_array<Kernel>({{"fill_text", supports_rank, run_fill}});
  static const auto kLists = std::to_array<BackendKernels>({{"copy_", kCopy}, {"fill_", kFill}});
  return kLists;
}

}  // namespace pel::grid
