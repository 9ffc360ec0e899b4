// Copies side by side. The result, seen with an axis for the copies before each of its own, is self expanded.
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor repeat_body(const Tensor& self, Dims repeats) {
  PEL_CHECK(repeats.size() >= self.sizes().size(), ShapeError, "{} repeats are given for the {} axes of {}",
            repeats.size(), self.dim(), describe(self));
  const std::size_t added = repeats.size() - self.sizes().size();
  DimVector sizes, split_sizes, src_strides;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    PEL_CHECK(is_size(repeats[i]), ValueError, "the number of repeats {} at axis {} is negative",
              to_string(repeats[i]), i);
    const Dim size = i < added ? Dim(1) : self.sizes()[i - added];
    sizes.push_back(size * repeats[i]);
    split_sizes.push_back(repeats[i]);
    split_sizes.push_back(size);
    src_strides.push_back(0);
    src_strides.push_back(i < added ? Dim(0) : self.strides()[i - added]);
  }
  Tensor result = make_dense(sizes, self.dtype(), self.device());
  launch(op<"copy_">(), {make_view(result, split_sizes, row_major_strides(split_sizes))},
         {make_view(self, split_sizes, src_strides)});
  return result;
}

}  // namespace

namespace ops {
OpDef define_repeat() {
  return define_op<repeat_body>(OpKind::Kernel, "repeat(Tensor self, Dim[] repeats) -> Tensor")
      .vjp("self", "repeats",
           [](const Vjp& v) {
             const Dims repeats = v.get<Dims>("repeats"), sizes = v.sizes("self");
             const std::size_t added = repeats.size() - sizes.size();
             DimVector split;  // each axis as repeats and what is repeated
             std::vector<std::int64_t> copies;
             for (std::size_t i = 0; i < repeats.size(); ++i) {
               copies.push_back(static_cast<std::int64_t>(2 * i));
               split.push_back(repeats[i]);
               split.push_back(i < added ? Dim(1) : sizes[i - added]);
             }
             return copies.empty() ? v.grad() : reshape(sum(reshape(v.grad(), split), copies), sizes);
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3}), std::vector<Dim>{2, 1}},
                           {s({2}), std::vector<Dim>{2, 3}},
                           {s({2}), std::vector<Dim>{0}}};
      });
}
}  // namespace ops

Tensor repeat(const Tensor& self, Dims repeats, Site site) {
  return call<"repeat", repeat_body>(site, self, repeats);
}

}  // namespace pel
