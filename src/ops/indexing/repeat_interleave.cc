// Each slice repeated next to itself: as often as a tensor says, which is read back, or as a number says.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/shared/index.h"
#include "ops/shared/vjp.h"
#include "tensor/convert.h"
#include "tensor/read_back.h"

namespace pel {
namespace {

void check_repeat(std::int64_t repeat) {
  PEL_CHECK(repeat >= 0, ValueError, "the number of repeats {} is negative", repeat);
}

// The index of the source slice of each slice of the result.
Tensor places_of(const Tensor& repeats, std::int64_t slices) {
  const Tensor dense = read_back(row_major(with_axes(repeats)), "to read the numbers of repeats");
  const bool one_for_all = dense.sizes()[0] == 1;
  return with_type(dense.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto* counts = static_cast<const char*>(dense.raw_data());
    const auto count_of = [&](std::int64_t i) {
      return convert<std::int64_t>(load_as<T>(counts + (one_for_all ? 0 : i) * std::int64_t{sizeof(T)}));
    };
    Dim total = 0;
    for (std::int64_t i = 0; i < slices; ++i) {
      check_repeat(count_of(i));
      total += count_of(i);
    }
    const Tensor places = make_dense({total}, kI64, dense.device());
    auto* to = static_cast<std::int64_t*>(places.raw_data());
    for (std::int64_t i = 0; i < slices; ++i) to = std::fill_n(to, count_of(i), i);
    return places.device() == repeats.device() ? places : copied_in(places, repeats.device());
  });
}

Tensor repeat_interleave_body(const Tensor& self, const Tensor& repeats, std::optional<std::int64_t> dim,
                              std::optional<Dim> output_size) {
  PEL_CHECK(is_integral(repeats.dtype()), DTypeError, "the repeats are integers, not {}", describe(repeats));
  PEL_CHECK(repeats.dim() <= 1, ShapeError, "the repeats are a vector or a tensor without axes, not {}",
            describe(repeats));
  PEL_CHECK(!dim || self.dim() > 0, IndexError, "a tensor without axes has no axis {}; leave it out",
            dim.value_or(0));
  const std::int64_t axis = dim ? wrap_axis(*dim, self.dim()) : 0;
  const Tensor src = dim ? self : make_view(row_major(self), {self.numel()}, {Dim(1)});
  const Dim slices = src.sizes()[static_cast<std::size_t>(axis)];
  const Dim given = repeats.dim() == 0 ? Dim(1) : repeats.sizes()[0];
  PEL_CHECK(given == 1 || given == slices, ShapeError, "{} repeats are given for the {} slices of axis {}",
            to_string(given), to_string(slices), axis);
  check_has_data(repeats);
  const Tensor places = places_of(repeats, slices.value());
  PEL_CHECK(!output_size || *output_size == places.sizes()[0], ShapeError,
            "the repeats add up to {} slices, and output_size is {}", to_string(places.sizes()[0]),
            to_string(output_size.value_or(0)));
  DimVector sizes(src.sizes());
  sizes[static_cast<std::size_t>(axis)] = places.sizes()[0];
  Tensor result = make_dense(sizes, self.dtype(), self.device());
  launch(op<"index_select">(), {result}, {src, places}, {Scalar(false), Scalar(axis), Scalar(axis)});
  return result;
}

Tensor interleaved_back(const Vjp& v) {
  const auto dim = v.get<std::optional<std::int64_t>>("dim");
  const Dims sizes = v.sizes("self");
  const Dim count = count_along(sizes, {});
  const DimVector from(dim ? sizes : Dims(&count, 1));
  const std::int64_t axis = dim.value_or(0);
  const Tensor numbers = arange(Scalar(count_along(from, {axis})), {kI64, v.grad().device()});
  const Tensor places = repeat_interleave(numbers, v["repeats"]);
  return reshape(selected_back(v.grad(), from, axis, places), sizes);
}

}  // namespace

namespace ops {
OpDef define_repeat_interleave() {
  return define_op<repeat_interleave_body>(OpKind::Sync,
                                           "repeat_interleave(Tensor self, Tensor repeats, int? dim=None, *, "
                                           "Dim? output_size=None) -> Tensor")
      .waits("to read the numbers of repeats")
      .vjp("self", "repeats dim", interleaved_back)
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3}), s.indices(3, {3}), Dim(-1)},
                           {s({2, 2}), s.indices(3, {4})},
                           {s({3, 2}), s.indices(3, {}) + 1, Dim(0)}};
      });
}
}  // namespace ops

Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<std::int64_t> axis,
                         std::optional<Dim> output_size, Site site) {
  return call<"repeat_interleave", repeat_interleave_body>(site, self, repeats, axis, output_size);
}
// Of a number no data is read: an axis for the repeats is made, expanded, and joined to the one before it.
Tensor repeat_interleave(const Tensor& self, Dim repeats, std::optional<std::int64_t> axis, Site site) {
  return as_call("repeat_interleave", site, [&] {
    PEL_CHECK(self.defined(), ValueError, "an undefined tensor is given for self");
    PEL_CHECK(is_size(repeats), ValueError, "the number of repeats {} is negative", to_string(repeats));
    PEL_CHECK(!axis || self.dim() > 0, IndexError, "a tensor without axes has no axis {}; leave it out",
              axis.value_or(0));
    const Tensor src = axis ? self : reshape(self, {self.numel()});
    const auto at = static_cast<std::size_t>(axis ? wrap_axis(*axis, self.dim()) : 0);
    DimVector wide(src.sizes()), joined(src.sizes());
    wide.insert(at + 1, repeats);
    joined[at] *= repeats;
    return view(clone(expand(unsqueeze(src, static_cast<std::int64_t>(at) + 1), wide), Layout::RowMajor),
                joined);
  });
}

}  // namespace pel
