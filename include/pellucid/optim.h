// Optimizers. They look up parameters by path in a module at each step, and store their state under those
// paths. The learning rate and the number of steps are tensors.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/nn/modules.h"
#include "pellucid/ops/optim.h"

namespace pel::optim {

// Parameters that share their settings: one kernel a step.
struct Group {
  std::function<bool(std::string_view path)> takes;  // empty: all that no earlier group has
  double lr = -1, weight_decay = -1;                 // negative: those of the optimizer
};

class PEL_API Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates every parameter that has a gradient.
  void step(Site site = Site::current());
  void zero_grad() { module_.zero_grad(); }
  // f32, without axes; a write to it takes effect at the next step.
  const Tensor& lr(std::size_t group = 0) const { return groups_[group].lr; }
  void set_lr(double value);               // of all groups, in proportion to their initial ones
  double steps() const;                    // taken so far
  std::vector<NamedTensor> state() const;  // under "path.first" and so on, with "group.0.step"
  // Restores a saved state. What it does not contain starts at zero.
  void load(ArrayView<NamedTensor> state, Site site = Site::current());

 protected:
  struct State {
    std::vector<Tensor> tensors;
  };
  struct Members {
    std::vector<Tensor> params, grads;
    std::vector<std::vector<Tensor>> states;  // by kind
  };
  struct GroupState {
    Group settings;
    Tensor lr, step;
    double first_lr, weight_decay;
  };
  Optimizer(nn::Module& module, double lr, double weight_decay, std::vector<Group> groups);
  virtual std::vector<std::string> state_names() const = 0;
  virtual const Tensor& run(const GroupState& group, const Members& members, Site site) = 0;

 private:
  nn::Module& module_;
  double base_lr_;
  std::vector<GroupState> groups_;
  std::map<std::string, State> states_;
};

struct SGDOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  Nesterov nesterov = Nesterov::No;
};
class PEL_API SGD final : public Optimizer {
 public:
  explicit SGD(nn::Module& module, const SGDOptions& options = {}, std::vector<Group> groups = {});

 private:
  std::vector<std::string> state_names() const override;
  const Tensor& run(const GroupState& group, const Members& members, Site site) override;
  SGDOptions options_;
};

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
class PEL_API Adam : public Optimizer {
 public:
  explicit Adam(nn::Module& module, const AdamOptions& options = {}, std::vector<Group> groups = {})
      : Adam(module, options, std::move(groups), Decoupled::No) {}

 protected:
  Adam(nn::Module& module, const AdamOptions& options, std::vector<Group> groups, Decoupled decoupled);

 private:
  std::vector<std::string> state_names() const override { return {"first", "second"}; }
  const Tensor& run(const GroupState& group, const Members& members, Site site) override;
  AdamOptions options_;
  Decoupled decoupled_;
};
// Adam with decoupled weight decay.
class PEL_API AdamW final : public Adam {
 public:
  explicit AdamW(nn::Module& module, const AdamOptions& options = {.weight_decay = 0.01},
                 std::vector<Group> groups = {})
      : Adam(module, options, std::move(groups), Decoupled::Yes) {}
};

// Scales gradients so that their total norm is at most max_norm; returns the norm before. Does not
// synchronize with the host.
PEL_API Tensor clip_grad_norm_(const nn::Module& module, double max_norm, Site site = Site::current());
PEL_API void clip_grad_value_(const nn::Module& module, double clip_value, Site site = Site::current());

// Learning rates as functions of the step, from 0.
using Schedule = std::function<double(std::int64_t step)>;
PEL_API Schedule constant(double lr);
PEL_API Schedule step_decay(double lr, std::int64_t every, double factor = 0.1);
PEL_API Schedule exponential_decay(double lr, double factor);
// Cosine annealing from lr at step 0 to min_lr at `steps` and after.
PEL_API Schedule cosine(double lr, std::int64_t steps, double min_lr = 0);
// Linear for `steps`, then `after`, whose step 0 is the end of the warmup.
PEL_API Schedule warmup(std::int64_t steps, Schedule after);

}  // namespace pel::optim
