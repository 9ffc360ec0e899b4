// Why a kernel is chosen for a matmul, and how close it comes to the machine's roof.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pellucid/explain.h"
#include "pellucid/machine.h"

#include "base/terminal.h"

namespace pel::inspect {

struct MatmulCall {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 0;  // 0: two matrices without a batch axis
  DType dtype = DType::F32;
  bool is_a_transposed = false, is_b_transposed = false, has_bias = false;
};

struct MatmulExplanation {
  MatmulCall call;
  KernelChoice choice;
  std::uint64_t flops = 0, bytes = 0;
  std::optional<Machine> machine;  // if it was measured before

  std::string text(const Terminal& terminal) const;
  std::string json() const;
};
MatmulExplanation explain(const MatmulCall& call, Measure measure);

}  // namespace pel::inspect
