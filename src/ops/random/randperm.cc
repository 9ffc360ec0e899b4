// 0 … n - 1 in random order.
#include <limits>

#include "ops/shared/random.h"
#include "tensor/convert.h"

namespace pel {
namespace {

// The largest n for which a dtype holds 0 … n - 1 exactly.
std::int64_t max_value(DType dtype) {
  return with_type(dtype, [&]<class T>(std::type_identity<T>) -> std::int64_t {
    if constexpr (std::is_integral_v<T>) {
      const auto most = static_cast<std::int64_t>(std::numeric_limits<T>::max());
      return most == std::numeric_limits<std::int64_t>::max() ? most : most + 1;
    } else {
      const int digits = dtype == kF64 ? 53 : dtype == kF32 ? 24 : dtype == kF16 ? 11 : 8;
      return (std::int64_t{1} << digits) + 1;
    }
  });
}

Tensor randperm_body(const Op& op, Dim n, std::optional<DType> dtype, std::optional<Device> device,
                     const std::optional<Scalar>& seed, const std::optional<Scalar>& offset) {
  const DType result_dtype = dtype.value_or(kI64);
  PEL_CHECK(n >= 0 && n <= max_value(result_dtype), ValueError, "n is {}; of {} it is from 0 to {}",
            to_string(n), name(result_dtype), max_value(result_dtype));
  Tensor result = make_dense({n}, result_dtype, device.value_or(kCpu));
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op, {result}, {}, {stream.seed, stream.offset});
  return result;
}

}  // namespace

namespace ops {
OpDef define_randperm() {
  return define_op<randperm_body>(
             OpKind::Kernel,
             "randperm(Dim n, *, DType? dtype=None, Device? device=None, " PEL_STREAM_SCHEMA ") -> Tensor")
      .dtypes(kFloating | kIntegral);
}
}  // namespace ops

Tensor randperm(Dim n, TensorOptions options, Generator& generator, Site site) {
  const Draw draw = draw_from(generator);
  return call<"randperm", randperm_body>(site, n, options.dtype, options.device, draw.seed, draw.offset);
}

}  // namespace pel
