// Whether the bits of a result depend on the values of the operands alone.
#pragma once

#include <cstdint>

#include "pellucid/api.h"

namespace pel {

//   Strict   Bits depend on the values of the operands alone: not on threads, layouts, the processor, or
//   other
//            elements of the same call. Convolutions guarantee less; see docs/numerics.md.
//   Relaxed  Also allows kernels without this guarantee, where they are predicted to be faster: oneDNN's
//   GEMMs.
enum class Determinism : std::uint8_t { Strict, Relaxed };

// The default is Strict, unless PELLUCID_DETERMINISM is "relaxed".
PEL_API Determinism determinism();
PEL_API void set_determinism(Determinism value);  // from the next kernel on, for all threads

}  // namespace pel
