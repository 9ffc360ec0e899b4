#include <cmath>
#include <numbers>

#include "pellucid/optim.h"

namespace pel::optim {

Schedule constant(double lr) {
  return [lr](std::int64_t) { return lr; };
}

Schedule step_decay(double lr, std::int64_t every, double factor) {
  return [=](std::int64_t step) { return lr * std::pow(factor, static_cast<double>(step / every)); };
}

Schedule exponential_decay(double lr, double factor) {
  return [=](std::int64_t step) { return lr * std::pow(factor, static_cast<double>(step)); };
}

Schedule cosine(double lr, std::int64_t steps, double min_lr) {
  return [=](std::int64_t step) {
    const double share = std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
    return min_lr + (lr - min_lr) * (1 + std::cos(std::numbers::pi * share)) / 2;
  };
}

Schedule warmup(std::int64_t steps, Schedule after) {
  return [steps, after = std::move(after)](std::int64_t step) {
    if (step >= steps) return after(step - steps);
    return after(0) * static_cast<double>(step + 1) / static_cast<double>(steps);
  };
}

}  // namespace pel::optim
