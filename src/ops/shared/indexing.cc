// x[{...}]: each part of the index is one of the ops select, slice and unsqueeze.
#include "pellucid/ops.h"

#include "base/check.h"
#include "tensor/make.h"

namespace pel {

Tensor Tensor::operator[](const IndexList& index) const {
  const Site& site = index.site;
  std::int64_t named = 0, ellipses = 0;
  for (const Index& part : index.items) {
    named += part.kind() == Index::Kind::At || part.kind() == Index::Kind::Slice;
    ellipses += part.kind() == Index::Kind::Ellipsis;
  }
  as_call("index", site, [&] {
    PEL_CHECK(ellipses <= 1, IndexError, "an index holds at most one ellipsis");
    PEL_CHECK(named <= dim(), IndexError, "{} indices are too many for {}", named, describe(*this));
  });
  Tensor result = *this;
  std::int64_t axis = 0;
  for (const Index& part : index.items) {
    switch (part.kind()) {
      case Index::Kind::At:
        result = pel::select(result, axis, part.at(), site);
        break;
      case Index::Kind::Slice:
        result = pel::slice(result, axis++, part.slice().start, part.slice().stop, part.slice().step, site);
        break;
      case Index::Kind::NewAxis:
        result = pel::unsqueeze(result, axis++, site);
        break;
      case Index::Kind::Ellipsis:
        axis += dim() - named;
        break;
    }
  }
  return result.is_same(*this) ? pel::alias(*this, site) : result;
}

}  // namespace pel
