// Regions that keep nothing: their calls are recorded as usual, but what a call would keep gets a number
// instead. The first one asked for runs the region again and collects all of them.
#include "pellucid/autograd.h"
#include "pellucid/generator.h"

#include "autograd/leaf_watch.h"
#include "autograd/node.h"
#include "autograd/saved.h"
#include "base/check.h"
#include "tensor/make.h"

namespace pel {
namespace {

using autograd::Keeper;
using autograd::Recompute;
using Region = std::function<Tensor(ArrayView<Tensor>)>;

class KeeperScope {
 public:
  explicit KeeperScope(Keeper* keeper) : saved_(std::exchange(autograd::thread_keeper(), keeper)) {}
  ~KeeperScope() { autograd::thread_keeper() = saved_; }
  KeeperScope(const KeeperScope&) = delete;
  KeeperScope& operator=(const KeeperScope&) = delete;

 private:
  Keeper* saved_;
};

// Collects what the calls of a second run keep, in order.
class Collector final : public Keeper {
 public:
  std::pair<std::shared_ptr<Recompute>, std::size_t> put(const Tensor& value) override {
    values.push_back(make_view(value, value.sizes(), value.strides()));
    return {};
  }
  std::vector<Tensor> values;
};

// Draws from `state` while in scope; then the default generator goes on from where it was, also after an
// error.
class GeneratorScope {
 public:
  explicit GeneratorScope(Generator::State state) { default_generator().set_state(state); }
  ~GeneratorScope() { default_generator().set_state(before_); }
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  Generator::State before_ = default_generator().state();
};

class Frame final : public Recompute {
 public:
  Frame(Region region, ArrayView<Tensor> inputs, const Site& site)
      : region_(std::move(region)), state_(default_generator().state()), site_(site) {
    for (const Tensor& input : inputs) versions_.push_back(input.version());
    inputs_ = inputs.vec();
  }

  std::size_t next_place() { return count_++; }

  Tensor get(std::size_t number) override {
    if (values_.empty()) compute();
    PEL_CHECK(
        values_.size() == count_, ValueError,
        "the region at {}:{} kept {} tensors when it ran and {} when it ran again; it must do the same each "
        "time",
        site_.file_name(), site_.line(), count_, values_.size());
    Tensor value = values_[number];
    PEL_ASSERT(value.defined(), "each value is asked for while it is there");
    if (++asked_ == count_) {  // all are out: let go, as a graph does that is walked once
      values_.clear();
      asked_ = 0;
    }
    return value;
  }

 private:
  void compute() {
    Collector collector;
    {
      const GeneratorScope same_numbers(state_);
      const KeeperScope scope(&collector);
      const EnableGrad record;
      std::vector<Tensor> inputs;
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const Tensor& input = inputs_[i];
        PEL_CHECK(
            input.version() == versions_[i], VersionError,
            "input {} of the region at {}:{}, {}, had version {} when it ran and has {} now that it must run "
            "again; write to a clone, or after backward",
            i, site_.file_name(), site_.line(), describe(input), versions_[i], input.version());
        inputs.push_back(input.detach());
        if (input.requires_grad()) inputs.back().requires_grad_();
      }
      region_(inputs);
    }
    values_ = std::move(collector.values);
  }

  Region region_;
  Generator::State state_;
  Site site_;
  std::vector<Tensor> inputs_, values_;
  std::vector<std::uint32_t> versions_;
  std::size_t count_ = 0, asked_ = 0;
};

class Numbering final : public Keeper {
 public:
  explicit Numbering(std::shared_ptr<Frame> frame) : frame_(std::move(frame)) {}
  std::pair<std::shared_ptr<Recompute>, std::size_t> put(const Tensor&) override {
    return {frame_, frame_->next_place()};
  }

 private:
  std::shared_ptr<Frame> frame_;
};

}  // namespace

Tensor checkpoint(const Region& region, ArrayView<Tensor> inputs, Site site) {
  return as_call("checkpoint", site, [&] {
    // A captured region is computed once: a graph shares equal calls, and random ones would draw again.
    if (autograd::thread_leaf_watch() != nullptr) return region(inputs);
    Numbering numbering(std::make_shared<Frame>(region, inputs, site));
    const KeeperScope scope(is_grad_enabled() ? &numbering : nullptr);
    return region(inputs);
  });
}

}  // namespace pel
