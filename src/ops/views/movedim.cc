// Some axes moved to new positions; the others keep their order.
#include <bitset>

#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor movedim_body(const Tensor& self, Axes source, Axes destination) {
  PEL_CHECK(source.size() == destination.size(), ValueError, "{} axes cannot move to {} positions",
            source.size(), destination.size());
  const std::int64_t rank = self.dim();
  std::bitset<kMaxRank> moved, taken;
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < source.size(); ++i) {
    const auto from = static_cast<std::size_t>(wrap_axis(source[i], rank));
    const auto to = static_cast<std::size_t>(wrap_axis(destination[i], rank));
    PEL_CHECK(!moved[from] && !taken[to], ValueError, "an axis is given twice");
    moved[from] = taken[to] = true;
    if (rank > 0) order[to] = static_cast<std::int64_t>(from);
  }
  std::size_t next = 0;
  for (std::size_t to = 0; to < order.size(); ++to) {
    if (taken[to]) continue;
    while (moved[next]) ++next;
    order[to] = static_cast<std::int64_t>(next++);
  }
  return permute(self, order);
}

}  // namespace

namespace ops {
OpDef define_movedim() {
  return define_op<movedim_body>(OpKind::Composite,
                                 "movedim(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3, 4}), std::vector<Dim>{0, -1}, std::vector<Dim>{1, 0}}};
      });
}
}  // namespace ops

Tensor movedim(const Tensor& self, Axes source, Axes destination, Site site) {
  return call<"movedim", movedim_body>(site, self, source, destination);
}
Tensor Tensor::movedim(Axes source, Axes destination, Site site) const {
  return pel::movedim(*this, source, destination, site);
}

}  // namespace pel
