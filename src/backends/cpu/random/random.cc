// Random numbers. Element i, in row-major order, is computed from the words at i of its call's stream.
// The first two scalars of every call are the seed and the offset of the stream.
//
// Parts: RowMajorWalk iterates over an operand; for_chunks generates the words of a chunk; Uniform, Normal,
// Exponential and Bernoulli turn words into values; fill writes them; the run functions serve the ops.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/elementwise/strided_loop.h"
#include "backends/cpu/isa.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/random/random_values.h"
#include "base/check.h"
#include "base/thread_pool.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

constexpr std::int64_t kChunk = 512;  // elements generated at a time, in L1
constexpr std::int64_t kGrain = 4 * kChunk;

PhiloxStream stream_of(const KernelArgs& args) {
  return {static_cast<std::uint64_t>(args.scalars[0].as_int),
          static_cast<std::uint64_t>(args.scalars[1].as_int)};
}

std::int64_t count_of(const Operand& operand) {
  std::int64_t count = 1;
  for (int i = 0; i < operand.rank; ++i) count *= operand.sizes[i];
  return count;
}

// The compute type: f64 for f64, f32 for the other floating types.
template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Visits the elements of an operand in row-major order, from any index on.
class RowMajorWalk {
 public:
  explicit RowMajorWalk(const Operand& operand)
      : operand_(operand),
        width_(size_bytes(static_cast<DType>(operand.dtype))),
        is_dense_(is_row_major(operand)),
        index_(static_cast<std::size_t>(operand.rank)) {}

  bool is_dense() const { return is_dense_; }
  char* at(std::int64_t element) const { return static_cast<char*>(operand_.data) + element * width_; }

  // Calls f(pointer, i) for i = 0, 1, … count - 1, the element `first` + i.
  template <class F>
  void each(std::int64_t first, std::int64_t count, F&& f) {
    if (is_dense_) {
      for (std::int64_t i = 0; i < count; ++i) f(at(first + i), i);
      return;
    }
    std::int64_t offset = 0;
    for (int axis = operand_.rank; axis-- > 0;) {
      index_[static_cast<std::size_t>(axis)] = first % operand_.sizes[axis];
      offset += index_[static_cast<std::size_t>(axis)] * operand_.strides[axis];
      first /= operand_.sizes[axis];
    }
    for (std::int64_t i = 0; i < count; ++i) {
      f(at(offset), i);
      for (int axis = operand_.rank; axis-- > 0;) {
        offset += operand_.strides[axis];
        if (++index_[static_cast<std::size_t>(axis)] < operand_.sizes[axis]) break;
        offset -= operand_.sizes[axis] * operand_.strides[axis];
        index_[static_cast<std::size_t>(axis)] = 0;
      }
    }
  }

 private:
  const Operand& operand_;
  std::int64_t width_;
  bool is_dense_;
  SmallVector<std::int64_t, 8> index_;
};

// Calls process(words, first, count) for all chunks of `total` elements that need PerElement words each. The
// words past the last element are zero, so process may compute whole chunks.
template <int PerElement, class MakeProcess>
void for_chunks(const KernelArgs& args, std::int64_t total, MakeProcess&& make_process) {
  const PhiloxStream stream = stream_of(args);
  parallel_for(total, kGrain, [&](std::int64_t begin, std::int64_t end) {
    const DefaultFloatMode mode;
    auto process = make_process();
    alignas(64) std::uint32_t words[kChunk * PerElement];
    for (std::int64_t first = begin; first < end; first += kChunk) {
      const std::int64_t count = std::min(kChunk, end - first);
      const std::int64_t blocks = (count * PerElement + 3) / 4;
      philox_words(words, stream, static_cast<std::uint64_t>(first * PerElement / 4), blocks);
      std::fill(words + 4 * blocks, std::end(words), 0);
      process(words, first, count);
    }
  });
}

