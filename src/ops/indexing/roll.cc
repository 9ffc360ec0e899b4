// Axes moved round: what leaves at the end comes back at the beginning.
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/index.h"

namespace pel {
namespace {

// From 0 to below the size; symbolic sizes have no kernel to tell.
Scalar distance(std::int64_t shift, Dim size) {
  if (size.is_symbolic() || is_literally(size, 0)) return Scalar(0);
  const std::int64_t left = shift % size.value();
  return Scalar(left < 0 ? left + size.value() : left);
}

Tensor roll_body(const Op& op, const Tensor& self, Ints shifts, Axes axes) {
  PEL_CHECK(!shifts.empty(), ValueError, "a shift is missing");
  PEL_CHECK(shifts.size() == axes.size() || (axes.empty() && shifts.size() == 1), ValueError,
            "{} shifts are given for {} axes; one shift without axes moves the flat tensor", shifts.size(),
            axes.size());
  Tensor result = make_dense(self.sizes(), self.dtype(), self.device());
  if (axes.empty()) {
    const Dim count = self.numel();
    const Tensor dense = row_major(self);
    launch(op, {make_view(result, {count}, {Dim(1)})}, {make_view(dense, {count}, {Dim(1)})},
           {distance(shifts[0], count)});
    return result;
  }
  PEL_CHECK(self.dim() > 0, IndexError, "a tensor without axes has no axis {}; leave it out", axes[0]);
  DimVector sizes(self.sizes());
  std::vector<Scalar> distances(sizes.size(), Scalar(0));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<std::size_t>(wrap_axis(axes[i], self.dim()));
    distances[at] = distance(distances[at].to_int() + distance(shifts[i], sizes[at]).to_int(), sizes[at]);
  }
  launch(op, {result}, {self}, distances);
  return result;
}

}  // namespace

namespace ops {
OpDef define_roll() {
  return define_op<roll_body>(OpKind::Kernel, "roll(Tensor self, int[] shifts, int[] dims=[]) -> Tensor")
      .vjp("self", "shifts dims",
           [](const Vjp& v) {
             std::vector<std::int64_t> shifts = v.get<Ints>("shifts");
             for (std::int64_t& shift : shifts) shift = -shift;
             return roll(v.grad(), shifts, v.get<Axes>("dims"));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3}), std::vector<Dim>{2}},
                           {s({3, 4}), std::vector<Dim>{1, -2}, std::vector<Dim>{0, -1}}};
      });
}
}  // namespace ops

Tensor roll(const Tensor& self, Ints shifts, Axes axes, Site site) {
  return call<"roll", roll_body>(site, self, shifts, axes);
}

}  // namespace pel
