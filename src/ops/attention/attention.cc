// softmax(query key^T scale + mask) value, and the logarithm of the sum of e^score.
#include "ops/shared/attention.h"

#include "pellucid/ops/internal.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/operands.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

void check_operands(const Tensor& query, const Tensor& key, const Tensor& value) {
  for (const Tensor* t : {&query, &key, &value}) {
    PEL_CHECK(t->dim() == 4, ShapeError, "query, key and value are [batch, heads, rows, columns]; {} is not",
              describe(*t));
    PEL_CHECK(t->dtype() == query.dtype(), DTypeError,
              "query, key and value have one dtype; {} and {} do not: convert one of them", describe(query),
              describe(*t));
    PEL_CHECK(t->sizes()[0] == query.sizes()[0], ShapeError, "batches of {} and of {}",
              to_string(query.sizes()[0]), to_string(t->sizes()[0]));
  }
  PEL_CHECK(is_floating(query.dtype()), DTypeError,
            "attention is computed in floating point; an operand is {}", describe(query));
  PEL_CHECK(query.sizes()[3] == key.sizes()[3], ShapeError, "queries of {} columns and keys of {}",
            to_string(query.sizes()[3]), to_string(key.sizes()[3]));
  PEL_CHECK(key.sizes()[1] == value.sizes()[1] && key.sizes()[2] == value.sizes()[2], ShapeError,
            "each key has a value: {} and {} differ in heads or rows", describe(key), describe(value));
  const Dim heads = query.sizes()[1], key_heads = key.sizes()[1];
  PEL_CHECK(heads == key_heads || (key_heads != 0 && heads % key_heads == 0), ShapeError,
            "{} heads of queries are not a multiple of {} heads of keys", to_string(heads),
            to_string(key_heads));
}

std::tuple<Tensor, Tensor> attention_body(const Op& op, const Tensor& query, const Tensor& key,
                                          const Tensor& value, const std::optional<Tensor>& attn_mask,
                                          Causal causal, std::optional<double> scale,
                                          std::optional<std::int64_t> window) {
  check_operands(query, key, value);
  PEL_CHECK(!window || *window > 0, ValueError, "a window has 1 key or more, not {}", window.value_or(0));
  const Dims sizes = query.sizes();
  const Dim batch = sizes[0], heads = sizes[1], queries = sizes[2], keys = key.sizes()[2];
  // Rows of all heads lie side by side, as the projection that follows reads them.
  const Tensor rows = make_dense({batch, queries, heads, value.sizes()[3]}, query.dtype(), query.device());
  const Tensor out = make_view(rows, {batch, heads, queries, value.sizes()[3]},
                               {rows.strides()[0], rows.strides()[2], rows.strides()[1], rows.strides()[3]});
  const Tensor logs = make_dense({batch, heads, queries}, value_type(query.dtype()), query.device());
  std::optional<Tensor> mask;
  if (attn_mask) {
    PEL_CHECK(attn_mask->dtype() == kBool || attn_mask->dtype() == query.dtype(), DTypeError,
              "a mask is bool, or of the dtype of the operands, {}; it is {}: convert it",
              name(query.dtype()), describe(*attn_mask));
    mask = broadcast_view(*attn_mask, {batch, heads, queries, keys});
  }
  const Scalar list[] = {score_scale(scale, sizes[3]), causal == Causal::Yes ? 1 : 0, window.value_or(0)};
  const ArrayView<Scalar> numbers(list, std::size(list));
  if (mask) {
    launch(op, {out, logs}, {query, key, value, *mask}, numbers);
  } else {
    launch(op, {out, logs}, {query, key, value}, numbers);
  }
  return {out, logs};
}

}  // namespace

namespace ops {
OpDef define_attention() {
  return define_op<attention_body>(OpKind::Kernel,
                                   "attention(Tensor query, Tensor key, Tensor value, Tensor? "
                                   "attn_mask=None, bool is_causal=False, "
                                   "float? scale=None, int? window=None) -> (Tensor, Tensor)")
      .autocast(CastRule::Lower)
      .dtypes(kFloating | DTypeSet{kBool})
      .vjp("query key value attn_mask", "query key value attn_mask is_causal scale window result0 result1",
           [](const Vjp& v) {
             const auto grad_logs = v.has_grad(1) ? std::optional(v.grad(1)) : std::nullopt;
             const OutputMask<4> wanted = {v.wants("query"), v.wants("key"), v.wants("value"),
                                           v.wants("attn_mask")};
             const auto [query, key, value, mask] = internal::attention_backward(
                 v.grad(), v["query"], v["key"], v["value"], v["result0"], v["result1"],
                 v.get<std::optional<Tensor>>("attn_mask"), v.get<Causal>("is_causal"),
                 v.get<std::optional<double>>("scale"), v.get<std::optional<std::int64_t>>("window"),
                 grad_logs, wanted);
             return std::vector<Tensor>{query, key, value, mask};
           })
      .samples([](Sampler& s) {
        return SampleCalls{
            {s({1, 2, 3, 2}), s({1, 2, 4, 2}), s({1, 2, 4, 3})},
            {s({1, 2, 3, 2}), s({1, 1, 3, 2}), s({1, 1, 3, 2}), Value(), true, 0.5},
            {s({1, 1, 4, 2}), s({1, 1, 4, 2}), s({1, 1, 4, 2}), Value(), true, Value(), Dim(2)},
            {s({1, 1, 2, 2}), s({1, 1, 4, 2}), s({1, 1, 4, 2}), Value(), false, Value(), Dim(2)},
            {s({1, 2, 2, 2}), s({1, 1, 3, 2}), s({1, 1, 3, 2}), s({2, 1, 3})},
            {s({1, 1, 2, 2}), s({1, 1, 3, 2}), s({1, 1, 3, 2}), s({2, 3}), true},
            {s({1, 1, 3, 2}), s({1, 1, 3, 2}), s({1, 1, 3, 2}), lt(arange(9).view({3, 3}), 7)}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor> attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const std::optional<Tensor>& attn_mask, Causal causal,
                                     std::optional<double> scale, std::optional<std::int64_t> window,
                                     Site site) {
  return call<"attention", attention_body>(site, query, key, value, attn_mask, causal, scale, window);
}
}  // namespace internal

}  // namespace pel
