// native_add_layer_norm without the means.
#include "pellucid/ops.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "dispatch/op_table.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> add_layer_norm_body(const Tensor& self, const Tensor& other, Dims normalized_shape,
                                               const std::optional<Tensor>& weight,
                                               const std::optional<Tensor>& bias, double eps) {
  const auto results = internal::native_add_layer_norm(self, other, normalized_shape, weight, bias, eps);
  return {std::get<0>(results), std::get<3>(results)};
}

std::vector<Tensor> add_layer_norm_composition(const std::vector<Value>& args) {
  const Tensor sum = std::get<Tensor>(args[0]) + std::get<Tensor>(args[1]);
  const auto& shape = std::get<std::vector<Dim>>(args[2]);
  const auto given = [&](std::size_t i) {
    const Tensor* t = args.size() > i ? std::get_if<Tensor>(&args[i]) : nullptr;
    return t != nullptr ? std::optional(*t) : std::nullopt;
  };
  return {layer_norm(sum, shape, given(3), given(4)), sum};
}

}  // namespace

namespace ops {
OpDef define_add_layer_norm() {
  return define_op<add_layer_norm_body>(
             OpKind::Composite,
             "add_layer_norm(Tensor self, Tensor other, Dim[] normalized_shape, Tensor? weight=None, "
             "Tensor? bias=None, float eps=1e-05) -> (Tensor, Tensor)")
      .same_as(add_layer_norm_composition,
               [](Sampler& s, Dims sizes) {
                 const std::vector<Dim> last = {sizes[sizes.size() - 1]};
                 return std::vector<Value>{s(sizes), s(sizes), last, s(last), s(last)};
               })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s({3, 4}), std::vector<Dim>{4}}}; });
}
}  // namespace ops

std::tuple<Tensor, Tensor> add_layer_norm(const Tensor& self, const Tensor& other, Dims normalized_shape,
                                          const std::optional<Tensor>& weight,
                                          const std::optional<Tensor>& bias, double eps, Site site) {
  return call<"add_layer_norm", add_layer_norm_body>(site, self, other, normalized_shape, weight, bias, eps);
}

}  // namespace pel
