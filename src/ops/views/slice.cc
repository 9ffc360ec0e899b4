// start:stop:step along one axis, bounds clamped as in Python.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

Dim clamp_bound(Dim bound, Dim size) {
  if (bound < 0) {
    bound += size;
    return bound < 0 ? Dim(0) : bound;
  }
  return bound > size ? size : bound;
}

Tensor slice_body(const Tensor& self, std::int64_t axis, std::optional<Dim> start, std::optional<Dim> stop,
                  Dim step) {
  PEL_CHECK(self.dim() > 0, IndexError, "a tensor without axes cannot be sliced");
  const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
  PEL_CHECK(step > 0, ValueError, "the step is {}, and must be positive", to_string(step));
  if (step.is_symbolic() && step == 1) step = 1;  // then it leaves all, which layouts depend on
  const Dim size = self.sizes()[at];
  // A bound that is not given is not compared: a capture records no guard for it.
  const Dim from = start ? clamp_bound(*start, size) : Dim(0);
  Dim to = stop ? clamp_bound(*stop, size) : size;
  if ((start || stop) && to < from) to = from;
  Tensor result = new_view(self, self.sizes().size());
  detail::TensorHeader* header = result.header();
  copy_dims(header->sizes(), self.sizes());
  copy_dims(header->strides(), self.strides());
  header->sizes()[at] = Dim::identical(step, 1) ? to - from : (to - from + step - 1) / step;
  header->offset += from * header->strides()[at];
  header->strides()[at] *= step;
  return result;
}

}  // namespace

namespace ops {
OpDef define_slice() {
  return define_op<slice_body>(
             OpKind::Metadata,
             "slice(Tensor(a) self, int dim=0, Dim? start=None, Dim? end=None, Dim step=1) -> Tensor(a)")
      .vjp("self", "dim start end step",
           [](const Vjp& v) {
             return placed(v, [&](const Tensor& whole) {
               return slice(whole, v.get<std::int64_t>("dim"), v.get<std::optional<Dim>>("start"),
                            v.get<std::optional<Dim>>("end"), v.get<Dim>("step"));
             });
           })
      .samples(
          [](Sampler& s) { return SampleCalls{{s({3, 6}), Dim(1), Dim(1), Dim(-1), Dim(2)}, {s({5})}}; });
}
}  // namespace ops

Tensor slice(const Tensor& self, std::int64_t axis, std::optional<Dim> start, std::optional<Dim> end,
             Dim step, Site site) {
  return call<"slice", slice_body>(site, self, axis, start, end, step);
}
Tensor Tensor::slice(std::int64_t axis, std::optional<Dim> start, std::optional<Dim> end, Dim step,
                     Site site) const {
  return pel::slice(*this, axis, start, end, step, site);
}

}  // namespace pel
