// A matmul for each group of rows, as the experts of a mixture have them. offs[g] is the end of group g.
#include "ops/shared/gemm.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

void check_grouped_operands(const Tensor& self, const Tensor& mat2, const std::optional<Tensor>& offs) {
  for (const Tensor* t : {&self, &mat2}) {
    PEL_CHECK(t->dim() == 2 || t->dim() == 3, ShapeError, "the operands must have 2 or 3 axes; {} has {}",
              describe(*t), t->dim());
    PEL_CHECK(is_floating(t->dtype()), DTypeError, "the operands must be floating, not {}", describe(*t));
  }
  PEL_CHECK(self.dtype() == mat2.dtype(), DTypeError,
            "the operands must have one dtype, not {} and {}: convert one of them", describe(self),
            describe(mat2));
  const bool needs_offsets = self.dim() == 2 || mat2.dim() == 2;
  PEL_CHECK(offs.has_value() == needs_offsets, ValueError,
            "offs divides the axis of a matrix into groups; {} @ {} has {}", describe(self), describe(mat2),
            needs_offsets ? "a matrix, but offs is missing" : "no matrix, so pass no offs");
  const Dim inner = self.size(-1), other = mat2.size(-2);
  PEL_CHECK(inner == other, ShapeError, "inner sizes differ: {} @ {} ({} and {})", describe(self),
            describe(mat2), to_string(inner), to_string(other));
  if (!offs) {
    PEL_CHECK(self.sizes()[0] == mat2.sizes()[0], ShapeError, "batch sizes differ: {} @ {} ({} and {})",
              describe(self), describe(mat2), to_string(self.sizes()[0]), to_string(mat2.sizes()[0]));
    return;
  }
  PEL_CHECK(offs->dim() == 1 && offs->dtype() == kI32, DTypeError,
            "offs must be a vector of i32 with the end of each group, not {}", describe(*offs));
  for (const Tensor* t : {&self, &mat2})
    PEL_CHECK(t->dim() == 2 || t->sizes()[0] == offs->sizes()[0], ShapeError,
              "{} has a matrix for each of {} groups, but offs has {}", describe(*t),
              to_string(t->sizes()[0]), to_string(offs->sizes()[0]));
}

Tensor grouped_mm_body(const Op& op, const Tensor& self, const Tensor& mat2,
                       const std::optional<Tensor>& offs, const std::optional<Tensor>& bias,
                       std::optional<DType> out_dtype) {
  check_grouped_operands(self, mat2, offs);
  PEL_CHECK(!bias, ValueError, "bias is not supported, as in PyTorch: add it to the result");
  PEL_CHECK(!out_dtype || *out_dtype == self.dtype(), DTypeError,
            "out_dtype must be that of the operands, {}, not {}: convert the result", name(self.dtype()),
            name(*out_dtype));
  DimVector sizes;
  if (self.dim() == mat2.dim()) sizes.push_back(offs ? offs->sizes()[0] : self.sizes()[0]);
  sizes.push_back(self.size(-2));
  sizes.push_back(mat2.size(-1));
  Tensor result = make_dense(sizes, self.dtype(), self.device());
  if (offs) {
    launch(op, {result}, {self, mat2, *offs}, {Scalar(0), Scalar(1)});
  } else {
    launch(op, {result}, {self, mat2}, {Scalar(0), Scalar(1)});
  }
  return result;
}

Tensor last_axes_swapped(const Tensor& t) { return t.transpose(-2, -1); }

}  // namespace

namespace ops {
OpDef define_grouped_mm() {
  return define_op<grouped_mm_body>(OpKind::Kernel,
                                    "grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? "
                                    "bias=None, DType? out_dtype=None) -> Tensor")
      .dtypes(kFloating | DTypeSet{kI32})
      .vjp("self", "mat2 offs",
           [](const Vjp& v) {
             return grouped_mm(v.grad(), last_axes_swapped(v["mat2"]), v.get<std::optional<Tensor>>("offs"));
           })
      .vjp("mat2", "self offs",
           [](const Vjp& v) {
             const auto offs = v.get<std::optional<Tensor>>("offs");
             const Dims strides = v.strides("mat2");
             // Weights [groups, out, in], of which the call saw the transpose, get a dense gradient.
             const std::size_t last = strides.size() - 1;
             if (is_literally(strides[last - 1], 1) && !is_literally(strides[last], 1))
               return last_axes_swapped(grouped_mm(last_axes_swapped(v.grad()), v["self"], offs));
             return grouped_mm(last_axes_swapped(v["self"]), v.grad(), offs);
           })
      .no_vjp("bias")
      .samples([](Sampler& s) {
        const Tensor ends = from_data(std::vector<std::int32_t>{2, 2, 5}, {3});
        return SampleCalls{{s({5, 4}), s({3, 4, 2}), ends},
                           {s({3, 2, 4}), s({4, 5}), ends},
                           {s({2, 5}), s({5, 3}), ends},
                           {s({2, 3, 4}), s({2, 4, 2})},
                           {s({6, 4}), s({3, 2, 4}).transpose(1, 2), ends}};
      });
}
}  // namespace ops

Tensor grouped_mm(const Tensor& self, const Tensor& mat2, const std::optional<Tensor>& offs,
                  const std::optional<Tensor>& bias, std::optional<DType> out_dtype, Site site) {
  return call<"grouped_mm", grouped_mm_body>(site, self, mat2, offs, bias, out_dtype);
}

}  // namespace pel
