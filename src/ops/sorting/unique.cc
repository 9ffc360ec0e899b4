// The different values of a tensor, sorted. How many there are is read back to the host.
#include "ops/shared/axis.h"
#include "tensor/read_back.h"

namespace pel {
namespace {

Tensor first_elements(const Tensor& from, std::int64_t count) {
  Tensor result = make_dense({count}, from.dtype(), from.device());
  launch(op<"copy_">(), {result}, {make_view(from, {count}, {1})});
  return result;
}

std::tuple<Tensor, Tensor, Tensor> unique_body(const Op& unique_op, const Tensor& self, Sorted,
                                               ReturnInverse inverse, ReturnCounts counts) {
  PEL_CHECK(self.has_data(), DeviceError, "{} has no data to read", describe(self));
  const auto make = [&](Dims sizes, DType dtype) { return make_dense(sizes, dtype, self.device()); };
  const std::int64_t count = self.numel().value();
  Tensor values = make({count}, self.dtype()), sorted = make({count}, self.dtype());
  Tensor places = make({count}, kI64), repetitions = make({count}, kI64), number_of_values = make({1}, kI64);
  Tensor inverse_result = make(self.sizes(), kI64);
  std::int64_t found = 0;
  if (count > 0) {
    launch(op<"sort">(), {sorted, places}, {make_view(row_major(self), {count}, {1})}, {0, false});
    launch(unique_op, {values, make_view(inverse_result, {count}, {1}), repetitions, number_of_values},
           {sorted, places});
    found = *read_back(number_of_values, "to read how many values there are").data<const std::int64_t>();
  }
  const Tensor none = make({0}, kI64);
  return {first_elements(values, found), inverse == ReturnInverse::Yes ? inverse_result : none,
          counts == ReturnCounts::Yes ? first_elements(repetitions, found) : none};
}

}  // namespace

namespace ops {
OpDef define_unique() {
  return define_op<unique_body>(OpKind::Sync,
                                "unique(Tensor self, bool sorted=True, bool return_inverse=False, "
                                "bool return_counts=False) -> (Tensor, Tensor, Tensor)")
      .waits("to read how many values there are")
      .not_differentiable();
}
}  // namespace ops

std::tuple<Tensor, Tensor, Tensor> unique(const Tensor& self, Sorted sorted, ReturnInverse return_inverse,
                                          ReturnCounts return_counts, Site site) {
  return call<"unique", unique_body>(site, self, sorted, return_inverse, return_counts);
}

}  // namespace pel