// Distributions. Each computes a whole chunk from its words: to[i] from word i, or 2 i and 2 i + 1.
struct Uniform {
  double from, to;
  template <class T>
  [[gnu::always_inline]] void operator()(const std::uint32_t* words, Real<T>* values) const {
    using C = Real<T>;
    // Only as many digits as the dtype has, so the result never rounds to 1.
    constexpr int kDigits = std::is_same_v<T, Float16>    ? 11
                            : std::is_same_v<T, BFloat16> ? 8
                                                          : RandomReal<C>::kPrecision;
    const C low = static_cast<C>(from), width = static_cast<C>(to) - static_cast<C>(from);
    for (std::int64_t i = 0; i < kChunk; ++i) {
      if constexpr (std::is_same_v<C, double>) {
        values[i] = uniform_value<C>(word64(words + 2 * i), kDigits) * width + low;
      } else {
        values[i] = uniform_value<C>(words[i], kDigits) * width + low;
      }
    }
  }
};

struct Normal {
  double mean, std;
  template <class T>
  [[gnu::always_inline]] void operator()(const std::uint32_t* words, Real<T>* values) const {
    using C = Real<T>;
    const C center = static_cast<C>(mean), width = static_cast<C>(std);
    constexpr std::int64_t kPairs = kChunk / 2;
    // Box-Muller: the first number of a pair determines the radius, the second the angle.
    alignas(64) C radius[kPairs], x[kPairs], y[kPairs];
    for (std::int64_t i = 0; i < kPairs; ++i) {
      if constexpr (std::is_same_v<C, double>) {
        radius[i] = 2 * minus_log<C>(word64(words + 4 * i));
        cosine_sine<C>(word64(words + 4 * i + 2), x[i], y[i]);
      } else {
        radius[i] = 2 * minus_log<C>(words[2 * i]);
        cosine_sine<C>(words[2 * i + 1], x[i], y[i]);
      }
    }
    sqrt_all(radius, kPairs);
    for (std::int64_t i = 0; i < kPairs; ++i) {
      values[2 * i] = radius[i] * x[i] * width + center;
      values[2 * i + 1] = radius[i] * y[i] * width + center;
    }
  }
};

struct Exponential {
  double rate;
  template <class T>
  [[gnu::always_inline]] void operator()(const std::uint32_t* words, Real<T>* values) const {
    using C = Real<T>;
    const C divisor = static_cast<C>(rate);
    constexpr C kMin =
        std::is_same_v<C, double> ? C(0x1p-65) : C(0x1p-33);  // 0 is not a value of this distribution
    for (std::int64_t i = 0; i < kChunk; ++i) {
      C x;
      if constexpr (std::is_same_v<C, double>) {
        x = minus_log<C>(word64(words + 2 * i));
      } else {
        x = minus_log<C>(words[i]);
      }
      values[i] = (x < kMin ? kMin : x) / divisor;
    }
  }
};

// `yes` with probability p, else 0.
struct Bernoulli {
  Bernoulli(double p, double value)
      : yes(value), words_below(static_cast<std::uint64_t>(std::ceil(p * 0x1p32))) {}
  double yes;
  std::uint64_t words_below;  // words below this mean yes, out of 2^32

  bool operator()(std::uint32_t word) const { return word < words_below; }
  template <class T>
  [[gnu::always_inline]] void operator()(const std::uint32_t* words, Real<T>* values) const {
    const auto value = static_cast<Real<T>>(words_below == 0 ? 0.0 : yes);
    const auto last = static_cast<std::uint32_t>(words_below - 1);
    for (std::int64_t i = 0; i < kChunk; ++i) values[i] = words[i] <= last ? value : Real<T>(0);
  }
};

// Compiled for vectors of eight. It has no fma, so the bits are the same as without vectors.
template <class T, class Values>
PEL_LANES void make_in_vectors(const Values& make, const std::uint32_t* words, Real<T>* values) {
  make.template operator()<T>(words, values);
}

template <class T, class Values>
void make_values(const Values& make, const std::uint32_t* words, Real<T>* values) {
  static const bool has_vectors = best_isa().has_value();
  if (has_vectors) {
    make_in_vectors<T>(make, words, values);
  } else {
    make.template operator()<T>(words, values);
  }
}

