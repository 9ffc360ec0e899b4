// Integers from low to high - 1, each as likely as the others.
#include <limits>

#include "ops/shared/random.h"
#include "tensor/convert.h"

namespace pel {
namespace {

// An integer dtype holds all of them.
void check_bounds(DType dtype, std::int64_t low, std::int64_t last) {
  with_type(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      PEL_CHECK(
          low >= static_cast<std::int64_t>(Limits::min()) && last <= static_cast<std::int64_t>(Limits::max()),
          ValueError, "integers from {} to {} do not fit into {}", low, last, name(dtype));
    }
  });
}

Tensor randint_body(const Op& op, const Scalar& low, const Scalar& high, Dims size,
                    std::optional<DType> dtype, std::optional<Device> device,
                    const std::optional<Scalar>& seed, const std::optional<Scalar>& offset) {
  const std::int64_t first = low.to_int(), end = high.to_int();
  PEL_CHECK(first < end, ValueError, "from {} up to but not including {} there is no integer", first, end);
  const DType result_dtype = dtype.value_or(kI64);
  check_bounds(result_dtype, first, end - 1);
  Tensor result = make_dense(size, result_dtype, device.value_or(kCpu));
  const auto range = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(first);
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op, {result}, {}, {stream.seed, stream.offset, first, static_cast<std::int64_t>(range)});
  return result;
}

}  // namespace

namespace ops {
OpDef define_randint() {
  return define_op<randint_body>(OpKind::Kernel,
                                 "randint(Scalar low, Scalar high, Dim[] size, *, DType? dtype=None, Device? "
                                 "device=None, " PEL_STREAM_SCHEMA ") -> Tensor");
}
}  // namespace ops

Tensor randint(const Scalar& low, const Scalar& high, Dims size, TensorOptions options, Generator& generator,
               Site site) {
  const Draw draw = draw_from(generator);
  return call<"randint", randint_body>(site, low, high, size, options.dtype, options.device, draw.seed,
                                       draw.offset);
}

}  // namespace pel
