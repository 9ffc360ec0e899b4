#include "compile/fake_run.h"

#include "compile/effects.h"
#include "tensor/make.h"

namespace pel::compiler {

const Tensor& FakeRun::operator[](ValueId id) {
  Tensor& tensor = run_[id];
  if (tensor.defined()) return tensor;
  const GraphValue& value = graph_[id];
  DimVector sizes, strides;
  for (const Dim size : value.sizes) sizes.push_back(run_.number(size));
  for (const Dim stride : value.strides) strides.push_back(run_.number(stride));
  tensor = make_strided(sizes, strides, value.dtype, value.device);
  return tensor;
}

std::vector<RecordedLaunch> FakeRun::call(const GraphNode& node) {
  const KeyScope unseen({}, Key::Profile);
  for (const GraphArg& arg : node.args) for_values(arg, [&](ValueId id) { (*this)[id]; });
  if (draws_random(node)) {
    GraphNode named = node;
    name_stream(*node.op, named.args);
    run_.call(named);
  } else {
    run_.call(node);
  }
  return recording_.take();
}

}  // namespace pel::compiler
