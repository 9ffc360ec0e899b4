// Any sizes, strides and offset over the storage, as long as they stay inside.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/window.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor as_strided_body(const Tensor& self, Dims size, Dims stride, std::optional<Dim> offset) {
  PEL_CHECK(size.size() == stride.size(), ValueError, "{} sizes and {} strides: the numbers must agree",
            size.size(), stride.size());
  const Dim first = offset.value_or(self.storage_offset());
  for (std::size_t i = 0; i < size.size(); ++i) {
    PEL_CHECK(size[i] >= 0 && stride[i] >= 0, ValueError, "sizes {} and strides {} must not be negative",
              to_string(size), to_string(stride));
  }
  PEL_CHECK(first >= 0, ValueError, "the offset {} is negative", to_string(first));
  if (self.has_data()) {
    const Dim needed = extent(size, stride);
    const Dim held = self.header()->storage->size_bytes / size_bytes(self.dtype());
    PEL_CHECK(needed == 0 || first + needed <= held, ValueError,
              "sizes {} with strides {} from offset {} reach element {} of a storage of {}", to_string(size),
              to_string(stride), to_string(first), to_string(first + needed - 1), to_string(held));
  }
  return make_view(self, size, stride, first);
}

}  // namespace

namespace ops {
OpDef define_as_strided() {
  return define_op<as_strided_body>(
             OpKind::Metadata,
             "as_strided(Tensor(a) self, Dim[] size, Dim[] stride, Dim? storage_offset=None) -> Tensor(a)")
      .vjp("self", "self size stride storage_offset",  // of self, how it lies in memory
           [](const Vjp& v) {
             const Window base(v["self"]);
             const Window view(v.get<Dims>("size"), v.get<Dims>("stride"),
                               v.get<std::optional<Dim>>("storage_offset").value_or(base.offset));
             return window_gradient(v.grad(), base, view);
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), std::vector<Dim>{2, 3}, std::vector<Dim>{2, 2}, Dim(2)},
                           {s({5, 2}), std::vector<Dim>{2, 2}, std::vector<Dim>{4, 2}}};
      });
}
}  // namespace ops

Tensor as_strided(const Tensor& self, Dims size, Dims stride, std::optional<Dim> storage_offset, Site site) {
  return call<"as_strided", as_strided_body>(site, self, size, stride, storage_offset);
}
Tensor Tensor::as_strided(Dims size, Dims stride, std::optional<Dim> storage_offset, Site site) const {
  return pel::as_strided(*this, size, stride, storage_offset, site);
}

}  // namespace pel
