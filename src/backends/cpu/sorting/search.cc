// Searches in sorted values, and counting: unique, searchsorted, bincount, histc. Operands are row-major.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "backends/cpu/kernels.h"
#include "base/check.h"
#include "base/thread_pool.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

template <class T>
using Compared = std::conditional_t<kIsHalf<T>, float, T>;
template <class T>
Compared<T> compared(const Operand& operand, std::int64_t i) {
  const auto* at = static_cast<const char*>(operand.data) + i * static_cast<std::int64_t>(sizeof(T));
  return static_cast<Compared<T>>(load_as<T>(at));
}
std::int64_t* integers(const Operand& operand) { return static_cast<std::int64_t*>(operand.data); }

// Inputs: the sorted values and their original positions. Outputs: the unique values, for each position the
// number of its value, the count of each value, and the number of unique values. A NaN equals no other.
void run_unique(Stream&, const KernelArgs& args) {
  const Operand &values = output(args, 0), &sorted = input(args, 0);
  const std::int64_t count = sorted.sizes[0];
  std::int64_t *inverse = integers(output(args, 1)), *counts = integers(output(args, 2));
  const std::int64_t* positions = integers(input(args, 1));
  with_type(static_cast<DType>(sorted.dtype), [&]<class T>(std::type_identity<T>) {
    constexpr auto kWidth = static_cast<std::int64_t>(sizeof(T));
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i == 0 || !(compared<T>(sorted, i) == compared<T>(sorted, i - 1))) {
        std::copy_n(static_cast<const char*>(sorted.data) + i * kWidth, kWidth,
                    static_cast<char*>(values.data) + ++last * kWidth);
        counts[last] = 0;
      }
      ++counts[last];
      inverse[positions[i]] = last;
    }
    *integers(output(args, 3)) = last + 1;
  });
}

// Inputs: the boundaries, the values, and optionally the order of the boundaries. Scalar: whether to return
// the position after equal boundaries. Comparisons with NaN are false, so the search goes to the right, as in
// PyTorch.
template <class T, class Index>
void search(const KernelArgs& args) {
  const Operand &boundaries = input(args, 0), &values = input(args, 1);
  const std::int64_t per_row = values.rank == 0 ? 1 : values.sizes[values.rank - 1];
  const std::int64_t length = boundaries.sizes[boundaries.rank - 1];
  const bool one_row = boundaries.rank == 1, right = args.scalars[0].as_int != 0;
  const Operand* sorter = args.input_count > 2 ? &input(args, 2) : nullptr;
  const auto sorted_index = [&](std::int64_t i) { return compared<std::int64_t>(*sorter, i); };
  std::int64_t count = 1;
  for (int i = 0; i < values.rank; ++i) count *= values.sizes[i];
  if (sorter) {
    std::int64_t boundary_count = 1;
    for (int i = 0; i < boundaries.rank; ++i) boundary_count *= boundaries.sizes[i];
    for (std::int64_t i = 0; i < boundary_count; ++i)
      PEL_CHECK(sorted_index(i) >= 0 && sorted_index(i) < length, ValueError,
                "the sorter contains {}; expected an index into {} boundaries", sorted_index(i), length);
  }
  parallel_for(count, 512, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = one_row ? 0 : i / per_row * length;
      const auto value = compared<T>(values, i);
      std::int64_t low = 0, high = length;
      while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        const auto boundary = compared<T>(boundaries, row + (sorter ? sorted_index(row + middle) : middle));
        if (right ? boundary > value : boundary >= value) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      static_cast<Index*>(output(args, 0).data)[i] = static_cast<Index>(low);
    }
  });
}

void run_search(Stream&, const KernelArgs& args) {
  with_type(static_cast<DType>(input(args, 0).dtype), [&]<class T>(std::type_identity<T>) {
    if (static_cast<DType>(output(args, 0).dtype) == kI32) {
      search<T, std::int32_t>(args);
    } else {
      search<T, std::int64_t>(args);
    }
  });
}

// The first of two steps: finds the min and the max value, because the size of the result depends on them.
Support returns_range(const KernelArgs& args) {
  return args.scalar_count == 0 ? Support::yes() : Support::no("the call requests the counts");
}
void run_range(Stream&, const KernelArgs& args) {
  const Operand& src = input(args, 0);
  std::int64_t min_value = std::numeric_limits<std::int64_t>::max(), max_value = -1;
  with_type(static_cast<DType>(src.dtype), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      for (std::int64_t i = 0; i < src.sizes[0]; ++i) {
        const auto value = static_cast<std::int64_t>(compared<T>(src, i));
        min_value = std::min(min_value, value);
        max_value = std::max(max_value, value);
      }
    }
  });
  integers(output(args, 0))[0] = min_value;
  integers(output(args, 0))[1] = max_value;
}

