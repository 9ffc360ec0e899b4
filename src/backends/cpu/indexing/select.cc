// nonzero, masked_select and one_hot: ops whose result sizes depend on values.
#include <array>
#include <cstring>

#include "backends/cpu/grains.h"
#include "backends/cpu/kernels.h"
#include "base/check.h"
#include "base/small_vector.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

// Blocks per thread task. Elements are counted per block first, so the position of a block's results is known
// before it is processed.
constexpr std::int64_t kGrainBlocks = 8;

std::int64_t element_count(const Operand& a) {
  std::int64_t count = 1;
  for (int i = 0; i < a.rank; ++i) count *= a.sizes[i];
  return count;
}

// Returns a mask of all bits except the sign of a float: -0 is zero, NaN is not.
template <class U>
U bits_that_count(DType dtype) {
  return static_cast<U>(is_floating(dtype) ? static_cast<U>(~U{0}) >> 1 : static_cast<U>(~U{0}));
}

template <class F>
void with_width(DType dtype, F&& f) {
  switch (size_bytes(dtype)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

// Operands: counts i64[blocks + 1], the start of each block's results, and the total; src, row-major; the
// block size.
void run_count(Stream&, const KernelArgs& args) {
  const Operand& src = input(args, 0);
  const std::int64_t count = element_count(src), block = args.scalars[0].as_int;
  const std::int64_t blocks = output(args, 0).sizes[0] - 1;
  auto* begins = static_cast<std::int64_t*>(output(args, 0).data);
  const auto dtype = static_cast<DType>(src.dtype);
  with_width(dtype, [&]<class U>(U) {
    const U mask = bits_that_count<U>(dtype);
    const auto* from = static_cast<const char*>(src.data);
    parallel_for(blocks, kGrainBlocks, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t b = first; b < last; ++b) {
        std::int64_t found = 0;
        for (std::int64_t i = b * block; i < std::min(count, (b + 1) * block); ++i)
          found += (load_as<U>(from + i * std::int64_t{sizeof(U)}) & mask) != 0;
        begins[b + 1] = found;
      }
    });
  });
  begins[0] = 0;
  for (std::int64_t b = 0; b < blocks; ++b) begins[b + 1] += begins[b];
}

// Operands: dst i64[n, rank]; src, row-major; counts; the block size.
void run_nonzero(Stream&, const KernelArgs& args) {
  const Operand& src = input(args, 0);
  const std::int64_t count = element_count(src), block = args.scalars[0].as_int;
  const auto* begins = static_cast<const std::int64_t*>(input(args, 1).data);
  auto* dst = static_cast<std::int64_t*>(output(args, 0).data);
  const auto dtype = static_cast<DType>(src.dtype);
  const int rank = src.rank;
  with_width(dtype, [&]<class U>(U) {
    const U mask = bits_that_count<U>(dtype);
    const auto* from = static_cast<const char*>(src.data);
    parallel_for(input(args, 1).sizes[0] - 1, kGrainBlocks, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t b = first; b < last; ++b) {
        std::int64_t* to = dst + begins[b] * rank;
        const std::int64_t end = std::min(count, (b + 1) * block);
        for (std::int64_t i = b * block; i < end; ++i) {
          if ((load_as<U>(from + i * std::int64_t{sizeof(U)}) & mask) == 0) continue;
          std::int64_t left = i;
          for (int axis = rank; axis-- > 1; left /= src.sizes[axis]) to[axis] = left % src.sizes[axis];
          to[0] = left;
          to += rank;
        }
      }
    });
  });
}

Support counts_only(const KernelArgs& args) {
  return args.input_count == 1 ? Support::yes() : Support::no("the elements are already counted");
}

// Operands: dst; src and mask, row-major and of the same sizes; counts; the block size.
void run_masked_select(Stream&, const KernelArgs& args) {
  const Operand &src = input(args, 0), &mask = input(args, 1);
  const std::int64_t block = args.scalars[0].as_int;
  const auto* begins = static_cast<const std::int64_t*>(input(args, 2).data);
  with_width(static_cast<DType>(src.dtype), [&]<class U>(U) {
    constexpr std::int64_t kWidth = sizeof(U);
    const auto* from = static_cast<const char*>(src.data);
    const auto* chosen = static_cast<const unsigned char*>(mask.data);
    parallel_for(input(args, 2).sizes[0] - 1, kGrainBlocks, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t b = first; b < last; ++b) {
        auto* to = static_cast<char*>(output(args, 0).data) + begins[b] * kWidth;
        const auto* to_end = static_cast<char*>(output(args, 0).data) + begins[b + 1] * kWidth;
        // Every element is written, but the position advances only after selected ones: no branch to
        // mispredict.
        for (std::int64_t i = b * block; to != to_end; ++i) {
          std::memcpy(to, from + i * kWidth, kWidth);
          to += chosen[i] != 0 ? kWidth : 0;
        }
      }
    });
  });
}

// one_hot: writes the largest class, and whether any is negative, to i64[2].
void run_largest_class(Stream&, const KernelArgs& args) {
  const Operand& src = input(args, 0);
  const auto* from = static_cast<const char*>(src.data);
  std::int64_t largest = -1, smallest = 0;
  for (std::int64_t i = 0; i < element_count(src); ++i) {
    const auto value = load_as<std::int64_t>(from + i * 8);
    largest = std::max(largest, value);
    smallest = std::min(smallest, value);
  }
  auto* to = static_cast<std::int64_t*>(output(args, 0).data);
  to[0] = smallest;
  to[1] = largest;
}

// Operands: dst i64[…, classes]; src, row-major.
void run_one_hot(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  const std::int64_t classes = dst.sizes[dst.rank - 1];
  const auto* from = static_cast<const char*>(src.data);
  auto* to = static_cast<std::int64_t*>(dst.data);
  parallel_for(
      element_count(src), Grain::of(kGrainElements, classes), [&](std::int64_t begin, std::int64_t end) {
        std::memset(to + begin * classes, 0, static_cast<std::size_t>((end - begin) * classes) * 8);
        for (std::int64_t i = begin; i < end; ++i) {
          const auto value = load_as<std::int64_t>(from + i * 8);
          PEL_CHECK(value >= 0 && value < classes, ValueError,
                    "class {} is out of range [0, {}); pass a larger number of classes", value, classes);
          to[i * classes + value] = 1;
        }
      });
}
Support bounds_only(const KernelArgs& args) {
  return args.scalar_count == 1 ? Support::yes() : Support::no("the number of classes is known");
}

}  // namespace

KernelLists select_kernels() {
  static const auto kNonzero = std::to_array<Kernel>(
      {{"cpu_nonzero_count", counts_only, run_count}, {"cpu_nonzero", supports_any, run_nonzero}});
  static const auto kMaskedSelect =
      std::to_array<Kernel>({{"cpu_masked_select", supports_any, run_masked_select}});
  static const auto kOneHot = std::to_array<Kernel>(
      {{"cpu_largest_class", bounds_only, run_largest_class}, {"cpu_one_hot", supports_any, run_one_hot}});
  static const auto kLists = std::to_array<BackendKernels>(
      {{"nonzero", kNonzero}, {"masked_select", kMaskedSelect}, {"one_hot", kOneHot}});
  return kLists;
}

}  // namespace pel::cpu
