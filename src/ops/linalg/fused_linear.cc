// activation(linear(input, weight, bias)) + residual: a GEMM whose epilogue does the rest.
#include "pellucid/autograd.h"
#include "pellucid/ops.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/linalg.h"
#include "pellucid/ops/pointwise.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/layout.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor fused_linear_body(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                         LinearActivation activation, const std::optional<Tensor>& residual) {
  PEL_CHECK(weight.dim() == 2, ShapeError, "the weight has two axes, [out, in]; {} has {}", describe(weight),
            weight.dim());
  PEL_CHECK(input.dim() >= 1, ShapeError, "the input has an axis of features; {} has none", describe(input));
  const auto requires_grad = [](const std::optional<Tensor>& t) { return t && t->requires_grad(); };
  const bool saves = activation != LinearActivation::None && is_grad_enabled() &&
                     (input.requires_grad() || weight.requires_grad() || requires_grad(bias));
  const Dims in = input.sizes();
  DimVector sizes(in);
  sizes[sizes.size() - 1] = weight.sizes()[0];
  if (residual) {
    bool fits = residual->dim() == input.dim();
    for (std::size_t i = 0; fits && i < sizes.size(); ++i) fits = residual->sizes()[i] == sizes[i];
    PEL_CHECK(fits, ShapeError, "the residual has the sizes of the result, {}, not those of {}",
              to_string(Dims(sizes)), describe(*residual));
  }
  const Dim rows = product(Dims(in.data(), in.size() - 1));
  const auto matrix = [&](const Tensor& t, Dim columns) {
    return t.dim() == 2 ? t : t.reshape({rows, columns});
  };
  std::optional<Tensor> added;
  if (residual) added = matrix(*residual, weight.sizes()[0]);
  const Tensor result = std::get<0>(
      internal::native_fused_linear(matrix(input, in[in.size() - 1]), weight, bias, activation, added,
                                    saves ? internal::SavesLinear::Yes : internal::SavesLinear::No));
  return input.dim() == 2 ? result : result.view(sizes);
}

Tensor fused_linear_parts(const Tensor& input, const Tensor& weight, const Tensor& bias,
                          const std::string& activation, const Tensor& residual) {
  const Tensor x = linear(input, weight, bias);
  const Tensor activated = activation == "gelu"        ? gelu(x)
                           : activation == "gelu_tanh" ? gelu(x, GeluApproximate::Tanh)
                           : activation == "silu"      ? silu(x)
                           : activation == "relu"      ? relu(x)
                                                       : x;
  return activated + residual;
}

}  // namespace

namespace ops {
OpDef define_fused_linear() {
  return define_op<fused_linear_body>(
             OpKind::Composite,
             "fused_linear(Tensor input, Tensor weight, Tensor? bias=None, str activation='none', Tensor? "
             "residual=None) -> Tensor")
      .autocast(CastRule::Lower)
      .same_as(
          [](const std::vector<Value>& args) {
            return std::vector<Tensor>{fused_linear_parts(
                std::get<Tensor>(args[0]), std::get<Tensor>(args[1]), std::get<Tensor>(args[2]),
                std::get<std::string>(args[3]), std::get<Tensor>(args[4]))};
          },
          [](Sampler& s, Dims sizes) {
            constexpr auto kActivations = enum_names<LinearActivation>.spellings;
            DimVector to(sizes);
            to[to.size() - 1] = sizes[sizes.size() - 1] % 89 + 9;
            const Dim in = sizes[sizes.size() - 1], out = to[to.size() - 1];
            const auto activation = static_cast<std::size_t>(in.value()) % kActivations.size();
            return std::vector<Value>{s(sizes), s({out, in}), s({out}), std::string(kActivations[activation]),
                                      s(to)};
          })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 2}), s({4, 2})},
                           {s({2, 2, 3}), s({4, 3}), s({4}), std::string("silu"), s({2, 2, 4})},
                           {s({3, 2}), s({4, 2}), Value(), std::string("gelu")}};
      });
}
}  // namespace ops

Tensor fused_linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                    LinearActivation activation, const std::optional<Tensor>& residual, Site site) {
  return call<"fused_linear", fused_linear_body>(site, input, weight, bias, activation, residual);
}

}  // namespace pel
