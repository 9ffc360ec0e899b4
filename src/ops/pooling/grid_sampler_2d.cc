// An image sampled at the positions of a grid, from -1 to 1 across the image. Outside it is 0, the border, or
// a reflection.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/pooling.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"
#include "tensor/make.h"

namespace pel {
namespace {

// Reflected at half of each bound.
Tensor reflected(const Tensor& x, const Tensor& twice_low, const Tensor& twice_high) {
  const Tensor low = div(twice_low, 2), span = div(sub(twice_high, twice_low), 2);
  const Tensor from_low = abs(sub(x, low));
  const Tensor extra = fmod(from_low, span);
  const Tensor flips = floor(div(from_low, span));
  const Tensor inside = where(eq(remainder(flips, 2), 0), add(extra, low), add(sub(span, extra), low));
  return where(eq(span, 0), 0, inside);
}

class GridReader {
 public:
  GridReader(const Tensor& image, const Tensor& grid, GridPadding padding, AlignCorners align)
      : padding_(padding), align_(align) {
    const Dim samples = image.sizes()[0], channels = image.sizes()[1];
    sizes_[0] = image.sizes()[3];
    sizes_[1] = image.sizes()[2];
    flat_ = reshape(image, {samples, channels, sizes_[0] * sizes_[1]});
    rows_ = grid.sizes()[1];
    columns_ = grid.sizes()[2];
    for (int i = 0; i < 2; ++i) {
      counts_[i] = full({}, Scalar(sizes_[i]), {image.dtype(), image.device()});
      const Tensor at = select(grid, 3, i);
      const Tensor from_zero = add(at, 1);
      places_[i] = align == AlignCorners::Yes ? mul(div(from_zero, 2), sub(counts_[i], 1))
                                              : div(sub(mul(from_zero, counts_[i]), 1), 2);
    }
  }

  Tensor nearest() const { return pick(round(moved(places_[0], 0)), round(moved(places_[1], 1))); }
  Tensor bilinear() const {
    const Tensor x = moved(places_[0], 0), y = moved(places_[1], 1);
    const Tensor left = floor(x), top = floor(y);
    const Tensor right = add(left, 1), bottom = add(top, 1);
    Tensor sum = weighted(left, top, mul(sub(right, x), sub(bottom, y)));
    sum = add(sum, weighted(right, top, mul(sub(x, left), sub(bottom, y))));
    sum = add(sum, weighted(left, bottom, mul(sub(right, x), sub(y, top))));
    return add(sum, weighted(right, bottom, mul(sub(x, left), sub(y, top))));
  }
  Tensor bicubic() const {
    const Tensor left = floor(places_[0]), top = floor(places_[1]);
    const Tensor along[2] = {sub(places_[0], left), sub(places_[1], top)};
    std::optional<Tensor> sum;
    for (int j = 0; j < 4; ++j) {
      std::optional<Tensor> row;
      for (int i = 0; i < 4; ++i) {
        const Tensor x = moved(add(left, i - 1), 0), y = moved(add(top, j - 1), 1);
        const Tensor part = mul(pick(x, y), coefficient(along[0], i).unsqueeze(1));
        row = row ? add(*row, part) : part;
      }
      const Tensor part = mul(*row, coefficient(along[1], j).unsqueeze(1));
      sum = sum ? add(*sum, part) : part;
    }
    return *sum;
  }

 private:
  // Keys' cubic, for the i-th of four neighbors of a position that is t after the second.
  static Tensor coefficient(const Tensor& t, int i) {
    constexpr double kA = -0.75;
    const Tensor x = i < 2 ? add(t, 1 - i) : rsub(t, i - 1);
    if (i == 1 || i == 2) return add(mul(mul(sub(mul(x, kA + 2), kA + 3), x), x), 1);
    return sub(mul(add(mul(sub(mul(x, kA), 5 * kA), x), 8 * kA), x), 4 * kA);
  }
  // A position moved inside, as the padding says.
  Tensor moved(const Tensor& place, int i) const {
    if (padding_ == GridPadding::Zeros) return place;
    Tensor inside = place;
    if (padding_ == GridPadding::Reflection) {
      const double shift = align_ == AlignCorners::Yes ? 2 : 1;
      const Tensor low = full({}, align_ == AlignCorners::Yes ? 0 : -1, {place.dtype(), place.device()});
      inside = reflected(place, low, sub(mul(counts_[i], 2), shift));
    }
    return minimum(clamp_min(inside, 0), sub(counts_[i], 1));
  }
  Tensor weighted(const Tensor& x, const Tensor& y, const Tensor& weight) const {
    return mul(pick(x, y), weight.unsqueeze(1));
  }
  // Elements at whole numbers; 0 outside.
  Tensor pick(const Tensor& x, const Tensor& y) const {
    const Tensor is_inside =
        logical_and(logical_and(ge(x, 0), lt(x, counts_[0])), logical_and(ge(y, 0), lt(y, counts_[1])));
    const Tensor place =
        add(mul(to(where(is_inside, y, 0), kI64), Scalar(sizes_[0])), to(where(is_inside, x, 0), kI64));
    const Dim samples = flat_.sizes()[0], channels = flat_.sizes()[1], places = rows_ * columns_;
    const Tensor each = expand(reshape(place, {samples, 1, places}), {samples, channels, places});
    const Tensor picked = gather(flat_, 2, each).view({samples, channels, rows_, columns_});
    return where(is_inside.unsqueeze(1), picked, 0);
  }

