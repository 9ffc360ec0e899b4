// What the ops of src/ops/collectives share.
#pragma once

#include <string_view>

#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "distributed/group.h"
#include "tensor/make.h"

namespace pel {

// While in scope, and if no other call is under way, the line of errors about ranks.
using CollectiveLine = detail::DeviceCall;

// The sizes of `self` with another length of axis 0.
inline std::vector<Dim> with_rows(const Tensor& self, Dim rows) {
  std::vector<Dim> sizes = self.sizes().vec();
  if (sizes.empty()) sizes.emplace_back(1);
  sizes[0] = rows;
  return sizes;
}
// The length of axis 0 of one rank's part.
inline Dim rows_of_part(const Tensor& self, const dist::Group::State& group) {
  PEL_CHECK(self.dim() > 0, ShapeError, "axis 0 is cut into parts for {} ranks; got a tensor without axes",
            group.size);
  if (group.size == 1) return self.size(0);
  PEL_CHECK(self.size(0) % group.size == 0, ShapeError,
            "axis 0 of {} is cut into parts for {} ranks, and its length is not a multiple of that",
            describe(self), group.size);
  return self.size(0) / group.size;
}
inline void check_rank(std::int64_t rank, std::string_view what, const dist::Group::State& group) {
  PEL_CHECK(rank >= 0 && rank < group.size, ValueError, "{} is {}; the ranks of group {} are 0 to {}", what,
            rank, group.name, group.size - 1);
}

inline std::string_view group_of(const Vjp& v) { return v.get<std::string_view>("group"); }

}  // namespace pel
