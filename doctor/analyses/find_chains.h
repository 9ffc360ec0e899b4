// Consecutive kernels that only pass memory to each other and could be fused; for a run without a device,
// host ops.
#pragma once

#include <map>
#include <vector>

#include "doctor/analyses/analysis.h"
#include "doctor/model/op_cost.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {

struct ChainKind {
  std::vector<NameId> ops;
  std::vector<Sizes> results;
  auto operator<=>(const ChainKind&) const = default;
};
struct ChainSum {
  struct Moved {
    double read_bytes, written_bytes;
  };
  std::int64_t count = 0, kernels = 0;
  SaturatingSum ns, gaps_ns;
  double memory_ns = 0;  // of that: to move bytes
  double moved_bytes = 0, saved_bytes = 0;
  bool has_shapes = true, is_norm = false;  // a reduction whose result is used is one, too
  std::vector<Moved> moved{};               // by each kernel of a chain, where all have shapes
  std::vector<std::uint32_t>
      links{};  // of all its chains, one after the other: indices of activities(), or ops

  // At the speed that these kernels reached.
  double saved_ns() const {
    return (moved_bytes == 0 ? 0 : memory_ns * saved_bytes / moved_bytes) + static_cast<double>(gaps_ns);
  }
};

struct FoundChains {
  std::map<ChainKind, ChainSum> kinds;
  bool is_on_host = false;    // ops, because there are no activities
  bool is_starved = false;    // the device waits for launches: gaps in its queue cost nothing
  std::int64_t whole_ns = 0;  // of all activities, or all ops
};
FoundChains find_chains(const Examined& examined);

// "add, 2 mul, gelu": equal ops in a row are written once.
std::string chain_text(const Model& model, const ChainKind& kind);

}  // namespace pel::doctor
