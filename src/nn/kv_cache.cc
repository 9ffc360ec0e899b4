#include <algorithm>

#include "pellucid/nn/modules.h"
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "base/check.h"

namespace pel::nn {

std::int64_t KVCache::length() const { return lengths_.empty() ? 0 : *std::ranges::max_element(lengths_); }

void KVCache::truncate(std::int64_t length) {
  for (std::int64_t& each : lengths_) each = std::min(each, length);
}

namespace {

// Slots that a shorter sequence has not filled yet are masked, but must hold numbers: 0 times NaN is NaN.
Tensor grown(const Tensor& old, Dims like, std::int64_t allocated, const TensorOptions& options) {
  std::vector<Dim> sizes = like.vec();
  sizes[2] = allocated;
  Tensor wider = zeros(sizes, options);
  if (old.defined()) wider.narrow(2, 0, old.size(2)).copy_(old);
  return wider;
}

}  // namespace

const KVSlots& KVCache::reserve(Dims sizes, const TensorOptions& options, ArrayView<std::int64_t> counts,
                                Site site) {
  return as_call("KVCache", site, [&]() -> const KVSlots& {
    Tensor& keys = slots_.keys;
    const std::int64_t batch = sizes[0].value(), tokens = sizes[2].value();
    PEL_CHECK(length() + tokens <= capacity_, ValueError,
              "the cache has a capacity of {2} tokens: it holds {0}, and {1} more do not fit", length(),
              tokens, capacity_);
    PEL_CHECK(counts.empty() || counts.size() == static_cast<std::size_t>(batch), ShapeError,
              "expected one count for each of the {1} sequences, got {0}", counts.size(), batch);
    for (const std::int64_t count : counts)
      PEL_CHECK(count >= 0 && count <= tokens, ValueError,
                "a count must be between 0 and the number of tokens, {1}; got {0}", count, tokens);
    if (keys.defined() && (keys.size(0) != sizes[0] || keys.dtype() != options.dtype)) {
      PEL_CHECK(length() == 0, ShapeError, "the cache holds keys of sizes {}, and the new keys have sizes {}",
                to_string(keys.sizes()), to_string(sizes));
      slots_ = {};
    }
    const std::int64_t allocated = keys.defined() ? keys.size(2).value() : 0;
    if (const std::int64_t needed = length() + tokens; needed > allocated) {
      const std::int64_t wanted = std::min(capacity_, std::max(needed, 2 * allocated));
      keys = grown(keys, sizes, wanted, options);
      slots_.values = grown(slots_.values, sizes, wanted, options);
    }
    if (lengths_.empty()) lengths_.assign(static_cast<std::size_t>(batch), 0);
    return slots_;
  });
}

void KVCache::advance(std::int64_t tokens, ArrayView<std::int64_t> counts) {
  for (std::size_t i = 0; i < lengths_.size(); ++i) lengths_[i] += counts.empty() ? tokens : counts[i];
}

std::pair<Tensor, Tensor> KVCache::append(const Tensor& keys, const Tensor& values,
                                          ArrayView<std::int64_t> counts, Site site) {
  return as_call("KVCache", site, [&] {
    const std::int64_t batch = keys.size(0).value(), tokens = keys.size(2).value();
    const KVSlots& slots = reserve(keys.sizes(), {keys.dtype(), keys.device()}, counts, site);
    const std::int64_t longest = length();
    if (std::ranges::all_of(lengths_, [&](std::int64_t each) { return each == longest; })) {
      slots.keys.narrow(2, longest, tokens).copy_(keys);
      slots.values.narrow(2, longest, tokens).copy_(values);
    } else {
      for (std::int64_t i = 0; i < batch; ++i) {
        const std::int64_t begin = lengths_[static_cast<std::size_t>(i)];
        slots.keys.select(0, i).narrow(1, begin, tokens).copy_(keys.select(0, i));
        slots.values.select(0, i).narrow(1, begin, tokens).copy_(values.select(0, i));
      }
    }
    advance(tokens, counts);
    return std::pair(slots.keys.narrow(2, 0, longest + tokens), slots.values.narrow(2, 0, longest + tokens));
  });
}

}  // namespace pel::nn
