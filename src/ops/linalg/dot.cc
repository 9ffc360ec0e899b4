// The dot product of two vectors: a reduction, in the order of all reductions.
#include "pellucid/ops/linalg.h"

#include "base/check.h"
#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor dot_body(const Op& op, const Tensor& self, const Tensor& tensor) {
  for (const Tensor* t : {&self, &tensor})
    PEL_CHECK(t->dim() == 1, ShapeError, "a vector has one axis; {} has {}", describe(*t), t->dim());
  PEL_CHECK(self.dtype() == tensor.dtype(), DTypeError, "the vectors have one dtype; {} and {} do not",
            describe(self), describe(tensor));
  PEL_CHECK(self.sizes()[0] == tensor.sizes()[0], ShapeError, "vectors of {} and of {} elements",
            to_string(self.sizes()[0]), to_string(tensor.sizes()[0]));
  return run_rows(op, {self, tensor}, {self.dtype(), axis_set(self, Axes())})[0];
}

}  // namespace

namespace ops {
OpDef define_dot() {
  return rows_op<dot_body>("dot(Tensor self, Tensor tensor) -> Tensor")
      .inputs(2)
      .values_in(float_or_i64)
      .fold(FoldKind::Sum, [](const RowTerms& t) { return t.in[0] * t.in[1]; })
      .gives_value(first_value)
      .reference([](const RowData& in, const RowParams&, int, std::size_t) {
        long double sum = 0, sizes = 0;
        for (std::size_t i = 0; i < in[0].size(); ++i) {
          sum += in[0][i] * in[1][i];
          sizes += std::abs(in[0][i] * in[1][i]);
        }
        return RowProgram::Wanted{sum, sizes};
      })
      .autocast(CastRule::Lower)
      .vjp("self", "tensor", [](const Vjp& v) { return v.grad() * v["tensor"]; })
      .vjp("tensor", "self", [](const Vjp& v) { return v.grad() * v["self"]; })
      .samples([](Sampler& s) { return SampleCalls{{s({5}), s({5})}}; });
}
}  // namespace ops

Tensor dot(const Tensor& self, const Tensor& tensor, Site site) {
  return call<"dot", dot_body>(site, self, tensor);
}

}  // namespace pel
