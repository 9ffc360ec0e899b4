#include "distributed/tree_sum.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "tensor/convert.h"

namespace pel::dist {
namespace {

constexpr std::int64_t kBlock = 1024;  // elements whose sums lie in the first-level cache together

// What a dtype is added in. Integers wrap, which only unsigned ones do.
template <class T>
using SumType = std::conditional_t<
    kIsHalf<T>, float,
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type>;

template <class T, class Sum>
void load_block(Sum* to, const std::byte* from, std::int64_t count) {
  if constexpr (kIsHalf<T>) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(load_as<T>(from + i * sizeof(T)));
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  }
}
template <class T, class Sum>
void store_block(std::byte* to, const Sum* from, std::int64_t count) {
  if constexpr (kIsHalf<T>) {
    for (std::int64_t i = 0; i < count; ++i) store_as(to + i * sizeof(T), T(from[i]));
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  }
}
template <class Sum>
void add_block(Sum* __restrict to, const Sum* __restrict other, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Sum>(to[i] + other[i]);
}

// Two addends need no copies.
template <class T>
void sum_of_two(std::byte* dst, const std::byte* a, const std::byte* b, std::int64_t count) {
  using Sum = SumType<T>;
  const auto add = [&](std::int64_t first, std::int64_t length) {
    for (std::int64_t i = first; i < first + length; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * sizeof(T);
      if constexpr (kIsHalf<T>) {
        store_as(dst + at,
                 T(static_cast<float>(load_as<T>(a + at)) + static_cast<float>(load_as<T>(b + at))));
      } else {
        store_as(dst + at, static_cast<Sum>(load_as<Sum>(a + at) + load_as<Sum>(b + at)));
      }
    }
  };
  for (std::int64_t at = 0; at < count; at += kBlock) add(at, std::min(kBlock, count - at));
}

template <class T>
void sum_of(std::byte* dst, ArrayView<const std::byte*> srcs, std::int64_t count) {
  using Sum = SumType<T>;
  const auto ranks = static_cast<std::int64_t>(srcs.size());
  if (ranks == 2) return sum_of_two<T>(dst, srcs[0], srcs[1], count);
  std::vector<Sum> sums(static_cast<std::size_t>(ranks * kBlock));
  for (std::int64_t at = 0; at < count; at += kBlock) {
    const std::int64_t length = std::min(kBlock, count - at);
    const std::int64_t offset = at * std::int64_t{sizeof(T)};
    for (std::int64_t r = 0; r < ranks; ++r)
      load_block<T>(&sums[static_cast<std::size_t>(r * kBlock)], srcs[static_cast<std::size_t>(r)] + offset,
                    length);
    for (std::int64_t step = 1; step < ranks; step *= 2) {
      for (std::int64_t r = 0; r + step < ranks; r += 2 * step)
        add_block(&sums[static_cast<std::size_t>(r * kBlock)],
                  &sums[static_cast<std::size_t>((r + step) * kBlock)], length);
    }
    store_block<T>(dst + offset, sums.data(), length);
  }
}

}  // namespace

void tree_sum(DType dtype, std::byte* dst, ArrayView<const std::byte*> srcs, std::int64_t count) {
  with_type(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      throw InternalError("collectives that add do not take bool");
    } else {
      sum_of<T>(dst, srcs, count);
    }
  });
}

}  // namespace pel::dist
