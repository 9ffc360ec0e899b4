// At most a given number of pieces along one axis.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

std::vector<Tensor> chunk_body(const Tensor& self, std::int64_t chunks, std::int64_t axis) {
  PEL_CHECK(self.dim() > 0, ShapeError, "a tensor without axes cannot be split");
  PEL_CHECK(chunks > 0, ValueError, "the number of chunks is {}, and must be positive", chunks);
  const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
  const Dim whole = self.sizes()[at];
  if (whole == 0) {  // no piece size has that many chunks
    return std::vector<Tensor>(static_cast<std::size_t>(chunks), slice(self, axis));
  }
  return split(self, (whole + chunks - 1) / chunks, axis);
}

}  // namespace

namespace ops {
OpDef define_chunk() {
  return define_op<chunk_body>(OpKind::Composite,
                               "chunk(Tensor(a) self, int chunks, int dim=0) -> Tensor(a)[]");
}
}  // namespace ops

std::vector<Tensor> chunk(const Tensor& self, std::int64_t chunks, std::int64_t axis, Site site) {
  return call<"chunk", chunk_body>(site, self, chunks, axis);
}
std::vector<Tensor> Tensor::chunk(std::int64_t chunks, std::int64_t axis, Site site) const {
  return pel::chunk(*this, chunks, axis, site);
}

}  // namespace pel
