// All elementwise ops.
#pragma once

#include "pellucid/ops/activations.h"  // IWYU pragma: export
#include "pellucid/ops/arithmetic.h"   // IWYU pragma: export
#include "pellucid/ops/comparison.h"   // IWYU pragma: export
#include "pellucid/ops/math.h"         // IWYU pragma: export
#include "pellucid/ops/operators.h"    // IWYU pragma: export
