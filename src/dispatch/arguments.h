// The arguments of a boxed call, as layers look at them.
#pragma once

#include <vector>

#include "pellucid/extend/op.h"

namespace pel {

inline std::vector<detail::ArgRef> arg_refs(const std::vector<Value>& args) {
  std::vector<detail::ArgRef> refs;
  refs.reserve(args.size());
  for (const Value& arg : args) {
    detail::ArgRef ref{{}, &arg, [](const void* value) { return *static_cast<const Value*>(value); }};
    if (const Tensor* t = std::get_if<Tensor>(&arg)) {
      ref.tensors = ArrayView<Tensor>(t, 1);
    } else if (const auto* list = std::get_if<std::vector<Tensor>>(&arg)) {
      ref.tensors = *list;
    }
    refs.push_back(ref);
  }
  return refs;
}

}  // namespace pel
