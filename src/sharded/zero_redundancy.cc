// An optimizer whose state is divided among ranks.
//
// A rank owns whole blocks of 1024 elements (partition.h). Elementwise steps have the same bits wherever an
// element is; only the norm for clipping adds over elements. Its blocks are added by their owners, and all
// ranks fold the sums of the blocks as a sum over the whole parameter does (decision 0010).
#include "sharded/zero_redundancy.h"

#include <algorithm>
#include <map>

#include "pellucid/autograd.h"
#include "pellucid/ops.h"
#include "pellucid/ops/pointwise.h"

#include "base/check.h"
#include "tensor/make.h"

namespace pel::dist {
namespace {

// The sums of the blocks of 1024 elements, f32. The last block may have fewer.
Tensor sums_of_blocks(const Tensor& x) {
  const std::int64_t count = x.numel().value(), whole = count / kFoldBlock;
  std::vector<Tensor> sums;
  if (whole > 0) sums.push_back(sum(x.narrow(0, 0, whole * kFoldBlock).view({whole, kFoldBlock}), {1}));
  if (count % kFoldBlock != 0)
    sums.push_back(sum(x.narrow(0, whole * kFoldBlock, count % kFoldBlock)).view({1}));
  return sums.empty() ? zeros({0}) : cat(sums);
}

void check_parameters(const ZeroRedundancyOptimizer::State& state) {
  std::map<std::string, Tensor> now;
  for (NamedTensor& each : state.module.named_parameters()) now.emplace(each.path, std::move(each.tensor));
  for (const NamedTensor& each : state.parameters) {
    const auto found = now.find(each.path);
    PEL_CHECK(found != now.end() && found->second.shares_storage(each.tensor), ValueError,
              "parameter {} is another tensor than when the optimizer was made: make it after Module::to and "
              "Module::adopt",
              each.path);
  }
}

// Copies the elements of all ranks into the parameters, which hold those of this rank.
void gather_parameters(const ZeroRedundancyOptimizer::State& state) {
  for (const GradientBucket& bucket : state.buckets) {
    // Those of one dtype travel together: bf16 parameters as bf16, although their gradients are added in f32.
    std::map<DType, std::vector<std::size_t>> by_dtype;  // indices into bucket.of
    for (std::size_t k = 0; k < bucket.of.size(); ++k)
      by_dtype[state.tensors[bucket.of[k]].dtype()].push_back(k);
    for (const auto& [dtype, members] : by_dtype) {
      std::int64_t most = 0;
      for (int r = 0; r < state.group.size(); ++r) {
        std::int64_t elements = 0;
        for (const std::size_t k : members) elements += bucket.partition.of_tensor(k, r).size();
        most = std::max(most, elements);
      }
      if (most == 0) continue;
      const Tensor message = zeros({most}, dtype);
      std::int64_t at = 0;
      for (const std::size_t k : members) {
        const Tensor& own = state.own[bucket.of[k]];
        copy_(message.narrow(0, at, own.numel()), own.detach());
        at += own.numel().value();
      }
      const Tensor all = all_gather(message, state.group);
      for (int r = 0; r < state.group.size(); ++r) {
        at = r * most;
        for (const std::size_t k : members) {
          const ElementRange range = bucket.partition.of_tensor(k, r);
          if (r != state.group.rank() && range.size() > 0)
            copy_(state.tensors[bucket.of[k]].detach().view({-1}).narrow(0, range.begin, range.size()),
                  all.narrow(0, at, range.size()));
          at += range.size();
        }
      }
    }
  }
}

}  // namespace

ZeroRedundancyOptimizer::ZeroRedundancyOptimizer(nn::Module& module, const Group& group, const Make& make,
                                                 Site site) {
  as_call("dist::ZeroRedundancyOptimizer", site, [&] {
    PEL_CHECK(group.is_member(), ValueError, "this process is not in the group {}", group.name());
    state_ = std::make_unique<State>(module, group);
    for (NamedTensor& each : module.named_parameters()) {
      if (!each.tensor.requires_grad()) continue;
      PEL_CHECK(each.tensor.is_contiguous(), ValueError,
                "parameter {} is {} with strides {}; expected row-major memory: pass a contiguous copy",
                each.path, describe(each.tensor), to_string(each.tensor.strides()));
      state_->tensors.push_back(each.tensor);
      state_->parameters.push_back(std::move(each));
    }
    state_->buckets = gradient_buckets(state_->tensors, group.size());
    std::vector<ElementRange> ranges(state_->tensors.size());
    for (const GradientBucket& bucket : state_->buckets) {
      for (std::size_t k = 0; k < bucket.of.size(); ++k)
        ranges[bucket.of[k]] = bucket.partition.of_tensor(k, group.rank());
    }
    const NoGrad no_grad;
    for (std::size_t i = 0; i < state_->tensors.size(); ++i)
      state_->own.add(state_->parameters[i].path,
                      state_->tensors[i].detach().view({-1}).narrow(0, ranges[i].begin, ranges[i].size()));
    state_->optimizer = make(state_->own);
    PEL_CHECK(state_->optimizer != nullptr, ValueError, "the function has made no optimizer");
  });
}

ZeroRedundancyOptimizer::~ZeroRedundancyOptimizer() = default;

optim::Optimizer& ZeroRedundancyOptimizer::local() const { return *state_->optimizer; }

Tensor accumulate(ZeroRedundancyOptimizer& optimizer, const AccumulateOptions& options,
                  const std::function<Tensor(std::int64_t microbatch)>& loss_of, Site site) {
  return as_call("dist::accumulate", site, [&] {
    const ZeroRedundancyOptimizer::State& state = optimizer.state();
    OwnGradients gradients =
        accumulate_own(state.tensors, state.buckets, state.group, options, loss_of, site);
    const NoGrad no_grad;
    for (const Tensor& p : state.tensors) p.set_grad({});
    for (std::size_t b = 0; b < state.buckets.size(); ++b) {
      std::int64_t at = 0;
      for (const std::size_t i : state.buckets[b].of) {
        const Tensor& own = state.own[i];
        const Tensor grad = empty_like(own);
        copy_(grad, gradients.means[b].narrow(0, at, own.numel()));
        own.set_grad(grad);
        at += own.numel().value();
      }
      gradients.means[b] = {};
    }
    return gradients.losses;
  });
}

Tensor ZeroRedundancyOptimizer::clip_grad_norm_(double max_norm, Site site) {
  return as_call("clip_grad_norm_", site, [&] {
    const NoGrad no_grad;
    const detail::DeviceCall line(site);
    const std::size_t count = state_->tensors.size();
    if (count == 0) return zeros({});
    // The sum of the squares of each parameter, from those of its blocks on all ranks.
    std::vector<Tensor> squares(count);
    for (const GradientBucket& bucket : state_->buckets) {
      std::vector<Tensor> own;
      for (const std::size_t i : bucket.of) {
        const Tensor grad = state_->own[i].grad();
        PEL_CHECK(grad.defined(), ValueError,
                  "parameter {} has no gradient: call dist::accumulate with this optimizer before",
                  state_->parameters[i].path);
        own.push_back(sums_of_blocks(square(grad.to(kF32))));
      }
      const auto blocks_of = [&](std::size_t k, int rank) {
        return (bucket.partition.of_tensor(k, rank).size() + kFoldBlock - 1) / kFoldBlock;
      };
      std::int64_t most = 0;
      for (int r = 0; r < state_->group.size(); ++r) {
        std::int64_t blocks = 0;
        for (std::size_t k = 0; k < bucket.of.size(); ++k) blocks += blocks_of(k, r);
        most = std::max(most, blocks);
      }
      const Tensor message = zeros({most}), of_rank = cat(own);
      copy_(message.narrow(0, 0, of_rank.numel()), of_rank);
      const Tensor all = all_gather(message, state_->group);
      std::vector<std::vector<Tensor>> blocks(bucket.of.size());
      for (int r = 0; r < state_->group.size(); ++r) {
        std::int64_t at = r * most;
        for (std::size_t k = 0; k < bucket.of.size(); ++k) {
          blocks[k].push_back(all.narrow(0, at, blocks_of(k, r)));
          at += blocks_of(k, r);
        }
      }
      for (std::size_t k = 0; k < bucket.of.size(); ++k) squares[bucket.of[k]] = sum(cat(blocks[k]));
    }
    const Tensor norm = sqrt(sum(stack(squares)));
    const Tensor factor = clamp_max(max_norm / (norm + 1e-6), 1.0);
    for (std::size_t i = 0; i < count; ++i) mul_(state_->own[i].grad(), factor);
    return norm;
  });
}

void ZeroRedundancyOptimizer::step(Site site) {
  as_call("step", site, [&] {
    const NoGrad no_grad;
    const detail::DeviceCall line(site);
    check_parameters(*state_);
    state_->optimizer->step(site);
    if (state_->group.size() > 1) gather_parameters(*state_);
  });
}

}  // namespace pel::dist
