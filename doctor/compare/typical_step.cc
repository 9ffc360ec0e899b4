#include "doctor/compare/typical_step.h"

#include <algorithm>

namespace pel::doctor {

TypicalStep typical_step(const Examined& examined) {
  const Model& model = examined.model;
  const std::vector<TimeShares>& times = examined.time.of_steps();
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < times.size(); ++i) {
    if (times[i].total() != 0) order.push_back(i);
  }
  TypicalStep step;
  const bool is_whole = !model.has_marked_steps() || order.empty();
  std::uint32_t chosen = 0;
  if (is_whole) {
    step.name = "the whole trace";
    step.steps = 1;
    step.time = examined.time.all();
  } else {
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
    std::nth_element(order.begin(), middle, order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return times[a].total() != times[b].total() ? times[a].total() < times[b].total() : a < b;
    });
    chosen = *middle;
    step.name = model.steps()[chosen].name;
    step.steps = order.size();
    step.time = times[chosen];
  }
  for (std::uint32_t w = 0; w < model.activities().size(); ++w) {
    if (is_whole || model.activities()[w].step == chosen) step.activities.push_back(w);
  }
  return step;
}

}  // namespace pel::doctor
