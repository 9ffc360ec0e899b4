#include <algorithm>

#include "pellucid/autograd.h"
#include "pellucid/extend/op.h"
#include "pellucid/extend/outside_capture.h"
#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"
#include "pellucid/optim.h"

#include "base/check.h"

namespace pel::optim {
namespace {
DType state_type(const Tensor& param) { return param.dtype() == kF64 ? kF64 : kF32; }
// Kernels read the step and the rate, so they are where the parameters are.
Device device_of(nn::Module& module) {
  const std::vector<NamedTensor> params = module.named_parameters();
  return params.empty() ? kCpu : params[0].tensor.device();
}
}  // namespace

Optimizer::Optimizer(nn::Module& module, double lr, double weight_decay, std::vector<Group> groups)
    : module_(module), base_lr_(lr) {
  if (groups.empty() || groups.back().takes) groups.emplace_back();
  const Device device = device_of(module);
  for (Group& group : groups) {
    const double rate = group.lr >= 0 ? group.lr : lr;
    const double decay = group.weight_decay >= 0 ? group.weight_decay : weight_decay;
    groups_.push_back(
        {std::move(group), full({}, rate, {kF32, device}), zeros({}, {kF32, device}), rate, decay});
  }
}

void Optimizer::step(Site site) {
  as_call("step", site, [&] {
    const NoGrad no_grad;
    const std::vector<std::string> names = state_names();
    std::vector<Members> members(groups_.size());
    for (const NamedTensor& each : module_.named_parameters()) {
      const Tensor grad = each.tensor.grad();
      if (!grad.defined()) continue;
      std::size_t at = 0;
      while (groups_[at].settings.takes && !groups_[at].settings.takes(each.path)) ++at;
      State& state = states_[each.path];
      for (std::size_t s = state.tensors.size(); s < names.size(); ++s) {
        const OutsideCapture outside;
        state.tensors.push_back(zeros_like(each.tensor, state_type(each.tensor)));
      }
      Members& group = members[at];
      group.states.resize(names.size());
      group.params.push_back(each.tensor);
      group.grads.push_back(grad);
      for (std::size_t s = 0; s < names.size(); ++s) group.states[s].push_back(state.tensors[s]);
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (members[i].params.empty()) continue;
      run(groups_[i], members[i], site);
    }
  });
}

void Optimizer::set_lr(double value) {
  const NoGrad no_grad;
  for (const GroupState& group : groups_)
    fill_(group.lr, base_lr_ == 0 ? value : value * group.first_lr / base_lr_);
}

double Optimizer::steps() const {
  double steps = 0;  // a group without parameters never steps
  for (const GroupState& group : groups_) steps = std::max(steps, group.step.item().to_double());
  return steps;
}

std::vector<NamedTensor> Optimizer::state() const {
  std::vector<NamedTensor> found;
  const std::vector<std::string> names = state_names();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    found.push_back({fmt::format("group.{}.step", i), groups_[i].step});
    found.push_back({fmt::format("group.{}.lr", i), groups_[i].lr});
  }
  for (const auto& [path, state] : states_) {
    for (std::size_t s = 0; s < names.size(); ++s) found.push_back({path + "." + names[s], state.tensors[s]});
  }
  return found;
}

void Optimizer::load(ArrayView<NamedTensor> state, Site site) {
  as_call("load", site, [&] {
    const NoGrad no_grad;
    const std::vector<std::string> names = state_names();
    std::map<std::string, Tensor> targets;  // where each value is stored
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      targets.emplace(fmt::format("group.{}.step", i), groups_[i].step);
      targets.emplace(fmt::format("group.{}.lr", i), groups_[i].lr);
    }
    std::map<std::string, State> states;
    for (const NamedTensor& each : module_.named_parameters()) {
      for (const std::string& kind : names) {
        states[each.path].tensors.push_back(zeros_like(each.tensor, state_type(each.tensor)));
        targets.emplace(each.path + "." + kind, states[each.path].tensors.back());
      }
    }
    for (const NamedTensor& value : state) {
      const auto target = targets.find(value.path);
      PEL_CHECK(target != targets.end(), ValueError, "the optimiser has no state {}", value.path);
      PEL_CHECK(to_string(target->second.sizes()) == to_string(value.tensor.sizes()), ShapeError,
                "{} has sizes {}, but its new value has sizes {}", value.path,
                to_string(target->second.sizes()), to_string(value.tensor.sizes()));
      copy_(target->second, value.tensor);
    }
    states_ = std::move(states);
  });
}

SGD::SGD(nn::Module& module, const SGDOptions& options, std::vector<Group> groups)
    : Optimizer(module, options.lr, options.weight_decay, std::move(groups)), options_(options) {}
std::vector<std::string> SGD::state_names() const {
  return options_.momentum != 0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{};
}
const Tensor& SGD::run(const GroupState& group, const Members& members, Site site) {
  return internal::sgd_step_(group.step, members.params,
                             members.states.empty() ? std::vector<Tensor>{} : members.states[0],
                             members.grads, group.lr, options_.momentum, options_.dampening,
                             group.weight_decay, options_.nesterov, site);
}

Adam::Adam(nn::Module& module, const AdamOptions& options, std::vector<Group> groups, Decoupled decoupled)
    : Optimizer(module, options.lr, options.weight_decay, std::move(groups)),
      options_(options),
      decoupled_(decoupled) {}
const Tensor& Adam::run(const GroupState& group, const Members& members, Site site) {
  return internal::adam_step_(group.step, members.params, members.states[0], members.states[1], members.grads,
                              group.lr, options_.beta1, options_.beta2, options_.eps, group.weight_decay,
                              decoupled_, site);
}

}  // namespace pel::optim
