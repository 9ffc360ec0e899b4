// The gradients of attention.
//
//   P  = e^(scale q k^T + mask - logsumexp)     dP = do v^T
//   dS = P (dP - sum(do o) + dlogsumexp)
//   dq = scale dS k     dk = scale dS^T q     dv = P^T do     dmask = dS
//
// Scores are computed again for some rows of queries at a time, against the keys that these see. Heads that
// share their keys are rows of one matrix, which adds up the gradients of the keys.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "pellucid/autograd.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/linalg.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"
#include "ops/shared/attention.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

constexpr std::int64_t kMaxScores = 1 << 22;  // of all heads at a time: 16 MB of f32
constexpr std::int64_t kMinRows = 64;         // fewer are slow to multiply
constexpr double kHidden = -std::numeric_limits<double>::infinity();

enum Wanted : std::size_t { kQuery, kKey, kValue, kMask };

struct Span {
  std::int64_t first, count;
  std::int64_t end() const { return first + count; }
};

class Backward {
 public:
  Backward(const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
           const Tensor& result, const Tensor& logsumexp, Causal causal, std::optional<double> scale,
           std::optional<std::int64_t> window)
      : type_(value_type(query.dtype())),
        batch_(query.sizes()[0].value()),
        heads_(query.sizes()[1].value()),
        queries_(query.sizes()[2].value()),
        key_heads_(key.sizes()[1].value()),
        keys_(key.sizes()[2].value()),
        is_causal_(causal == Causal::Yes),
        window_(window),
        scale_(score_scale(scale, query.sizes()[3])),
        grad_(to(grad, type_)),
        query_(to(query, type_)),
        key_(flatten(to(key, type_), 0, 1)),
        value_(flatten(to(value, type_), 0, 1)),
        // A query that sees no key: e^-inf, whatever is taken away.
        logs_(masked_fill(logsumexp, eq(logsumexp, kHidden), 0)),
        taken_away_(sum(grad_ * to(result, type_), {-1})) {}

  void take_away(const Tensor& t) { taken_away_ = taken_away_ - t; }
  void add_mask(const Tensor& mask) { mask_ = expand(mask, {batch_, heads_, queries_, keys_}); }

  std::vector<Tensor> run(OutputMask<4> wanted) const {
    const std::int64_t row = std::max<std::int64_t>(batch_ * heads_ * keys_, 1);
    const std::int64_t rows = std::max(kMaxScores / row, kMinRows);
    std::vector<Tensor> queries, masks;
    Tensor keys, values;
    for (std::int64_t first = 0; first < queries_ || first == 0; first += rows) {
      const Span block{first, std::min(rows, queries_ - first)}, seen = seen_by(block);
      const Tensor grad = matrix(grad_, block), query = matrix(query_, block),
                   key = narrow(key_, 1, seen.first, seen.count),
                   value = narrow(value_, 1, seen.first, seen.count);
      const Tensor weights = exp(scores(query, key, block, seen));
      const Tensor to_scores =
          weights * baddbmm(neg(matrix(taken_away_.unsqueeze(-1), block)), grad, transpose(value, 1, 2));
      if (wanted[kQuery])
        queries.push_back(view(product(to_scores, key), {batch_, heads_, block.count, key_.sizes()[2]}));
      if (wanted[kKey]) add_up(keys, product(transpose(to_scores, 1, 2), query), seen);
      if (wanted[kValue]) add_up(values, bmm(transpose(weights, 1, 2), grad), seen);
      if (wanted[kMask]) {
        const Tensor each = view(to_scores, {batch_, heads_, block.count, seen.count});
        masks.push_back(seen.count == keys_ ? each
                                            : constant_pad_nd(each, {seen.first, keys_ - seen.end()}, 0));
      }
    }
    const auto of_keys = [&](const Tensor& t) {
      return t.defined() ? view(t, {batch_, key_heads_, keys_, t.sizes()[2]}) : t;
    };
    return {joined(queries), of_keys(keys), of_keys(values), joined(masks)};
  }

