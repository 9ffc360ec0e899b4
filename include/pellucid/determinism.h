// What the bits of a result may depend on.
#pragma once

#include <cstdint>

#include "pellucid/api.h"

namespace pel {

//   Strict   on the values of the operands alone: not on threads, layouts, the processor, or what else
//            stands in the same call. Convolutions alone keep less, as docs/numerics.md says.
//   Relaxed  kernels that do not keep this may be chosen where they are predicted to be faster: oneDNN's
//            products of matrices.
enum class Determinism : std::uint8_t { Strict, Relaxed };

// At start it is Strict, unless PELLUCID_DETERMINISM is "relaxed".
PEL_API Determinism determinism();
PEL_API void set_determinism(Determinism value);  // from the next kernel on, for all threads

}  // namespace pel
