// Copies: one run of bytes, strided elements of one width, or elements that change their dtype.
#include <array>
#include <cstring>

#include "backends/cpu/kernels.h"
#include "backends/cpu/strided_loop.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

Support same_dtype(const KernelArgs& args) {
  return output(args, 0).dtype == input(args, 0).dtype ? Support::yes() : Support::no("dtypes differ");
}

Support supports_dense(const KernelArgs& args) {
  if (Support s = same_dtype(args); !s) return s;
  const bool both = is_row_major(output(args, 0)) && is_row_major(input(args, 0));
  return both ? Support::yes() : Support::no("not both row-major");
}

void run_dense(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  std::int64_t bytes = size_bytes(static_cast<DType>(dst.dtype));
  for (int i = 0; i < dst.rank; ++i) bytes *= dst.sizes[i];
  std::memmove(dst.data, src.data, static_cast<std::size_t>(bytes));  // dst may be src itself
}

template <std::size_t Width>
void copy_run(char* to, const char* from, const LoopAxis& axis) {
  if (axis.dst_step == Width && axis.src_step == Width) {
    std::memmove(to, from, static_cast<std::size_t>(axis.size) * Width);
    return;
  }
  for (std::int64_t i = 0; i < axis.size; ++i)
    std::memcpy(to + i * axis.dst_step, from + i * axis.src_step, Width);
}

void run_strided(Stream&, const KernelArgs& args) { copy_elements(output(args, 0), input(args, 0)); }

template <class To, class From>
void cast_run(char* to, const char* from, const LoopAxis& axis) {
  for (std::int64_t i = 0; i < axis.size; ++i) {
    store_as(to + i * axis.dst_step, convert<To>(load_as<From>(from + i * axis.src_step)));
  }
}

void run_cast(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  with_type(static_cast<DType>(dst.dtype), [&]<class To>(std::type_identity<To>) {
    with_type(static_cast<DType>(src.dtype),
              [&]<class From>(std::type_identity<From>) { for_each_run(dst, src, cast_run<To, From>); });
  });
}

}  // namespace

void copy_elements(const Operand& dst, const Operand& src) {
  switch (size_bytes(static_cast<DType>(dst.dtype))) {
    case 1:
      return for_each_run(dst, src, copy_run<1>);
    case 2:
      return for_each_run(dst, src, copy_run<2>);
    case 4:
      return for_each_run(dst, src, copy_run<4>);
    default:
      return for_each_run(dst, src, copy_run<8>);
  }
}

KernelLists copy_kernels() {
  static const auto kCopy = std::to_array<Kernel>({{"cpu_copy_dense", supports_dense, run_dense},
                                                   {"cpu_copy_strided", same_dtype, run_strided},
                                                   {"cpu_copy_cast", supports_any, run_cast}});
  static const auto kLists = std::to_array<BackendKernels>({{"copy_", kCopy}});
  return kLists;
}

}  // namespace pel::cpu
