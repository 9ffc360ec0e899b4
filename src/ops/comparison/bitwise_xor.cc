// self ^ other, bit by bit. Integers and bool.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_bitwise_xor() {
  return binary("bitwise_xor")
      .computes(kIntegral | DTypeSet{kBool})
      .formula([](Term a, Term b) { return a ^ b; })
      .reference_int([](WideInt a, WideInt b) { return (a | b) - (a & b); })
      .not_differentiable();
}
}  // namespace ops

PEL_DEFINE_BINARY(bitwise_xor)

}  // namespace pel
