// -1, 0 or 1. 0 for zeros and NaN.
#include "ops/shared/sign.h"

namespace pel {

namespace ops {
OpDef define_sign() { return define_sign_as("sign"); }
}  // namespace ops

PEL_DEFINE_UNARY(sign)

}  // namespace pel