 private:
  // Keys that some query of the block sees.
  Span seen_by(const Span& block) const {
    const std::int64_t end =
        is_causal_ || window_ ? std::clamp<std::int64_t>(place(block.end() - 1) + 1, 0, keys_) : keys_;
    const std::int64_t first =
        window_ ? std::clamp<std::int64_t>(place(block.first) - *window_ + 1, 0, end) : 0;
    return {first, end - first};
  }
  std::int64_t place(std::int64_t query) const { return is_causal_ ? query : query + keys_ - queries_; }

  // Rows [batch, heads, rows, …] of the block as [batch key_heads, rows of heads with the same keys, …].
  Tensor matrix(const Tensor& t, const Span& block) const {
    return reshape(
        narrow(t, 2, block.first, block.count),
        {batch_ * key_heads_, key_heads_ == 0 ? 0 : heads_ / key_heads_ * block.count, t.sizes()[3]});
  }
  Tensor product(const Tensor& a, const Tensor& b) const {
    return baddbmm(zeros({}, {type_, a.device()}), a, b, 0, scale_);
  }

  // Less the logarithm of their sum.
  Tensor scores(const Tensor& query, const Tensor& key, const Span& block, const Span& seen) const {
    const Tensor plain =
        baddbmm(neg(matrix(logs_.unsqueeze(-1), block)), query, transpose(key, 1, 2), 1, scale_);
    if (!mask_.defined() && !is_causal_ && !window_) return plain;
    Tensor all = view(plain, {batch_, heads_, block.count, seen.count});
    if (mask_.defined()) {
      const Tensor mask = narrow(narrow(mask_, 2, block.first, block.count), 3, seen.first, seen.count);
      all = mask.dtype() == kBool ? masked_fill(all, logical_not(mask), kHidden) : all + to(mask, type_);
    }
    if (is_causal_ || window_) all = masked_fill(all, hidden(block, seen), kHidden);
    return view(all, plain.sizes());
  }
  Tensor hidden(const Span& block, const Span& seen) const {
    const TensorOptions options{kI64, key_.device()};
    const Tensor keys = arange(seen.first, seen.end(), 1, options),
                 places = arange(place(block.first), place(block.end()), 1, options).unsqueeze(1);
    const Tensor after = gt(keys, places);
    return window_ ? logical_or(after, le(keys, places - *window_)) : after;
  }

  void add_up(Tensor& total, const Tensor& part, const Span& seen) const {
    if (!total.defined() && seen.count == keys_) {
      total = part;
      return;
    }
    if (!total.defined())
      total = zeros({part.sizes()[0], keys_, part.sizes()[2]}, {part.dtype(), part.device()});
    add_(narrow(total, 1, seen.first, seen.count), part);
  }
  static Tensor joined(const std::vector<Tensor>& blocks) {
    return blocks.empty() ? Tensor() : blocks.size() == 1 ? blocks[0] : cat(blocks, 2);
  }

  DType type_;
  std::int64_t batch_, heads_, queries_, key_heads_, keys_;
  bool is_causal_;
  std::optional<std::int64_t> window_;
  double scale_;
  Tensor grad_, query_, key_, value_, logs_, taken_away_, mask_;
};

