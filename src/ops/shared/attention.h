// What attention and its gradient share.
#pragma once

#include <cmath>
#include <optional>

#include "pellucid/ops/attention.h"

namespace pel {

// Of the scores: what is given, or 1 / sqrt(width).
inline double score_scale(std::optional<double> given, Dim width) {
  if (given || width.is_symbolic()) return given.value_or(1);
  return 1 / std::sqrt(static_cast<double>(width.value()));
}

}  // namespace pel
