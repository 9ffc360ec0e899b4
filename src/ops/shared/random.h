// What random ops share. An op takes the seed and the offset of its stream as numbers; without them it takes
// the next stream of the process's generator. A call in a captured graph that named no generator so draws
// anew at each replay.
#pragma once

#include <optional>
#include <tuple>

#include "pellucid/ops.h"
#include "pellucid/ops/random.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {

// The end of a random op's schema.
#define PEL_STREAM_SCHEMA "Scalar? seed=None, Scalar? offset=None"

struct Draw {
  std::optional<Scalar> seed, offset;
};
// What a call hands to its op: nothing for the process's own generator.
Draw draw_from(Generator& generator);

// The two first numbers of a random kernel's call.
struct StreamNumbers {
  Scalar seed, offset;
};
StreamNumbers stream_numbers(const std::optional<Scalar>& seed, const std::optional<Scalar>& offset);

void check_probability(double p);
// native_dropout with a stream that was chosen before.
std::tuple<Tensor, Tensor> native_dropout_from(const Tensor& self, double p, Training training,
                                               const Draw& draw, Site site = Site::current());

}  // namespace pel
