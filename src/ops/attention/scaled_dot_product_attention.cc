// attention for any leading axes, without the logarithms.
#include "pellucid/ops.h"
#include "pellucid/ops/attention.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/pointwise.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"

namespace pel {
namespace {

// [..., rows, columns] as [batch, heads, rows, columns].
Tensor as_heads(const Tensor& t) {
  const Dims s = t.sizes();
  switch (t.dim()) {
    case 2:
      return view(t, {1, 1, s[0], s[1]});
    case 3:
      return unsqueeze(t, 0);
    case 4:
      return t;
    default:
      return flatten(t, 0, t.dim() - 4);
  }
}
Tensor widened(const Tensor& t, const DimVector& leading) {
  DimVector sizes(leading);
  sizes.push_back(t.sizes()[t.sizes().size() - 2]);
  sizes.push_back(t.sizes()[t.sizes().size() - 1]);
  return identical(t.sizes(), sizes) ? t : expand(t, sizes);
}

Tensor scaled_dot_product_attention_body(const Tensor& query, const Tensor& key, const Tensor& value,
                                         const std::optional<Tensor>& attn_mask, double dropout_p,
                                         Causal causal, std::optional<double> scale, GroupedHeads grouped,
                                         std::optional<std::int64_t> window) {
  PEL_CHECK(dropout_p == 0, ValueError,
            "weights are not dropped here: dropout_p is {} and must be 0; use dropout on the result",
            dropout_p);
  PEL_CHECK(!attn_mask || causal == Causal::No, ValueError,
            "pass a mask or is_causal, not both: put the causal part into the mask");
  DimVector leading;
  for (const Tensor* t : {&query, &key, &value}) {
    PEL_CHECK(t->dim() >= 2, ShapeError, "rows and columns are expected, at least; an operand is {}",
              describe(*t));
    DimVector own;
    for (std::size_t i = 0; i + 2 < t->sizes().size(); ++i) own.push_back(t->sizes()[i]);
    // Heads of keys and values are taken as they are.
    if (grouped == GroupedHeads::Yes && t != &query && !own.empty()) own[own.size() - 1] = 1;
    if (grouped == GroupedHeads::Yes && t == &query)
      PEL_CHECK(!own.empty(), ShapeError, "grouped heads need an axis of heads; query is {}", describe(*t));
    PEL_CHECK(!broadcast_clash(leading, own), ShapeError,
              "leading axes of query {}, key {} and value {} do not broadcast; where key and value have "
              "fewer heads, "
              "ask for grouped heads (enable_gqa)",
              to_string(query.sizes()), to_string(key.sizes()), to_string(value.sizes()));
  }
  DimVector of_keys(leading);
  if (grouped == GroupedHeads::Yes) of_keys[of_keys.size() - 1] = key.sizes()[key.sizes().size() - 3];
  std::optional<Tensor> mask;
  if (attn_mask) {
    DimVector sizes(leading);
    sizes.push_back(query.sizes()[query.sizes().size() - 2]);
    sizes.push_back(key.sizes()[key.sizes().size() - 2]);
    mask = as_heads(expand(*attn_mask, sizes));
  }
  const auto [out, logs] =
      internal::attention(as_heads(widened(query, leading)), as_heads(widened(key, of_keys)),
                          as_heads(widened(value, of_keys)), mask, causal, scale, window);
  if (leading.size() == 2) return out;
  DimVector sizes(leading);
  sizes.push_back(out.sizes()[2]);
  sizes.push_back(out.sizes()[3]);
  return reshape(out, sizes);
}

}  // namespace

namespace ops {
OpDef define_scaled_dot_product_attention() {
  return define_op<scaled_dot_product_attention_body>(
             OpKind::Composite,
             "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
             "float "
             "dropout_p=0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False, int? "
             "window=None) -> "
             "Tensor")
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 2}), s({4, 2}), s({4, 3})},
                           {s({2, 2, 2}), s({1, 3, 2}), s({2, 3, 2}), s({2, 3})},
                           // The last query sees no key.
                           {s({3, 2}), s({3, 2}), s({3, 2}), lt(arange(9).view({3, 3}), 6)},
                           {s({2, 3, 2}), s({1, 3, 2}), s({1, 3, 2}), Value(), 0.0, true, 0.5, true}};
      });
}
}  // namespace ops

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& attn_mask, const AttentionOptions& options,
                                    Site site) {
  return call<"scaled_dot_product_attention", scaled_dot_product_attention_body>(
      site, query, key, value, attn_mask, 0.0, options.causal, options.scale, options.grouped,
      options.window);
}

}  // namespace pel