bool has_symbols(const Tensor& t) {
  return std::ranges::any_of(t.sizes(), [](Dim size) { return size.is_symbolic(); });
}
bool has_gradient(const Tensor& t) { return is_grad_enabled() && t.requires_grad(); }
// How many blocks there are depends on the sizes; what comes out of them does not.
std::vector<Tensor> results_alone(const Tensor& query, const Tensor& key, const Tensor& value,
                                  OutputMask<4> wanted) {
  const Dim sizes[][4] = {
      {query.sizes()[0], query.sizes()[1], query.sizes()[2], query.sizes()[3]},
      {key.sizes()[0], key.sizes()[1], key.sizes()[2], key.sizes()[3]},
      {value.sizes()[0], value.sizes()[1], value.sizes()[2], value.sizes()[3]},
      {query.sizes()[0], query.sizes()[1], query.sizes()[2], key.sizes()[2]},
  };
  std::vector<Tensor> results(4);
  for (const std::size_t i : {kQuery, kKey, kValue, kMask})
    if (wanted[i]) results[i] = make_dense(Dims(sizes[i], 4), query.dtype(), query.device());
  return results;
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward_body(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& result,
    const Tensor& logsumexp, const std::optional<Tensor>& attn_mask, Causal causal,
    std::optional<double> scale, std::optional<std::int64_t> window,
    const std::optional<Tensor>& grad_logsumexp, OutputMask<4> output_mask) {
  for (const Tensor* t : {&grad, &query, &key, &value, &result})
    PEL_CHECK(t->dim() == 4, ShapeError, "tensors are [batch, heads, rows, columns]; {} is not",
              describe(*t));
  PEL_CHECK(!output_mask[kMask] || (attn_mask && is_floating(attn_mask->dtype())), ValueError,
            "nothing flows back to a mask that is not added");
  // Where the parts are recorded for a gradient they are computed one by one, for these sizes.
  const bool is_recorded = has_gradient(grad) || has_gradient(query) || has_gradient(key) ||
                           has_gradient(value) || has_gradient(result) || has_gradient(logsumexp) ||
                           (attn_mask && has_gradient(*attn_mask)) ||
                           (grad_logsumexp && has_gradient(*grad_logsumexp));
  if (!is_recorded && (has_symbols(query) || has_symbols(key) || has_symbols(value))) {
    const std::vector<Tensor> made = results_alone(query, key, value, output_mask);
    return {made[kQuery], made[kKey], made[kValue], made[kMask]};
  }
  Backward backward(grad, query, key, value, result, logsumexp, causal, scale, window);
  if (grad_logsumexp) backward.take_away(*grad_logsumexp);
  if (attn_mask) backward.add_mask(*attn_mask);
  std::vector<Tensor> given = backward.run(output_mask);
  for (Tensor& t : given) {
    if (t.defined()) t = to(t, query.dtype());
  }
  return {given[kQuery], given[kKey], given[kValue], given[kMask]};
}

}  // namespace

namespace ops {
OpDef define_attention_backward() {
  return define_op<attention_backward_body>(
             OpKind::Composite,
             "attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor result, Tensor "
             "logsumexp, Tensor? attn_mask=None, bool is_causal=False, float? scale=None, int? window=None, "
             "Tensor? grad_logsumexp=None, int[] output_mask=[1, 1, 1, 0]) -> (Tensor, Tensor, Tensor, "
             "Tensor)")
      .dtypes(kFloating | DTypeSet{kBool})
      .one_call()
      .samples([](Sampler& s) {
        return SampleCalls{{s({1, 2, 2, 2}), s({1, 2, 2, 2}), s({1, 1, 3, 2}), s({1, 1, 3, 2}),
                            s({1, 2, 2, 2}), s({1, 2, 2}), s({2, 3}), true, 0.5, Value(), s({1, 2, 2}),
                            std::vector<Dim>{1, 1, 1, 1}}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& result,
    const Tensor& logsumexp, const std::optional<Tensor>& attn_mask, Causal causal,
    std::optional<double> scale, std::optional<std::int64_t> window,
    const std::optional<Tensor>& grad_logsumexp, OutputMask<4> output_mask, Site site) {
  return call<"attention_backward", attention_backward_body>(site, grad, query, key, value, result, logsumexp,
                                                             attn_mask, causal, scale, window, grad_logsumexp,
                                                             output_mask);
}
}  // namespace internal

}  // namespace pel
