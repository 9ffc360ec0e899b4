// The functions that users call.
#include "pellucid/autograd.h"

#include "pellucid/ops/pointwise.h"

#include "autograd/engine.h"
#include "autograd/leaf_watch.h"
#include "autograd/node.h"
#include "base/check.h"
#include "tensor/make.h"

namespace pel {

using autograd::History;
using autograd::LeafNode;
using autograd::thread_leaf_watch;

namespace {

constinit thread_local bool inference_mode = false;

}  // namespace

EnableGrad::EnableGrad() : saved_(detail::thread_keys) {
  if (!inference_mode) detail::thread_keys.excluded &= static_cast<std::uint16_t>(~autograd::kAutogradBit);
}
EnableGrad::~EnableGrad() { detail::thread_keys = saved_; }

InferenceMode::InferenceMode() : saved_(std::exchange(inference_mode, true)) {}
InferenceMode::~InferenceMode() { inference_mode = saved_; }

bool is_grad_enabled() { return !(detail::thread_keys.excluded & autograd::kAutogradBit); }
bool is_inference_mode() { return inference_mode; }

void backward(ArrayView<Tensor> outputs, const BackwardOptions& options, Site site) {
  as_call("backward", site, [&] { autograd::walk(outputs, {}, options, true); });
}

std::vector<Tensor> grad(ArrayView<Tensor> outputs, ArrayView<Tensor> inputs, const BackwardOptions& options,
                         Site site) {
  return as_call("grad", site, [&] {
    std::vector<Tensor> found = autograd::walk(outputs, inputs, options, false);
    for (std::size_t i = 0; i < found.size(); ++i) {
      PEL_CHECK(
          found[i].defined() || options.allow_unused, ValueError,
          "the outputs do not depend on input {}, {}; set allow_unused to get an undefined tensor for it", i,
          describe(inputs[i]));
    }
    return found;
  });
}

bool Tensor::requires_grad() const {
  const KeySet keys(static_cast<std::uint16_t>(p_->keys | p_->storage->keys));
  return keys.contains(Key::Autograd) && autograd::current_history(*this) != nullptr;
}

bool Tensor::is_leaf() const {
  const History* history = requires_grad() ? autograd::current_history(*this) : nullptr;
  return history == nullptr || history->edge.node->is_leaf();
}

const Tensor& Tensor::requires_grad_(RequiresGrad on, Site site) const {
  return as_call("requires_grad_", site, [&]() -> const Tensor& {
    const bool does = requires_grad();
    if (does == (on == RequiresGrad::Yes)) return *this;
    PEL_CHECK(is_leaf(), ValueError, "{} is not a leaf: it is the result of a call; detach it first",
              describe(*this));
    if (thread_leaf_watch()) thread_leaf_watch()->check_is_inside(*this, "asks for a gradient of");
    if (on == RequiresGrad::No) {
      detail::release_autograd(p_);
      p_->keys &= static_cast<std::uint16_t>(~autograd::kAutogradBit);
      return *this;
    }
    PEL_CHECK(is_floating(dtype()), DTypeError,
              "{} tensors cannot require a gradient; only floating dtypes can", name(dtype()));
    auto* const leaf = new LeafNode(*this);
    autograd::set_edge(*this, {autograd::NodePtr(leaf), 0});
    if (thread_leaf_watch()) thread_leaf_watch()->add_leaf(*this, *leaf);
    return *this;
  });
}

Tensor Tensor::grad() const {
  const History* history = autograd::history_of(*this);
  if (history == nullptr) return Tensor();
  if (history->retained) return *history->retained;
  if (!history->edge.node || !history->edge.node->is_leaf()) return Tensor();
  auto& leaf = static_cast<LeafNode&>(*history->edge.node);
  return thread_leaf_watch() ? thread_leaf_watch()->gradient(leaf) : leaf.grad;
}

void Tensor::set_grad(const Tensor& grad, Site site) const {
  as_call("set_grad", site, [&] {
    const History* history = autograd::history_of(*this);
    PEL_CHECK(history && history->edge.node && history->edge.node->is_leaf(), ValueError,
              "{} is not a leaf that requires a gradient", describe(*this));
    auto& leaf = static_cast<LeafNode&>(*history->edge.node);
    if (thread_leaf_watch()) {
      thread_leaf_watch()->set_gradient(leaf, grad);
    } else {
      leaf.grad = grad;
    }
  });
}

void Tensor::retain_grad(Site site) const {
  as_call("retain_grad", site, [&] {
    History* history = autograd::current_history(*this);
    PEL_CHECK(history, ValueError, "{} does not require a gradient", describe(*this));
    if (history->retained || history->edge.node->is_leaf()) return;
    history->retained = std::make_shared<Tensor>();
    register_hook(*this, [retained = history->retained](const Tensor& grad) {
      *retained = retained->defined() ? retained->add(grad) : grad.clone();
      return Tensor();
    });
  });
}

void Tensor::backward(const BackwardOptions& options, Site site) const {
  pel::backward({*this}, options, site);
}
void Tensor::backward(Site site) const { pel::backward({*this}, {}, site); }

std::uint64_t register_hook(const Tensor& t, GradHook hook, Site site) {
  return as_call("register_hook", site, [&] {
    const History* history = autograd::current_history(t);
    PEL_CHECK(history, ValueError, "{} does not require a gradient", describe(t));
    if (thread_leaf_watch()) thread_leaf_watch()->check_is_inside(t, "registers a hook on");
    const std::uint64_t id = autograd::next_hook_id();
    history->edge.node->hooks().push_back({history->edge.output, id, std::move(hook)});
    return id;
  });
}

void remove_hook(const Tensor& t, std::uint64_t id) {
  if (const History* history = autograd::history_of(t); history && history->edge.node) {
    std::erase_if(history->edge.node->hooks(), [&](const auto& hook) { return hook.id == id; });
  }
}

}  // namespace pel
