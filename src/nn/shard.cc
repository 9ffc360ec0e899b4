// Tensor parallelism by columns alone.
//
// A matmul adds over its inner axis, so what is divided is the other one: each rank multiplies whole rows of
// x with some of the columns, which has the bits of the same columns of the whole. Its results are gathered
// before the next matmul. Dividing the inner axis, with a sum over ranks after it, would move fewer bytes,
// and change the order of the sum.
#include "nn/shard.h"

#include <algorithm>

#include "pellucid/autograd.h"
#include "pellucid/distributed.h"
#include "pellucid/ops.h"
#include "pellucid/ops/collectives.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/linalg.h"

#include "base/check.h"

namespace pel::nn {
namespace {

struct Share {
  std::int64_t begin, count;
};
// Neighbouring ones, as equal as whole numbers allow.
Share share_of(std::int64_t count, int rank, int ranks) {
  const std::int64_t begin = count * rank / ranks;
  return {begin, count * (rank + 1) / ranks - begin};
}
std::vector<std::int64_t> shares_of(std::int64_t count, const dist::Group& group, std::int64_t width) {
  std::vector<std::int64_t> shares;
  for (int r = 0; r < group.size(); ++r) shares.push_back(width * share_of(count, r, group.size()).count);
  return shares;
}

// Keeps these rows. Those of a mapped file stay there; others are copied, so that the whole is freed.
void keep_rows(Tensor& tensor, ArrayView<Share> rows) {
  if (!tensor.defined()) return;
  const NoGrad no_grad;
  std::vector<Tensor> parts;
  for (const Share& each : rows) parts.push_back(tensor.detach().narrow(0, each.begin, each.count));
  if (parts.size() > 1) {
    tensor = cat(parts);
  } else {
    tensor = tensor.is_read_only() ? parts[0] : parts[0].clone();
  }
}

VocabularyShard shard_of(const Tensor& weight, const dist::Group& group) {
  const std::int64_t vocabulary = weight.size(0).value();
  const Share own = share_of(vocabulary, group.rank(), group.size());
  return {own.begin, own.count, ColumnGather(group, shares_of(vocabulary, group, 1))};
}

// Throws if the model cannot be divided. `now` are the heads of keys that its layers have, of `kv_heads`.
void check_group(const Module& model, const dist::Group& group, std::int64_t now, std::int64_t kv_heads) {
  PEL_CHECK(group.is_member(), ValueError, "this process is not in the group {}", group.name());
  PEL_CHECK(now == kv_heads, ValueError, "the model is divided already: shard() is called once");
  PEL_CHECK(group.size() <= kv_heads, ValueError,
            "the model has {} heads of keys for {} ranks: each rank needs one at least", kv_heads,
            group.size());
  for (const Tensor& each : model.parameters()) each.requires_grad_(RequiresGrad::No);
}

}  // namespace

ColumnGather::ColumnGather(const dist::Group& group, std::vector<std::int64_t> widths)
    : group_(group.name()), widths_(std::move(widths)) {}

Tensor ColumnGather::gathered(const Tensor& own, Site site) const {
  const std::int64_t widest = *std::ranges::max_element(widths_);
  Tensor filled_up = own;
  if (const std::int64_t width = own.size(-1).value(); width < widest) {
    std::vector<Dim> sizes = own.sizes().vec();
    sizes.back() = widest - width;
    filled_up = cat({own, zeros(sizes, {own.dtype(), own.device()})}, -1);
  }
  const Tensor all = all_gather(filled_up.unsqueeze(0), group_, site);
  std::vector<Tensor> columns;
  for (std::size_t r = 0; r < widths_.size(); ++r)
    columns.push_back(all.select(0, static_cast<std::int64_t>(r)).narrow(-1, 0, widths_[r]));
  return cat(columns, -1);
}

ColumnGather Linear::shard_output(const dist::Group& group) {
  const std::int64_t out = weight.size(0).value();
  const Share own = share_of(out, group.rank(), group.size());
  keep_rows(weight, {own});
  keep_rows(bias, {own});
  return {group, shares_of(out, group, 1)};
}
void Linear::shard(const dist::Group& group) { gather_ = shard_output(group); }

void GatedMLP::shard(const dist::Group& group) {
  gate.shard_output(group);
  gather_ = up.shard_output(group);
  down.shard(group);
}

void MLP::shard(const dist::Group& group) {
  gather_ = fc.shard_output(group);
  proj.shard(group);
}

void MultiheadAttention::shard(const dist::Group& group) {
  const std::int64_t each = heads_ / kv_heads_;  // heads of queries for one of keys
  const Share keys = share_of(kv_heads_, group.rank(), group.size());
  const std::int64_t queries_end = heads_ * head_width_, keys_end = queries_end + kv_heads_ * head_width_;
  const std::vector<Share> rows = {{keys.begin * each * head_width_, keys.count * each * head_width_},
                                   {queries_end + keys.begin * head_width_, keys.count * head_width_},
                                   {keys_end + keys.begin * head_width_, keys.count * head_width_}};
  keep_rows(qkv.weight, rows);
  keep_rows(qkv.bias, rows);
  gather_ = ColumnGather(group, shares_of(kv_heads_, group, each * head_width_));
  kv_heads_ = keys.count;
  heads_ = keys.count * each;
  out.shard(group);
}

Tensor tied_logits(const Tensor& x, const Tensor& weight, const VocabularyShard& shard) {
  if (shard.count < 0) return linear(x, weight);
  return shard.gather(linear(x, weight.narrow(0, shard.begin, shard.count)));
}

void GPT::shard(const dist::Group& group, Site site) {
  as_call("GPT::shard", site, [&] {
    if (h.size() == 0) return;
    check_group(*this, group, h[0].attn.kv_heads(), config_.heads);
    if (group.size() == 1) return;
    for (std::size_t i = 0; i < h.size(); ++i) h[i].attn.shard(group), h[i].mlp.shard(group);
    vocabulary_ = shard_of(wte.weight, group);
  });
}

void Llama::shard(const dist::Group& group, Site site) {
  as_call("Llama::shard", site, [&] {
    if (layers.size() == 0) return;
    check_group(*this, group, layers[0].attention.kv_heads(), config_.kv_heads);
    if (group.size() == 1) return;
    for (std::size_t i = 0; i < layers.size(); ++i)
      layers[i].attention.shard(group), layers[i].mlp.shard(group);
    if (head) {
      head->shard(group);
    } else {
      vocabulary_ = shard_of(embed.weight, group);
    }
  });
}

}  // namespace pel::nn
