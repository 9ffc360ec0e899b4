#include "pellucid/nn/generation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pellucid/autograd.h"
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "base/philox.h"

namespace pel::nn {
namespace {

// In [0, 1), with 53 bits.
double uniform(std::uint64_t seed, std::int64_t position) {
  const auto bits = philox({seed, 0}, static_cast<std::uint64_t>(position));
  const std::uint64_t word = std::uint64_t{bits[0]} << 32 | bits[1];
  return static_cast<double>(word >> 11) * 0x1p-53;
}

std::int64_t likeliest(const float* logits, std::size_t count) {
  return std::max_element(logits, logits + count) - logits;
}

// Draws one of the likeliest tokens that together have `top_p` of the probability.
std::int64_t draw(const float* logits, std::size_t count, const Sampling& sampling, std::int64_t position) {
  const double largest = logits[likeliest(logits, count)];
  std::vector<double> weights(count);
  double all = 0;
  for (std::size_t i = 0; i < count; ++i)
    all += weights[i] = std::exp((logits[i] - largest) / sampling.temperature);
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  const auto comes_first = [&](std::int64_t a, std::int64_t b) {
    const double of_a = weights[static_cast<std::size_t>(a)], of_b = weights[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  };
  // Usually a few tokens have all of it: the rest is never sorted.
  std::size_t sorted = 0, taken = 0;
  double share = 0;
  while (taken < count && (taken == 0 || share < sampling.top_p * all)) {
    if (taken == sorted) {
      const std::size_t next = std::min(count, std::max<std::size_t>(64, 4 * sorted));
      const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
      std::partial_sort(at(sorted), at(next), order.end(), comes_first);
      sorted = next;
    }
    share += weights[static_cast<std::size_t>(order[taken++])];
  }
  double left = uniform(sampling.seed, position) * share;
  for (std::size_t i = 0; i < taken; ++i) {
    left -= weights[static_cast<std::size_t>(order[i])];
    if (left < 0) return order[i];
  }
  return order[taken - 1];
}

// Pads on the right: attention never sees the padding after a row's own tokens.
Tensor padded(const std::vector<std::vector<std::int64_t>>& rows, std::size_t width) {
  std::vector<std::int64_t> flat;
  flat.reserve(rows.size() * width);
  for (const auto& row : rows) {
    flat.insert(flat.end(), row.begin(), row.end());
    flat.insert(flat.end(), width - row.size(), 0);
  }
  return from_data(flat, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(width)});
}

}  // namespace

std::int64_t sample_token(const Tensor& logits, const Sampling& sampling, std::int64_t position, Site site) {
  return as_call("sample_token", site, [&] {
    PEL_CHECK(logits.dim() == 1 && logits.numel() > 0 && is_floating(logits.dtype()), ShapeError,
              "expected floating-point logits with one axis, got {}{}", name(logits.dtype()),
              to_string(logits.sizes()));
    PEL_CHECK(sampling.temperature >= 0, ValueError, "the temperature must not be negative, got {}",
              sampling.temperature);
    PEL_CHECK(sampling.top_p > 0 && sampling.top_p <= 1, ValueError,
              "top_p must be above 0 and at most 1, got {}", sampling.top_p);
    const Tensor row = logits.to(kCpu).to(kF32).contiguous();
    const auto* values = row.data<float>();
    const auto count = static_cast<std::size_t>(row.numel().value());
    return sampling.temperature == 0 ? likeliest(values, count) : draw(values, count, sampling, position);
  });
}

namespace {

template <class Model>
std::vector<std::vector<std::int64_t>> generate_by(const Model& model,
                                                   ArrayView<std::vector<std::int64_t>> prompts,
                                                   const GenerateOptions& options, Site site) {
  return as_call("generate", site, [&] {
    const std::size_t batch = prompts.size();
    std::vector<std::vector<std::int64_t>> texts(batch), fed = {prompts.begin(), prompts.end()};
    std::vector<std::int64_t> counts(batch), positions(batch);
    std::size_t longest = 0;
    for (std::size_t i = 0; i < batch; ++i) {
      PEL_CHECK(!fed[i].empty(), ValueError, "prompt {} has no tokens", i);
      counts[i] = positions[i] = static_cast<std::int64_t>(fed[i].size());
      longest = std::max(longest, fed[i].size());
    }
    const InferenceMode inference;
    KVCaches caches = model.make_caches();
    std::size_t going = batch;
    for (std::int64_t step = 0; step < options.max_tokens && going > 0; ++step) {
      const Tensor logits = model.next_logits(padded(fed, step == 0 ? longest : 1), caches, counts);
      for (std::size_t i = 0; i < batch; ++i) {
        if (counts[i] == 0) continue;  // its text has ended
        const Tensor row = logits.select(0, static_cast<std::int64_t>(i));
        if (options.on_logits) options.on_logits(i, row);
        const std::int64_t token = sample_token(row, options.sampling, positions[i]++);
        const bool stops =
            std::find(options.stops.begin(), options.stops.end(), token) != options.stops.end();
        if (!stops) texts[i].push_back(token);
        const bool goes_on = !stops && (!options.on_token || options.on_token(i, token));
        fed[i] = {token};
        counts[i] = goes_on ? 1 : 0;
        if (!goes_on) --going;
      }
    }
    return texts;
  });
}

}  // namespace

std::vector<std::vector<std::int64_t>> generate(const Llama& model,
                                                ArrayView<std::vector<std::int64_t>> prompts,
                                                const GenerateOptions& options, Site site) {
  return generate_by(model, prompts, options, site);
}
std::vector<std::vector<std::int64_t>> generate(const CompiledLlama& model,
                                                ArrayView<std::vector<std::int64_t>> prompts,
                                                const GenerateOptions& options, Site site) {
  return generate_by(model, prompts, options, site);
}

}  // namespace pel::nn
