#include <unordered_map>

#include "pellucid/autograd.h"
#include "pellucid/nn/modules.h"
#include "pellucid/ops.h"

#include "base/check.h"

namespace pel::nn {

void Module::add(std::string name, Module& inner) {
  inner_.push_back({std::move(name), &inner});
  inner.outer_ = this;
  inner.forget_path();
}

void Module::forget_path() {
  path_ = nullptr;
  for (const Inner& inner : inner_) inner.module->forget_path();
}

const char* Module::path() const {
  if (const char* known = path_.load(std::memory_order_relaxed)) return known;
  std::string text = "model";
  if (outer_ != nullptr) {
    for (const Inner& inner : outer_->inner_) {
      if (inner.module == this) text = (outer_->outer_ ? outer_->path() + std::string(".") : "") + inner.name;
    }
  }
  const char* found = interned(text);
  path_.store(found, std::memory_order_relaxed);
  return found;
}

void Module::add_parameter(std::string name, Tensor& member, Tensor value) {
  member = std::move(value);
  member.requires_grad_();
  slots_.push_back({std::move(name), &member, true});
}

void Module::add_buffer(std::string name, Tensor& member, Tensor value) {
  member = std::move(value);
  slots_.push_back({std::move(name), &member, false});
}

void Module::walk(const std::string& path,
                  const std::function<void(const std::string&, const Slot&)>& f) const {
  for (const Slot& slot : slots_) f(path + slot.name, slot);
  for (const Inner& inner : inner_) inner.module->walk(path + inner.name + ".", f);
}

std::vector<NamedTensor> Module::named(bool parameters) const {
  std::vector<NamedTensor> found;
  walk("", [&](const std::string& path, const Slot& slot) {
    if (slot.is_parameter == parameters && slot.tensor->defined()) found.push_back({path, *slot.tensor});
  });
  return found;
}

std::vector<NamedTensor> Module::named_parameters() const { return named(true); }
std::vector<NamedTensor> Module::named_buffers() const { return named(false); }

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> tensors;
  for (NamedTensor& each : named(true)) tensors.push_back(std::move(each.tensor));
  return tensors;
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const Tensor& t : parameters()) count += t.numel().value();
  return count;
}

void Module::take_all(ArrayView<NamedTensor> values, const Take& take) {
  std::unordered_map<std::string_view, const Tensor*> by_path;
  for (const NamedTensor& value : values)
    PEL_CHECK(by_path.emplace(value.path, &value.tensor).second, ValueError, "there are two values for {}",
              value.path);
  std::vector<std::pair<const Slot*, const Tensor*>> pairs;
  walk("", [&](const std::string& path, const Slot& slot) {
    if (!slot.tensor->defined()) return;
    const auto found = by_path.find(path);
    PEL_CHECK(found != by_path.end(), ValueError, "there is no value for {}", path);
    PEL_CHECK(to_string(found->second->sizes()) == to_string(slot.tensor->sizes()), ShapeError,
              "{} has sizes {}, but its new value has sizes {}", path, to_string(slot.tensor->sizes()),
              to_string(found->second->sizes()));
    pairs.emplace_back(&slot, found->second);
    by_path.erase(found);
  });
  for (const NamedTensor& value : values)  // reports the first in the order of `values`
    PEL_CHECK(!by_path.contains(value.path), ValueError, "the module has no parameter or buffer {}",
              value.path);
  const NoGrad no_grad;
  for (const auto& [slot, value] : pairs) take(*slot, *value);
}

void Module::load(ArrayView<NamedTensor> values, Site site) {
  as_call("load", site, [&] {
    take_all(values, [](const Slot& slot, const Tensor& value) { slot.tensor->copy_(value); });
  });
}

void Module::adopt(ArrayView<NamedTensor> values, Site site) {
  as_call("adopt", site, [&] {
    take_all(values, [](const Slot& slot, const Tensor& value) { *slot.tensor = value.detach(); });
  });
}

void Module::train(Training training) {
  training_ = training;
  for (const Inner& inner : inner_) inner.module->train(training);
}

void Module::zero_grad() {
  for (const Tensor& t : parameters()) {
    if (t.requires_grad()) t.set_grad(Tensor());
  }
}

void Module::to(DType dtype) {
  walk("", [&](const std::string&, const Slot& slot) {
    if (!slot.tensor->defined() || !is_floating(slot.tensor->dtype())) return;
    const bool requires_grad = slot.tensor->requires_grad();
    *slot.tensor = slot.tensor->detach().to(dtype);
    if (requires_grad) slot.tensor->requires_grad_();
  });
}

}  // namespace pel::nn
