#include "pellucid/nn/init.h"

#include <cmath>
#include <utility>

#include "pellucid/autograd.h"
#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/ops/random.h"

#include "base/check.h"
#include "base/thread_object.h"

namespace pel::nn {
namespace {
struct Skipped {
  bool is_on = false;
};
bool& is_skipped() { return thread_object<Skipped>().is_on; }
}  // namespace

SkipInit::SkipInit() : saved_(std::exchange(is_skipped(), true)) {}
SkipInit::~SkipInit() { is_skipped() = saved_; }

Fan fan_of(const Tensor& t, Site site) {
  return as_call("fan_of", site, [&] {
    PEL_CHECK(t.dim() >= 2, ShapeError, "fan-in and fan-out need at least two axes, got sizes {}",
              to_string(t.sizes()));
    std::int64_t field = 1;
    for (std::int64_t axis = 2; axis < t.dim(); ++axis) field *= t.size(axis).value();
    return Fan{t.size(1).value() * field, t.size(0).value() * field};
  });
}

void init_uniform_(const Tensor& t, double low, double high, Generator& generator) {
  if (is_skipped()) return;
  const NoGrad no_grad;
  uniform_(t, low, high, generator);
}

void init_normal_(const Tensor& t, double mean, double std, Generator& generator) {
  if (is_skipped()) return;
  const NoGrad no_grad;
  normal_(t, mean, std, generator);
}

// Samples by the inverse of the distribution function, between its values at the bounds.
void init_truncated_normal_(const Tensor& t, double mean, double std, double low, double high,
                            Generator& generator) {
  if (is_skipped()) return;
  const NoGrad no_grad;
  const auto below = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  const double from = below((low - mean) / std), to = below((high - mean) / std);
  uniform_(t, 2 * from - 1, 2 * to - 1, generator);
  erfinv_(t);
  mul_(t, std * std::sqrt(2.0));
  add_(t, mean);
  clamp_(t, low, high);
}

void init_constant_(const Tensor& t, double value) {
  if (is_skipped()) return;
  const NoGrad no_grad;
  fill_(t, value);
}

void init_xavier_uniform_(const Tensor& t, double gain, Generator& generator) {
  const Fan fan = fan_of(t);
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(fan.in + fan.out));
  init_uniform_(t, -bound, bound, generator);
}

void init_xavier_normal_(const Tensor& t, double gain, Generator& generator) {
  const Fan fan = fan_of(t);
  init_normal_(t, 0, gain * std::sqrt(2.0 / static_cast<double>(fan.in + fan.out)), generator);
}

void init_kaiming_uniform_(const Tensor& t, double a, Generator& generator) {
  const double bound = std::sqrt(6.0 / ((1 + a * a) * static_cast<double>(fan_of(t).in)));
  init_uniform_(t, -bound, bound, generator);
}

void init_kaiming_normal_(const Tensor& t, double a, Generator& generator) {
  init_normal_(t, 0, std::sqrt(2.0 / ((1 + a * a) * static_cast<double>(fan_of(t).in))), generator);
}

}  // namespace pel::nn
