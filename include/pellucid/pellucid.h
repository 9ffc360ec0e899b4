// All of the public API.
#pragma once

#include "pellucid/determinism.h"    // IWYU pragma: export
#include "pellucid/device.h"         // IWYU pragma: export
#include "pellucid/dim.h"            // IWYU pragma: export
#include "pellucid/dtype.h"          // IWYU pragma: export
#include "pellucid/error.h"          // IWYU pragma: export
#include "pellucid/explain.h"        // IWYU pragma: export
#include "pellucid/generator.h"      // IWYU pragma: export
#include "pellucid/index.h"          // IWYU pragma: export
#include "pellucid/indexing.h"       // IWYU pragma: export
#include "pellucid/linalg.h"         // IWYU pragma: export
#include "pellucid/memory.h"         // IWYU pragma: export
#include "pellucid/normalization.h"  // IWYU pragma: export
#include "pellucid/op.h"             // IWYU pragma: export
#include "pellucid/ops.h"            // IWYU pragma: export
#include "pellucid/packing.h"        // IWYU pragma: export
#include "pellucid/pointwise.h"      // IWYU pragma: export
#include "pellucid/profile.h"        // IWYU pragma: export
#include "pellucid/random.h"         // IWYU pragma: export
#include "pellucid/scalar.h"         // IWYU pragma: export
#include "pellucid/sorting.h"        // IWYU pragma: export
#include "pellucid/tensor.h"         // IWYU pragma: export
#include "pellucid/threads.h"        // IWYU pragma: export
