// The same as sign: these are real numbers.
#include "ops/shared/sign.h"

namespace pel {

namespace ops {
OpDef define_sgn() { return define_sign_as("sgn"); }
}  // namespace ops

PEL_DEFINE_UNARY(sgn)

}  // namespace pel
