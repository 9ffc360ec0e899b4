// Why a kernel was chosen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pellucid/tensor.h"

namespace pel {

struct KernelCandidate {
  std::string name;         // origin, instruction set, dtype, layout, tile or implementation, epilogue
  std::string refusal;      // empty: it takes the call
  double predicted_ns = 0;  // 0: it cannot run the call
  std::optional<double> measured_ns;
};

// All candidates for a call, in the order of the kernel list; variants of an engine in the engine's order.
struct KernelChoice {
  std::string call;
  std::vector<KernelCandidate> candidates;
  std::optional<std::size_t> winner;
  std::string reason;

  PEL_API std::string text() const;  // a table
  PEL_API std::string json() const;
};

// Measure::Yes runs every candidate several times on the call's operands, except those predicted to take
// seconds.
enum class Measure : bool { No, Yes };

// Explains mm or bmm, or with `added` addmm or baddbmm.
PEL_API KernelChoice explain_matmul(const Tensor& a, const Tensor& b,
                                    const std::optional<Tensor>& added = std::nullopt,
                                    Measure measure = Measure::No, Site site = Site::current());

}  // namespace pel