template <class Values>
void fill(const KernelArgs& args, const Values& make) {
  const Operand& dst = output(args, 0);
  with_type(static_cast<DType>(dst.dtype), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_integral_v<T>) {
      constexpr int kWords = std::is_same_v<T, double> ? 2 : 1;
      for_chunks<kWords>(args, count_of(dst), [&] {
        return [&, walk = RowMajorWalk(dst)](const std::uint32_t* words, std::int64_t first,
                                             std::int64_t count) mutable {
          alignas(64) Real<T> values[kChunk];
          make_values<T>(make, words, values);
          if (walk.is_dense() && std::is_same_v<T, Real<T>>) {
            std::memcpy(walk.at(first), values, static_cast<std::size_t>(count) * sizeof(T));
            return;
          }
          walk.each(first, count, [&](char* to, std::int64_t i) { store_as(to, convert<T>(values[i])); });
        };
      });
    }
  });
}

void run_uniform(Stream&, const KernelArgs& args) {
  fill(args, Uniform{args.scalars[2].as_float, args.scalars[3].as_float});
}
void run_normal(Stream&, const KernelArgs& args) {
  fill(args, Normal{args.scalars[2].as_float, args.scalars[3].as_float});
}
void run_exponential(Stream&, const KernelArgs& args) { fill(args, Exponential{args.scalars[2].as_float}); }

// Scalars: the lowest value, and the number of values, unsigned; 0 means 2^64.
void run_randint(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const auto low = static_cast<std::uint64_t>(args.scalars[2].as_int),
             range = static_cast<std::uint64_t>(args.scalars[3].as_int);
  with_type(static_cast<DType>(dst.dtype), [&]<class T>(std::type_identity<T>) {
    for_chunks<2>(args, count_of(dst), [&] {
      return [&, walk = RowMajorWalk(dst)](const std::uint32_t* words, std::int64_t first,
                                           std::int64_t count) mutable {
        walk.each(first, count, [&](char* to, std::int64_t i) {
          const std::uint64_t bits = word64(words + 2 * i);
          store_as(to, convert<T>(static_cast<std::int64_t>(low + (range == 0 ? bits : below(range, bits)))));
        });
      };
    });
  });
}

// One probability for all elements.
void run_bernoulli(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const Bernoulli bernoulli(args.scalars[2].as_float, 1);
  with_type(static_cast<DType>(dst.dtype), [&]<class T>(std::type_identity<T>) {
    for_chunks<1>(args, count_of(dst), [&] {
      return [&, walk = RowMajorWalk(dst)](const std::uint32_t* words, std::int64_t first,
                                           std::int64_t count) mutable {
        if constexpr (std::is_same_v<T, float>) {
          if (walk.is_dense() && count == kChunk) {
            alignas(64) float values[kChunk];
            make_values<T>(bernoulli, words, values);
            std::memcpy(walk.at(first), values, sizeof values);
            return;
          }
        }
        walk.each(first, count,
                  [&](char* to, std::int64_t i) { store_as(to, convert<T>(bernoulli(words[i]))); });
      };
    });
  });
}

// A probability per element.
Support has_probabilities(const KernelArgs& args) {
  return args.input_count == 1 ? Support::yes()
                               : Support::no("the call has one probability for all elements");
}
void run_bernoulli_of(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &probabilities = input(args, 0);
  with_type(static_cast<DType>(dst.dtype), [&]<class T>(std::type_identity<T>) {
    for_chunks<1>(args, count_of(dst), [&] {
      return [&, walk = RowMajorWalk(dst), probability_walk = RowMajorWalk(probabilities)](
                 const std::uint32_t* words, std::int64_t first, std::int64_t count) mutable {
        bool yes[kChunk];
        probability_walk.each(first, count, [&](const char* from, std::int64_t i) {
          const auto p = convert<double>(load_as<T>(from));
          PEL_CHECK(p >= 0 && p <= 1, ValueError, "a probability is {}; it must be between 0 and 1", p);
          yes[i] = Bernoulli(p, 1)(words[i]);
        });
        walk.each(first, count, [&](char* to, std::int64_t i) { store_as(to, convert<T>(yes[i])); });
      };
    });
  });
}

