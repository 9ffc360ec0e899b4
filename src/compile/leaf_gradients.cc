#include "compile/leaf_gradients.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

// The node of a leaf; null if the tensor is not one.
const autograd::Node* leaf_of(const Tensor& t) {
  if (!t.requires_grad()) return nullptr;
  const autograd::Node* const node = autograd::current_history(t)->edge.node.get();
  return node->is_leaf() ? node : nullptr;
}

}  // namespace

InputGradient gradient_kind(const Tensor& input) {
  if (!input.requires_grad()) return InputGradient::None;
  return input.is_leaf() ? InputGradient::Leaf : InputGradient::Inner;
}

std::string_view gradient_words(InputGradient kind) {
  switch (kind) {
    case InputGradient::None:
      return "requires no gradient";
    case InputGradient::Leaf:
      return "is a leaf that requires a gradient";
    case InputGradient::Inner:
      break;
  }
  return "has a gradient history";
}

autograd::LeafNode& LeafGradient::in(ArrayView<Tensor> inputs) const {
  return static_cast<autograd::LeafNode&>(leaf ? *leaf : *autograd::history_of(inputs[input])->edge.node);
}

bool LeafGradients::fit(ArrayView<Tensor> inputs, std::string* reason) const {
  for (const auto& [tensor, leaf] : held) {
    if (leaf_of(tensor) == leaf) continue;
    if (reason != nullptr)
      *reason =
          fmt::format("{}, which the function captures by reference, {}, unlike at capture", describe(tensor),
                      leaf == nullptr ? "requires a gradient" : "is not the leaf that it was");
    return false;
  }
  for (const LeafGradient& each : list) {
    if (each.at_begin == LeafGradient::AtBegin::Unread) continue;
    const autograd::LeafNode& leaf = each.in(inputs);
    const bool was_defined = each.at_begin == LeafGradient::AtBegin::Read;
    if (leaf.grad.defined() == was_defined) continue;
    if (reason != nullptr)
      *reason = fmt::format("a leaf of sizes {} has {} gradient, unlike at capture",
                            to_string(Dims(leaf.info(0).sizes)), was_defined ? "no" : "a");
    return false;
  }
  return true;
}

std::vector<Tensor> LeafGradients::read(ArrayView<Tensor> inputs) const {
  std::vector<Tensor> found;
  for (const LeafGradient& each : list)
    if (each.at_begin == LeafGradient::AtBegin::Read) found.push_back(each.in(inputs).grad);
  return found;
}

std::vector<Tensor> LeafGradients::after(ArrayView<Tensor> inputs) const {
  std::vector<Tensor> all = inputs.vec();
  const std::vector<Tensor> gradients = read(inputs);
  all.insert(all.end(), gradients.begin(), gradients.end());
  return all;
}

void LeafGradients::release(ArrayView<Tensor> inputs) const {
  for (const LeafGradient& each : list)
    if (each.at_begin == LeafGradient::AtBegin::Unread) each.in(inputs).grad = Tensor();
}

void LeafGradients::store(ArrayView<Tensor> inputs, std::vector<Tensor>& outputs) const {
  const auto is_set = [](const LeafGradient& each) { return each.at_end == LeafGradient::AtEnd::Set; };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(list, is_set));
  std::size_t next = outputs.size() - count;
  for (const LeafGradient& each : list) {
    if (is_set(each)) each.in(inputs).grad = std::move(outputs[next++]);
    if (each.at_end == LeafGradient::AtEnd::Cleared) each.in(inputs).grad = Tensor();
  }
  outputs.resize(outputs.size() - count);
}

bool LeafGradients::operator==(const LeafGradients& other) const {
  const auto same = [](const LeafGradient& a, const LeafGradient& b) {
    return a.leaf.get() == b.leaf.get() && a.input == b.input && a.at_begin == b.at_begin &&
           a.at_end == b.at_end;
  };
  return std::ranges::equal(list, other.list, same);
}

}  // namespace pel::compiler
