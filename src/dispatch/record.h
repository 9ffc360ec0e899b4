// Everything known about an op: what bindings, logs, documents and tests derive from.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "pellucid/extend/op.h"

#include "dispatch/schema.h"

namespace pel {

struct OpRecord {
  Schema schema;
  bool is_builtin = false;
  // A user's kernels live here; the backends' lists are static.
  std::array<std::vector<Kernel>, kDeviceTypeCount> own_kernels;
  std::shared_ptr<const Pointwise> pointwise;  // null for other ops
  std::shared_ptr<const Rows> rows;
  std::shared_ptr<const Gradient> gradient;
  std::vector<VjpRule> vjp_rules;
  std::function<SampleCalls(Sampler&)> sample_calls;
  std::shared_ptr<const Composition> composition;  // null: it is not defined as one
  std::string wait_reason;                         // empty: no call waits for the device
};

}  // namespace pel
