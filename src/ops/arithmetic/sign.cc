// -1, 0 or 1. Zeros and NaN give 0.
#include "ops/shared/sign.h"

namespace pel {

namespace ops {
OpDef define_sign() { return define_sign_as("sign"); }
}  // namespace ops

PEL_DEFINE_UNARY(sign)

}  // namespace pel