// Outputs: the result and the mask of retained elements. Scalar: the probability of dropping.
void run_dropout(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &mask = output(args, 1), &src = input(args, 0);
  const double keep_probability = 1 - args.scalars[2].as_float;
  const Bernoulli bernoulli(keep_probability, keep_probability == 0 ? 0 : 1 / keep_probability);
  with_type(static_cast<DType>(dst.dtype), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_integral_v<T>) {
      for_chunks<1>(args, count_of(dst), [&] {
        return [&, to_walk = RowMajorWalk(dst), mask_walk = RowMajorWalk(mask),
                from_walk = RowMajorWalk(src)](const std::uint32_t* words, std::int64_t first,
                                               std::int64_t count) mutable {
          using C = Real<T>;
          alignas(64) C values[kChunk];
          alignas(64) bool retained[kChunk];
          make_values<T>(bernoulli, words, values);
          for (std::int64_t i = 0; i < kChunk; ++i) retained[i] = bernoulli(words[i]);
          const bool dense = from_walk.is_dense() && to_walk.is_dense() && mask_walk.is_dense();
          if (dense && std::is_same_v<T, C> && count == kChunk) {
            alignas(64) C factors[kChunk];
            std::memcpy(factors, from_walk.at(first), sizeof factors);
            for (std::int64_t i = 0; i < kChunk; ++i) values[i] *= factors[i];
            std::memcpy(to_walk.at(first), values, sizeof values);
            std::memcpy(mask_walk.at(first), retained, sizeof retained);
            return;
          }
          from_walk.each(first, count, [&](const char* from, std::int64_t i) {
            values[i] *= convert<C>(load_as<T>(from));
          });
          to_walk.each(first, count, [&](char* to, std::int64_t i) { store_as(to, convert<T>(values[i])); });
          mask_walk.each(first, count, [&](char* to, std::int64_t i) { store_as(to, retained[i]); });
        };
      });
    }
  });
}

// Inputs: means and standard deviations, broadcast to the sizes of the output.
void run_normal_of(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  with_type(static_cast<DType>(dst.dtype), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_integral_v<T>) {
      using C = Real<T>;
      for_chunks<std::is_same_v<T, double> ? 2 : 1>(args, count_of(dst), [&] {
        return [&, to_walk = RowMajorWalk(dst), mean_walk = RowMajorWalk(input(args, 0)),
                std_walk = RowMajorWalk(input(args, 1))](const std::uint32_t* words, std::int64_t first,
                                                         std::int64_t count) mutable {
          alignas(64) C values[kChunk];
          make_values<T>(Normal{0, 1}, words, values);
          std_walk.each(first, count, [&](const char* from, std::int64_t i) {
            const C std = convert<C>(load_as<T>(from));
            PEL_CHECK(std >= 0, ValueError, "a standard deviation is {}; it must not be negative",
                      static_cast<double>(std));
            values[i] *= std;
          });
          mean_walk.each(first, count, [&](const char* from, std::int64_t i) {
            values[i] += convert<C>(load_as<T>(from));
          });
          to_walk.each(first, count, [&](char* to, std::int64_t i) { store_as(to, convert<T>(values[i])); });
        };
      });
    }
  });
}

}  // namespace

KernelLists random_kernels() {
  static const auto kUniform = std::to_array<Kernel>({{"cpu_random_uniform", supports_any, run_uniform}});
  static const auto kNormal = std::to_array<Kernel>({{"cpu_random_normal", supports_any, run_normal}});
  static const auto kNormalOf =
      std::to_array<Kernel>({{"cpu_random_normal_of", supports_any, run_normal_of}});
  static const auto kExponential =
      std::to_array<Kernel>({{"cpu_random_exponential", supports_any, run_exponential}});
  static const auto kRandint = std::to_array<Kernel>({{"cpu_random_integers", supports_any, run_randint}});
  static const auto kBernoulli =
      std::to_array<Kernel>({{"cpu_random_bernoulli_of", has_probabilities, run_bernoulli_of},
                             {"cpu_random_bernoulli", supports_any, run_bernoulli}});
  static const auto kDropout = std::to_array<Kernel>({{"cpu_random_dropout", supports_any, run_dropout}});
  static const auto kLists = std::to_array<BackendKernels>({{"uniform_", kUniform},
                                                            {"normal_", kNormal},
                                                            {"normal", kNormalOf},
                                                            {"exponential_", kExponential},
                                                            {"randint", kRandint},
                                                            {"bernoulli_", kBernoulli},
                                                            {"native_dropout", kDropout}});
  return kLists;
}

}  // namespace pel::cpu
