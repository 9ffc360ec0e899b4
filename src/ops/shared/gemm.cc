#include "ops/shared/gemm.h"

#include "pellucid/explain.h"

#include "dispatch/launch_recording.h"
#include "ops/shared/operands.h"
#include "packing/packing.h"
#include "tensor/make.h"

namespace pel {
namespace {

void check_operands(int rank, const Tensor& a, const Tensor& b) {
  for (const Tensor* t : {&a, &b})
    PEL_CHECK(t->dim() == rank, ShapeError, "the operands must have {} axes; {} has {}", rank, describe(*t),
              t->dim());
  PEL_CHECK(a.dtype() == b.dtype(), DTypeError,
            "the operands must have one dtype, not {} and {}: convert one of them", describe(a), describe(b));
  const auto last = static_cast<std::size_t>(rank) - 1;
  PEL_CHECK(a.sizes()[last] == b.sizes()[last - 1], ShapeError, "inner sizes differ: {} @ {} ({} and {})",
            describe(a), describe(b), to_string(a.sizes()[last]), to_string(b.sizes()[last - 1]));
  PEL_CHECK(rank == 2 || a.sizes()[0] == b.sizes()[0], ShapeError, "batch sizes differ: {} @ {} ({} and {})",
            describe(a), describe(b), to_string(a.sizes()[0]), to_string(b.sizes()[0]));
}

void check_numbers(DType dtype, const GemmNumbers& numbers) {
  for (const Scalar* number : {&numbers.beta, &numbers.alpha})
    PEL_CHECK(is_floating(dtype) || number->kind() != Scalar::Kind::Float, DTypeError,
              "alpha and beta must be integers for operands of {}", name(dtype));
}

}  // namespace

KernelChoice explain_matmul(const Tensor& a, const Tensor& b, const std::optional<Tensor>& added,
                            Measure measure, Site site) {
  return as_call("explain_matmul", site, [&] {
    const int rank = a.dim() == 3 ? 3 : 2;
    check_operands(rank, a, b);
    PEL_CHECK(a.has_data() && b.has_data(), ValueError,
              "the operands have no data; pass tensors of a device with data");
    const Op& op = rank == 2 ? (added ? pel::op<"addmm">() : pel::op<"mm">())
                             : (added ? pel::op<"baddbmm">() : pel::op<"bmm">());
    DimVector sizes(a.sizes());
    sizes[sizes.size() - 1] = b.sizes()[sizes.size() - 1];
    const Tensor result = make_dense(sizes, a.dtype(), a.device());
    std::optional<Tensor> wide;
    if (added) wide = broadcast_view(*added, sizes);
    return explain_launch(op, {result},
                          wide ? ArrayView<TensorRef>({a, b, *wide}) : ArrayView<TensorRef>({a, b}),
                          {Scalar(added ? 1 : 0), Scalar(1)}, measure);
  });
}

Tensor run_gemm(const Op& op, int rank, const Tensor* added, const Tensor& a, const Tensor& b,
                const GemmNumbers& numbers) {
  check_operands(rank, a, b);
  check_numbers(a.dtype(), numbers);
  const auto last = static_cast<std::size_t>(rank) - 1;
  DimVector sizes(a.sizes());
  sizes[last] = b.sizes()[last];
  Tensor result = make_dense(sizes, a.dtype(), a.device());
  if (rank == 2) offer_to_cache(b);
  if (added == nullptr) {
    launch(op, {result}, {a, b}, {numbers.beta, numbers.alpha});
    return result;
  }
  PEL_CHECK(added->dtype() == a.dtype(), DTypeError,
            "the added tensor is {} and the operands are {}: convert one of them", describe(*added),
            name(a.dtype()));
  const Tensor wide = broadcast_view(*added, sizes);
  if (numbers.beta.to_double() == 0) {
    launch(op, {result}, {a, b}, {numbers.beta, numbers.alpha});
  } else {
    launch(op, {result}, {a, b, wide}, {numbers.beta, numbers.alpha});
  }
  return result;
}

}  // namespace pel
