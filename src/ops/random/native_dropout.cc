// Elements dropped with probability p, the others divided by 1 - p; and a mask of those not dropped.
#include "pellucid/ops/internal.h"

#include "ops/shared/random.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> native_dropout_body(const Op& op, const Tensor& self, double p, Training training,
                                               const std::optional<Scalar>& seed,
                                               const std::optional<Scalar>& offset) {
  check_probability(p);
  PEL_CHECK(is_floating(self.dtype()), DTypeError, "the op takes {}; an operand is {}", to_string(kFloating),
            describe(self));
  Tensor result = make_like(self, self.dtype(), self.device()), mask = make_like(self, kBool, self.device());
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op, {result, mask}, {self}, {stream.seed, stream.offset, training == Training::Yes ? p : 0.0});
  return {result, mask};
}

}  // namespace

namespace ops {
OpDef define_native_dropout() {
  return define_op<native_dropout_body>(
             OpKind::Kernel, "native_dropout(Tensor input, float p, bool train, *, " PEL_STREAM_SCHEMA
                             ") -> (Tensor, Tensor)")
      .vjp("input", "result1 p train",
           [](const Vjp& v) {
             const double p = v.get<bool>("train") ? v.get<double>("p") : 0;
             return v.grad() * v["result1"] * (p < 1 ? 1 / (1 - p) : 0);
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), 0.4, true, Scalar(7), Scalar(0)},
                           {s({3, 4}), 0.4, false, Scalar(7), Scalar(0)},
                           {s({2}), 1.0, true, Scalar(7), Scalar(0)}};
      });
}
}  // namespace ops

std::tuple<Tensor, Tensor> native_dropout_from(const Tensor& self, double p, Training training,
                                               const Draw& draw, Site site) {
  return call<"native_dropout", native_dropout_body>(site, self, p, training, draw.seed, draw.offset);
}

namespace internal {
std::tuple<Tensor, Tensor> native_dropout(const Tensor& self, double p, Training training,
                                          Generator& generator, Site site) {
  return native_dropout_from(self, p, training, draw_from(generator), site);
}
}  // namespace internal

}  // namespace pel