  GridPadding padding_;
  AlignCorners align_;
  Tensor flat_, counts_[2], places_[2];
  Dim sizes_[2], rows_, columns_;
};

Tensor grid_sampler_2d_body(const Tensor& self, const Tensor& grid, GridInterpolation interpolation,
                            GridPadding padding, AlignCorners align_corners) {
  PEL_CHECK(is_floating(self.dtype()) && self.dtype() == grid.dtype(), DTypeError,
            "image and grid are floating and of one dtype, not {} and {}", describe(self), describe(grid));
  PEL_CHECK(self.dim() == 4 && grid.dim() == 4 && grid.sizes()[3] == 2 && grid.sizes()[0] == self.sizes()[0],
            ShapeError,
            "the image is [samples, channels, rows, columns] and the grid [samples, rows, columns, 2], not "
            "{} and {}",
            describe(self), describe(grid));
  PEL_CHECK(!is_literally(self.sizes()[2], 0) && !is_literally(self.sizes()[3], 0), ShapeError,
            "nothing can be read from {}", describe(self));
  PEL_CHECK(interpolation >= GridInterpolation::Bilinear && interpolation <= GridInterpolation::Bicubic,
            ValueError, "interpolation_mode is 0 (bilinear), 1 (nearest) or 2 (bicubic), not {}",
            static_cast<std::int64_t>(interpolation));
  PEL_CHECK(padding >= GridPadding::Zeros && padding <= GridPadding::Reflection, ValueError,
            "padding_mode is 0 (zeros), 1 (border) or 2 (reflection), not {}",
            static_cast<std::int64_t>(padding));
  const DType type = value_type(self.dtype());
  const GridReader sampler(to(self, type), to(grid, type), padding, align_corners);
  const Tensor result = interpolation == GridInterpolation::Bilinear  ? sampler.bilinear()
                        : interpolation == GridInterpolation::Nearest ? sampler.nearest()
                                                                      : sampler.bicubic();
  return to(result, self.dtype());
}

}  // namespace

namespace ops {
OpDef define_grid_sampler_2d() {
  return define_op<grid_sampler_2d_body>(
             OpKind::Composite,
             "grid_sampler_2d(Tensor self, Tensor grid, int interpolation_mode=0, int padding_mode=0, bool "
             "align_corners=False) -> Tensor")
      .dtypes(kFloating)
      .samples([](Sampler& s) {
        return SampleCalls{{s({1, 2, 3, 4}), s({1, 2, 3, 2}, -1.3, 1.3)},
                           {s({1, 1, 3, 4}), s({1, 2, 3, 2}, -1.3, 1.3), Dim(0), Dim(1), true},
                           {s({1, 1, 3, 4}), s({1, 2, 3, 2}, -1.3, 1.3), Dim(0), Dim(2), false},
                           {s({1, 1, 3, 4}), s({1, 2, 3, 2}, -1, 1), Dim(1), Dim(0), true},
                           {s({1, 1, 3, 4}), s({1, 2, 3, 2}, -1, 1), Dim(2), Dim(1), false}};
      });
}
}  // namespace ops

Tensor grid_sampler_2d(const Tensor& self, const Tensor& grid, GridInterpolation interpolation_mode,
                       GridPadding padding_mode, AlignCorners align_corners, Site site) {
  return call<"grid_sampler_2d", grid_sampler_2d_body>(site, self, grid, interpolation_mode, padding_mode,
                                                       align_corners);
}

}  // namespace pel
