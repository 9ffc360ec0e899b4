// Kernels that generate values: fill, arange, linspace, eye.
#include <array>
#include <cstring>

#include "backends/cpu/elementwise/strided_loop.h"
#include "backends/cpu/kernels.h"
#include "tensor/convert.h"
#include "tensor/element.h"

namespace pel::cpu {
namespace {

Scalar scalar_value(const PelScalar& s) {
  return s.kind == PEL_SCALAR_FLOAT ? Scalar(s.as_float)
         : s.kind == PEL_SCALAR_INT ? Scalar(s.as_int)
                                    : Scalar(s.as_int != 0);
}

void run_fill(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  alignas(8) char pattern[8] = {};
  store_element(static_cast<DType>(dst.dtype), pattern,
                scalar_value(args.scalars[0]));  // the op has checked that it fits
  // The scalar is an operand of the same sizes with stride 0.
  SmallVector<std::int64_t, 8> zero_strides(static_cast<std::size_t>(dst.rank));
  Operand src = dst;
  src.data = pattern;
  src.strides = zero_strides.data();
  src.is_row_major = 0;
  copy_on_threads(dst, src);
}

Support into_row_major(const KernelArgs& args) {
  return is_row_major(output(args, 0)) ? Support::yes() : Support::no("the output is not row-major");
}

void run_arange(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const PelScalar &start = args.scalars[0], &step = args.scalars[1];
  with_type(static_cast<DType>(dst.dtype), [&]<class T>(std::type_identity<T>) {
    auto* to = static_cast<char*>(dst.data);
    for (std::int64_t i = 0; i < dst.sizes[0]; ++i) {
      if constexpr (std::is_integral_v<T>) {
        store_as(to + i * sizeof(T), convert<T>(start.as_int + i * step.as_int));
      } else {
        store_as(to + i * sizeof(T), convert<T>(start.as_float + static_cast<double>(i) * step.as_float));
      }
    }
  });
}

void run_linspace(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const std::int64_t count = dst.sizes[0];
  with_type(static_cast<DType>(dst.dtype), [&]<class T>(std::type_identity<T>) {
    // For integers, the ends are truncated first, then steps are computed in f32.
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto end = [&](int i) {
      const PelScalar& s = args.scalars[i];
      return std::is_integral_v<T> ? static_cast<C>(s.as_int) : static_cast<C>(s.as_float);
    };
    const C first = end(0), last = end(1);
    const C step = count > 1 ? (last - first) / static_cast<C>(count - 1) : C(0);
    auto* to = static_cast<char*>(dst.data);
    for (std::int64_t i = 0; i < count; ++i) {
      const C value = i < count / 2 || count == 1 ? first + step * static_cast<C>(i)
                                                  : last - step * static_cast<C>(count - 1 - i);
      store_as(to + i * sizeof(T), convert<T>(value));
    }
  });
}

void run_eye(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const std::int64_t rows = dst.sizes[0], columns = dst.sizes[1];
  with_type(static_cast<DType>(dst.dtype), [&]<class T>(std::type_identity<T>) {
    auto* to = static_cast<char*>(dst.data);
    std::memset(to, 0, static_cast<std::size_t>(rows * columns) * sizeof(T));
    for (std::int64_t i = 0; i < std::min(rows, columns); ++i)
      store_as(to + i * (columns + 1) * sizeof(T), convert<T>(1.0));
  });
}

}  // namespace

KernelLists fill_kernels() {
  static const auto kFill = std::to_array<Kernel>({{"cpu_fill_strided", supports_any, run_fill}});
  static const auto kArange = std::to_array<Kernel>({{"cpu_arange_dense", into_row_major, run_arange}});
  static const auto kLinspace = std::to_array<Kernel>({{"cpu_linspace_dense", into_row_major, run_linspace}});
  static const auto kEye = std::to_array<Kernel>({{"cpu_eye_dense", into_row_major, run_eye}});
  static const auto kLists = std::to_array<BackendKernels>(
      {{"fill_", kFill}, {"arange", kArange}, {"linspace", kLinspace}, {"eye", kEye}});
  return kLists;
}

}  // namespace pel::cpu
