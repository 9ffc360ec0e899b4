// All ops, by family. Names, semantics and type promotion are PyTorch's; docs/pytorch-names.md lists
// differences.
#pragma once

#include "pellucid/ops/attention.h"      // IWYU pragma: export
#include "pellucid/ops/collectives.h"    // IWYU pragma: export
#include "pellucid/ops/convolution.h"    // IWYU pragma: export
#include "pellucid/ops/copies.h"         // IWYU pragma: export
#include "pellucid/ops/creation.h"       // IWYU pragma: export
#include "pellucid/ops/indexing.h"       // IWYU pragma: export
#include "pellucid/ops/linalg.h"         // IWYU pragma: export
#include "pellucid/ops/losses.h"         // IWYU pragma: export
#include "pellucid/ops/normalization.h"  // IWYU pragma: export
#include "pellucid/ops/optim.h"          // IWYU pragma: export
#include "pellucid/ops/pointwise.h"      // IWYU pragma: export
#include "pellucid/ops/pooling.h"        // IWYU pragma: export
#include "pellucid/ops/random.h"         // IWYU pragma: export
#include "pellucid/ops/reductions.h"     // IWYU pragma: export
#include "pellucid/ops/sorting.h"        // IWYU pragma: export
#include "pellucid/ops/views.h"          // IWYU pragma: export
