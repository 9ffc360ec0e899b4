// Functions of the user's with a gradient of their own.
#include "pellucid/autograd.h"
#include "pellucid/ops.h"
#include "pellucid/profile.h"

#include "autograd/node.h"
#include "autograd/saved.h"
#include "base/check.h"

namespace pel {

using autograd::Edge;
using autograd::History;
using autograd::NodePtr;
using autograd::SavedValue;

class FunctionNode final : public autograd::Node {
 public:
  FunctionNode(const Function& function, const Site& site)
      : Node(site, autograd::next_sequence()), function_(function), name_(interned(function.name)) {}
  std::string_view name() const override { return name_; }
  std::vector<Tensor> run(std::vector<Tensor> grads) override {
    check_not_released();
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) grads[i] = zeros(info(i).sizes, {info(i).dtype, info(i).device});
    }
    context_.saved_.clear();
    for (const SavedValue& each : saved_)
      context_.saved_.push_back(std::get<Tensor>(each.get(*this, "saved tensor")));
    std::vector<Tensor> input_grads = function_.backward(context_, grads);
    context_.saved_.clear();
    PEL_CHECK(input_grads.size() == edges().size(), ValueError,
              "the backward of {} returned {} gradients; expected one for each of its {} inputs", name(),
              input_grads.size(), edges().size());
    return input_grads;
  }
  void release_saved() override {
    saved_.clear();
    Node::release_saved();
  }

  FunctionContext& context() { return context_; }
  // A result is saved without its history, which leads back here.
  void save(ArrayView<Tensor> results) {
    for (Tensor& t : context_.to_save_) {
      std::size_t i = 0;
      while (i < results.size() && !results[i].is_same(t)) ++i;
      saved_.push_back(i < results.size() ? SavedValue::result(t, static_cast<std::uint32_t>(i))
                                          : SavedValue::argument(t));
    }
    context_.to_save_.clear();
  }

 private:
  Function function_;
  const char* name_;  // a profile reads it after this node is gone
  FunctionContext context_;
  std::vector<SavedValue> saved_;
};

std::vector<Tensor> apply(const Function& function, ArrayView<Tensor> inputs, Site site) {
  return as_call(function.name, site, [&] {
    auto* made = new FunctionNode(function, site);
    const NodePtr node(made);
    bool any = false;
    for (const Tensor& input : inputs) {
      const History* history =
          is_grad_enabled() && input.requires_grad() ? autograd::current_history(input) : nullptr;
      made->edges().push_back(history ? history->edge : Edge{});
      any = any || history;
    }
    std::vector<Tensor> results;
    {
      const NoGrad inside;
      results = function.forward(made->context(), inputs);
    }
    if (!any) return results;
    for (Tensor& result : results) {
      // An input that is returned as a result gets a header of its own, as each result has its own history.
      for (const Tensor& input : inputs) {
        if (result.is_same(input)) result = alias(result);
      }
      made->add_result(result);
    }
    made->save(results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (is_floating(results[i].dtype()))
        autograd::set_edge(results[i], made->edge_to(static_cast<std::uint32_t>(i)));
    }
    return results;
  });
}

}  // namespace pel
