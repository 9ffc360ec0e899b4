// Random permutations, and samples from given probabilities. The first two scalars of every call are
// the seed and the offset of the stream.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/random/random_values.h"
#include "base/check.h"
#include "base/thread_pool.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

PhiloxStream stream_of(const KernelArgs& args) {
  return {static_cast<std::uint64_t>(args.scalars[0].as_int),
          static_cast<std::uint64_t>(args.scalars[1].as_int)};
}

// Returns number `i` of a stream of 64-bit numbers.
std::uint64_t number_at(const PhiloxStream& stream, std::uint64_t i) {
  const auto words = philox(stream, i / 2);
  return word64(words.data() + 2 * (i % 2));
}

// Fisher-Yates, from the end.
void run_randperm(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const PhiloxStream stream = stream_of(args);
  std::vector<std::int64_t> order(static_cast<std::size_t>(dst.sizes[0]));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[below(i + 1, number_at(stream, i))]);
  with_type(static_cast<DType>(dst.dtype), [&]<class T>(std::type_identity<T>) {
    auto* to = static_cast<char*>(dst.data);
    for (const std::int64_t value : order) {
      store_as(to, convert<T>(value));
      to += sizeof(T);
    }
  });
}

// Samples one row of probabilities, which uses the random numbers from `first` on.
class RowSampler {
 public:
  RowSampler(const KernelArgs& args)
      : stream_(stream_of(args)),
        probabilities_(input(args, 0)),
        with_replacement_(args.scalars[2].as_int != 0),
        weights_(static_cast<std::size_t>(probabilities_.sizes[probabilities_.rank - 1])) {}

  void operator()(std::int64_t row, std::int64_t* to, std::int64_t samples) {
    load(row);
    if (with_replacement_) {
      sample_again(row * samples, to, samples);
    } else {
      sample_once(row * static_cast<std::int64_t>(weights_.size()), to, samples);
    }
  }

 private:
  void load(std::int64_t row) {
    const auto count = static_cast<std::int64_t>(weights_.size());
    double total = 0;
    with_type(static_cast<DType>(probabilities_.dtype), [&]<class T>(std::type_identity<T>) {
      const auto* from =
          static_cast<const char*>(probabilities_.data) + row * count * static_cast<std::int64_t>(sizeof(T));
      for (double& weight : weights_) {
        weight = convert<double>(load_as<T>(from));
        PEL_CHECK(weight >= 0 && std::isfinite(weight), ValueError,
                  "a probability is {}; it must be finite and not negative", weight);
        total += weight;
        from += sizeof(T);
      }
    });
    PEL_CHECK(total > 0, ValueError, "the probabilities of a row sum to 0; at least one must be positive");
  }

  // Samples with replacement: finds the first prefix sum that is larger. An index of probability 0 is never
  // chosen.
  void sample_again(std::int64_t first, std::int64_t* to, std::int64_t samples) {
    std::partial_sum(weights_.begin(), weights_.end(), weights_.begin());
    const double total = weights_.back();
    const auto last = std::lower_bound(weights_.begin(), weights_.end(), total);
    for (std::int64_t s = 0; s < samples; ++s) {
      const double at =
          uniform_value<double>(number_at(stream_, static_cast<std::uint64_t>(first + s)), 53) * total;
      const auto found = std::min(std::upper_bound(weights_.begin(), weights_.end(), at), last);
      to[s] = found - weights_.begin();
    }
  }

  // Samples without replacement: takes the largest weight / exponential. Zeros come last.
  void sample_once(std::int64_t first, std::int64_t* to, std::int64_t samples) {
    order_.resize(weights_.size());
    std::iota(order_.begin(), order_.end(), 0);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const double wait = minus_log<double>(number_at(stream_, static_cast<std::uint64_t>(first) + i));
      weights_[i] /= std::max(wait, 0x1p-65);
    }
    std::partial_sort(
        order_.begin(), order_.begin() + samples, order_.end(), [&](std::int64_t a, std::int64_t b) {
          const double x = weights_[static_cast<std::size_t>(a)], y = weights_[static_cast<std::size_t>(b)];
          return x != y ? x > y : a < b;
        });
    std::copy_n(order_.begin(), samples, to);
  }

  PhiloxStream stream_;
  const Operand& probabilities_;
  bool with_replacement_;
  std::vector<double> weights_;
  std::vector<std::int64_t> order_;
};

void run_multinomial(Stream&, const KernelArgs& args) {
  const Operand &dst = output(args, 0), &src = input(args, 0);
  const std::int64_t rows = src.rank == 1 ? 1 : src.sizes[0], samples = dst.sizes[dst.rank - 1];
  const std::int64_t cost = src.sizes[src.rank - 1] + 8 * samples;
  parallel_for(rows, Grain::of(4096, cost), [&](std::int64_t begin, std::int64_t end) {
    const DefaultFloatMode mode;
    RowSampler sample(args);
    for (std::int64_t row = begin; row < end; ++row)
      sample(row, static_cast<std::int64_t*>(dst.data) + row * samples, samples);
  });
}

}  // namespace

KernelLists sampling_kernels() {
  static const auto kRandperm =
      std::to_array<Kernel>({{"cpu_random_permutation", supports_any, run_randperm}});
  static const auto kMultinomial =
      std::to_array<Kernel>({{"cpu_random_multinomial", supports_any, run_multinomial}});
  static const auto kLists =
      std::to_array<BackendKernels>({{"randperm", kRandperm}, {"multinomial", kMultinomial}});
  return kLists;
}

}  // namespace pel::cpu
