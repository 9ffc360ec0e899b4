// Regions that save nothing but their inputs: their calls are recorded as usual, but a value that a call
// would save gets a number instead. The first request for one of them runs the region again and collects all.
#include "pellucid/autograd.h"
#include "pellucid/generator.h"

#include "autograd/leaf_watch.h"
#include "autograd/node.h"
#include "autograd/saved.h"
#include "base/check.h"
#include "tensor/make.h"

namespace pel {
namespace {

using autograd::Recompute;
using autograd::SaveHook;
using Region = std::function<Tensor(ArrayView<Tensor>)>;

class SaveHookScope {
 public:
  explicit SaveHookScope(SaveHook* hook) : outer_(std::exchange(autograd::thread_save_hook(), hook)) {}
  ~SaveHookScope() { autograd::thread_save_hook() = outer_; }
  SaveHookScope(const SaveHookScope&) = delete;
  SaveHookScope& operator=(const SaveHookScope&) = delete;

 private:
  SaveHook* outer_;
};

// Collects the values that the calls of a second run save, in order.
class Collector final : public SaveHook {
 public:
  std::pair<std::shared_ptr<Recompute>, std::size_t> put(const Tensor& value) override {
    values.push_back(make_view(value, value.sizes(), value.strides()));
    return {};
  }
  std::vector<Tensor> values;
};

// Sets the default generator to `state` while in scope, and restores it afterwards, also after an error.
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

  std::size_t next_number() { return count_++; }

  Tensor get(std::size_t number) override {
    if (values_.empty()) compute();
    PEL_CHECK(values_.size() == count_, ValueError,
              "the region at {}:{} saved {} tensors in forward and {} when it was run again in backward; it "
              "must do the "
              "same each time",
              site_.file_name(), site_.line(), count_, values_.size());
    Tensor value = values_[number];
    PEL_ASSERT(value.defined(), "a value is requested once for each backward");
    if (++asked_ == count_) {  // all were handed out: release them, as a graph does after backward
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
      const SaveHookScope scope(&collector);
      const EnableGrad record;
      std::vector<Tensor> inputs;
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const Tensor& input = inputs_[i];
        PEL_CHECK(input.version() == versions_[i], VersionError,
                  "input {} of the region at {}:{}, {}, was written to: it had version {} in forward and has "
                  "{} now, but the "
                  "region must run again; write to a clone, or after backward",
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

class Numbering final : public SaveHook {
 public:
  explicit Numbering(std::shared_ptr<Frame> frame) : frame_(std::move(frame)) {}
  std::pair<std::shared_ptr<Recompute>, std::size_t> put(const Tensor&) override {
    return {frame_, frame_->next_number()};
  }

 private:
  std::shared_ptr<Frame> frame_;
};

}  // namespace

Tensor checkpoint(const Region& region, ArrayView<Tensor> inputs, Site site) {
  return as_call("checkpoint", site, [&] {
    // A captured region is not run again: a graph shares equal calls, and random ones would draw other
    // numbers.
    if (autograd::thread_leaf_watch() != nullptr) return region(inputs);
    Numbering numbering(std::make_shared<Frame>(region, inputs, site));
    const SaveHookScope scope(is_grad_enabled() ? &numbering : nullptr);
    return region(inputs);
  });
}

}  // namespace pel
