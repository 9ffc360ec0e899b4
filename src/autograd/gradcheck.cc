#include <cmath>
#include <random>

#include <fmt/format.h>

#include "pellucid/autograd.h"
#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"

namespace pel {
namespace {

bool has_gradient(const Tensor& t) { return t.defined() && is_floating(t.dtype()) && t.requires_grad(); }

std::vector<Tensor> differentiable(std::vector<Tensor> results) {
  std::erase_if(results, [](const Tensor& t) { return !has_gradient(t); });
  return results;
}

// Fixed weights, so that a result of many elements becomes one number whose gradient says something of all.
std::vector<Tensor> weights_for(const std::vector<Tensor>& results) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  std::vector<Tensor> weights;
  for (const Tensor& result : results) {
    std::vector<double> values(static_cast<std::size_t>(result.numel().value()));
    for (double& value : values) value = uniform(random) * (random() % 2 == 0 ? 1 : -1);
    weights.push_back(from_data(values, result.sizes()).to(result.device()));
  }
  return weights;
}

double value_of(const TensorFunction& f, ArrayView<Tensor> inputs, const std::vector<Tensor>& weights) {
  const NoGrad inside;
  std::vector<Tensor> results = f(inputs);
  double total = 0;
  std::size_t at = 0;
  for (const Tensor& result : results) {
    if (!result.defined() || !is_floating(result.dtype())) continue;
    if (at == weights.size()) break;
    // Differences of infinities say nothing.
    total += sum(where(isfinite(result), result.to(kF64), 0) * weights[at++]).item().to_double();
  }
  return total;
}

// The element at `index` in row-major order.
double* element(const Tensor& t, std::int64_t index) {
  std::int64_t offset = 0;
  for (std::int64_t axis = t.dim() - 1; axis >= 0; --axis) {
    const std::int64_t size = t.size(axis).value();
    offset += index % size * t.stride(axis).value();
    index /= size;
  }
  return t.data<double>() + offset;
}

}  // namespace

std::string gradcheck(const TensorFunction& f, ArrayView<Tensor> inputs, const GradcheckOptions& options) {
  std::vector<Tensor> all = f(inputs);
  std::vector<Tensor> results = differentiable(all);
  if (results.empty()) return "no result requires a gradient";
  const std::vector<Tensor> weights = weights_for(results);
  const TensorFunction smooth = [&](ArrayView<Tensor> at_inputs) {
    std::vector<Tensor> now = f(at_inputs), checked;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (has_gradient(all[i])) checked.push_back(now[i]);
    }
    return checked;
  };
  std::vector<Tensor> wanted;
  for (const Tensor& input : inputs) {
    if (has_gradient(input)) wanted.push_back(input);
  }
  BackwardOptions backward_options;
  backward_options.gradients = weights;
  backward_options.allow_unused = true;
  backward_options.retain_graph = true;
  const std::vector<Tensor> analytic = grad(results, wanted, backward_options);

  std::size_t at = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!has_gradient(inputs[i])) continue;
    const Tensor& mine = analytic[at++];
    if (mine.defined() && to_string(mine.sizes()) != to_string(inputs[i].sizes()))
      return fmt::format("input {}: the gradient has sizes {}, the input {}", i, to_string(mine.sizes()),
                         to_string(inputs[i].sizes()));
    for (std::int64_t e = 0; e < inputs[i].numel().value(); ++e) {
      // A fresh copy for each difference: functions may write to their inputs' clones, never to these.
      std::vector<Tensor> moved = inputs.vec();
      double* moved_element = element(moved[i].detach(), e);
      const double before = *moved_element;
      *moved_element = before + options.step;
      const double above = value_of(smooth, moved, weights);
      *moved_element = before - options.step;
      const double below = value_of(smooth, moved, weights);
      *moved_element = before;
      const double numeric = (above - below) / (2 * options.step);
      const double found = mine.defined() ? *element(mine.detach(), e) : 0;
      if (!(std::abs(found - numeric) <= options.absolute + options.relative * std::abs(numeric)))
        return fmt::format("input {}, element {} = {}: the gradient is {}, the finite difference {}", i, e,
                           before, found, numeric);
    }
  }
  return "";
}

std::string gradgradcheck(const TensorFunction& f, ArrayView<Tensor> inputs,
                          const GradcheckOptions& options) {
  const std::vector<Tensor> results = differentiable(f(inputs));
  if (results.empty()) return "no result requires a gradient";
  std::vector<Tensor> weights = weights_for(results);
  std::vector<Tensor> all = inputs.vec();
  for (Tensor& weight : weights) all.push_back(weight.requires_grad_());
  const std::size_t count = inputs.size();
  const TensorFunction gradients = [&](ArrayView<Tensor> given) {
    const EnableGrad record;
    const std::vector<Tensor> from(given.begin(), given.begin() + count);
    std::vector<Tensor> wanted;
    for (const Tensor& input : from) {
      if (has_gradient(input)) wanted.push_back(input);
    }
    BackwardOptions backward_options;
    for (std::size_t i = count; i < given.size(); ++i) backward_options.gradients.push_back(given[i]);
    backward_options.create_graph = true;
    backward_options.allow_unused = true;
    std::vector<Tensor> found = grad(differentiable(f(from)), wanted, backward_options);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].defined()) found[i] = zeros_like(wanted[i]);
    }
    return found;
  };
  const bool is_constant = differentiable(gradients(all)).empty();
  return is_constant ? "" : gradcheck(gradients, all, options);
}

}  // namespace pel