// Weights are added in their order in memory.
void run_bincount(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  with_type(static_cast<DType>(dst.dtype), [&]<class R>(std::type_identity<R>) {
    if constexpr (std::is_same_v<R, std::int64_t> || std::is_floating_point_v<R>) {
      auto* counts = static_cast<R*>(dst.data);
      const Operand* weights = args.input_count > 1 ? &input(args, 1) : nullptr;
      std::fill_n(counts, dst.sizes[0], R(0));
      with_type(static_cast<DType>(src.dtype), [&]<class T>(std::type_identity<T>) {
        if constexpr (std::is_integral_v<T>) {
          for (std::int64_t i = 0; i < src.sizes[0]; ++i)
            counts[static_cast<std::int64_t>(compared<T>(src, i))] +=
                weights ? compared<R>(*weights, i) : R(1);
        }
      });
    }
  });
}

// Edges are rounded to the dtype of the elements, which are compared with them: the division alone would put
// an element that is equal to an edge on either side.
template <class T>
class Bins {
 public:
  using Value = Compared<T>;
  Bins(double min, double max, std::int64_t count)
      : min_(rounded(min)), max_(rounded(max)), edges_(static_cast<std::size_t>(count) + 1) {
    const Value step = (max_ - min_) / static_cast<Value>(count);
    for (std::int64_t i = 0; i <= count; ++i)
      edges_[static_cast<std::size_t>(i)] = rounded(
          i <= count / 2 ? min_ + step * static_cast<Value>(i) : max_ - step * static_cast<Value>(count - i));
  }
  // Returns -1 for an element outside.
  std::int64_t find(Value x) const {
    if (!(x >= min_ && x <= max_)) return -1;
    const auto last = static_cast<std::int64_t>(edges_.size()) - 2;
    const auto guess = static_cast<std::int64_t>((x - min_) * static_cast<Value>(last + 1) / (max_ - min_));
    std::int64_t bin = std::clamp<std::int64_t>(guess, 0, last);
    while (bin > 0 && x < edge(bin)) --bin;
    while (bin < last && x >= edge(bin + 1)) ++bin;
    return bin;
  }

 private:
  static Value rounded(double x) { return static_cast<Value>(convert<T>(x)); }
  Value edge(std::int64_t i) const { return edges_[static_cast<std::size_t>(i)]; }
  Value min_, max_;
  std::vector<Value> edges_;
};

// Scalars: the range; if both are equal, it is that of the elements.
void run_histc(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  std::int64_t count = 1;
  for (int i = 0; i < src.rank; ++i) count *= src.sizes[i];
  with_type(static_cast<DType>(src.dtype), [&]<class T>(std::type_identity<T>) {
    if constexpr (kIsHalf<T> || std::is_floating_point_v<T>) {
      double min = args.scalars[0].as_float, max = args.scalars[1].as_float;
      if (min == max && count > 0) {
        min = max = static_cast<double>(compared<T>(src, 0));
        for (std::int64_t i = 1; i < count; ++i) {
          const auto value = static_cast<double>(compared<T>(src, i));
          if (value < min || std::isnan(value)) min = value;  // a NaN stays, for the check below
          if (value > max || std::isnan(value)) max = value;
        }
        PEL_CHECK(std::isfinite(min) && std::isfinite(max), ValueError,
                  "the elements are between {} and {}; pass a finite range as min and max", min, max);
      }
      if (min == max) {
        min -= 1;
        max += 1;
      }
      const Bins<T> bins(min, max, dst.sizes[0]);
      std::vector<std::int64_t> counts(static_cast<std::size_t>(dst.sizes[0]));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t bin = bins.find(compared<T>(src, i));
        if (bin >= 0) ++counts[static_cast<std::size_t>(bin)];
      }
      for (std::int64_t i = 0; i < dst.sizes[0]; ++i)
        store_as(static_cast<char*>(dst.data) + i * static_cast<std::int64_t>(sizeof(T)),
                 convert<T>(static_cast<double>(counts[static_cast<std::size_t>(i)])));
    }
  });
}

}  // namespace

KernelLists search_kernels() {
  static const auto kUnique = std::to_array<Kernel>({{"cpu_unique_of_sorted", supports_any, run_unique}});
  static const auto kSearch = std::to_array<Kernel>({{"cpu_search_binary", supports_any, run_search}});
  static const auto kBincount = std::to_array<Kernel>(
      {{"cpu_bincount_range", returns_range, run_range}, {"cpu_bincount", supports_any, run_bincount}});
  static const auto kHistc = std::to_array<Kernel>({{"cpu_histc", supports_any, run_histc}});
  static const auto kLists = std::to_array<BackendKernels>(
      {{"unique", kUnique}, {"searchsorted", kSearch}, {"bincount", kBincount}, {"histc", kHistc}});
  return kLists;
}

}  // namespace pel::cpu
