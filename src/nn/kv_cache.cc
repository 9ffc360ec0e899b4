#include <algorithm>

#include "pellucid/indexing.h"
#include "pellucid/nn.h"
#include "pellucid/ops.h"

#include "base/check.h"

namespace pel::nn {

std::int64_t KvCache::length() const { return lengths_.empty() ? 0 : *std::ranges::max_element(lengths_); }

void KvCache::truncate(std::int64_t length) {
  for (std::int64_t& each : lengths_) each = std::min(each, length);
}

namespace {
// What a shorter sequence has not filled yet is hidden from its queries, but must be numbers: 0 times NaN is
// NaN.
Tensor grown(const Tensor& old, const Tensor& like, std::int64_t room) {
  std::vector<Dim> sizes = like.sizes().vec();
  sizes[2] = room;
  Tensor wider = zeros(sizes, {like.dtype(), like.device()});
  if (old.defined()) wider.narrow(2, 0, old.size(2)).copy_(old);
  return wider;
}
}  // namespace

std::pair<Tensor, Tensor> KvCache::append(const Tensor& keys, const Tensor& values,
                                          ArrayView<std::int64_t> counts, Site site) {
  return as_call("KvCache", site, [&] {
    const std::int64_t batch = keys.size(0).value(), tokens = keys.size(2).value();
    PEL_CHECK(length() + tokens <= capacity_, ValueError,
              "{} tokens are there and {} come, but the cache holds {}", length(), tokens, capacity_);
    PEL_CHECK(counts.empty() || counts.size() == static_cast<std::size_t>(batch), ShapeError,
              "{} counts are given for {} sequences", counts.size(), batch);
    for (const std::int64_t count : counts)
      PEL_CHECK(count >= 0 && count <= tokens, ValueError, "a count of {} is not among {} tokens", count,
                tokens);
    if (keys_.defined() && (keys_.size(0) != keys.size(0) || keys_.dtype() != keys.dtype())) {
      PEL_CHECK(length() == 0, ShapeError, "the cache holds {}, and {} come", to_string(keys_.sizes()),
                to_string(keys.sizes()));
      keys_ = values_ = Tensor();
    }
    const std::int64_t room = keys_.defined() ? keys_.size(2).value() : 0;
    if (const std::int64_t needed = length() + tokens; needed > room) {
      const std::int64_t wanted = std::min(capacity_, std::max(needed, 2 * room));
      keys_ = grown(keys_, keys, wanted);
      values_ = grown(values_, values, wanted);
    }
    if (lengths_.empty()) lengths_.assign(static_cast<std::size_t>(batch), 0);
    const std::int64_t longest = length();
    if (std::ranges::all_of(lengths_, [&](std::int64_t each) { return each == longest; })) {
      keys_.narrow(2, longest, tokens).copy_(keys);
      values_.narrow(2, longest, tokens).copy_(values);
    } else {
      for (std::int64_t i = 0; i < batch; ++i) {
        const std::int64_t behind = lengths_[static_cast<std::size_t>(i)];
        keys_.select(0, i).narrow(1, behind, tokens).copy_(keys.select(0, i));
        values_.select(0, i).narrow(1, behind, tokens).copy_(values.select(0, i));
      }
    }
    for (std::size_t i = 0; i < lengths_.size(); ++i) lengths_[i] += counts.empty() ? tokens : counts[i];
    return std::pair(keys_.narrow(2, 0, longest + tokens), values_.narrow(2, 0, longest + tokens));
  });
}

}  // namespace pel::nn
