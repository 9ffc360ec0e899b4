// The inside of a ZeroRedundancyOptimizer.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "pellucid/distributed.h"
#include "pellucid/nn/modules.h"
#include "pellucid/optim.h"

#include "distributed/accumulate.h"

namespace pel::dist {

// This rank's elements of the parameters, as parameters of the same paths.
class OwnElements : public nn::Module {
 public:
  void add(const std::string& path, const Tensor& elements) {
    add_parameter(path, tensors_.emplace_back(), elements);
  }
  const Tensor& operator[](std::size_t parameter) const { return tensors_[parameter]; }

 private:
  std::deque<Tensor> tensors_;  // the module refers to them by address
};

struct ZeroRedundancyOptimizer::State {
  State(nn::Module& of, const Group& among) : module(of), group(among) {}

  nn::Module& module;
  Group group;
  std::vector<NamedTensor> parameters;  // of the module
  std::vector<Tensor> tensors;          // the same
  std::vector<GradientBucket> buckets;
  OwnElements own;
  std::unique_ptr<optim::Optimizer> optimizer;
};

}  // namespace pel::dist
