// Gradients of a batch, by one binary tree over its microbatches.
//
// Microbatch m is leaf m. A rank owns neighbouring leaves, and adds the two halves of a node as soon as it
// has both: it holds at most log2(M) + 1 sums, and ends with those of the largest whole nodes in its range.
// Each rank then gets these for a part of the elements, finishes the tree there, and all gather the parts.
// Every addition is one of the tree, whichever rank makes it.
#include "distributed/accumulate.h"

#include <algorithm>
#include <optional>

#include "pellucid/autograd.h"
#include "pellucid/distributed.h"
#include "pellucid/extend/keys.h"
#include "pellucid/generator.h"
#include "pellucid/ops.h"

#include "base/check.h"
#include "tensor/make.h"

namespace pel::dist {
namespace {

// The sum over the leaves [index << level, (index + 1) << level).
struct TreeNode {
  int level;
  std::int64_t index;
  Tensor sum;
};

// Nodes are added from left to right.
class TreeSum {
 public:
  void add(TreeNode node) {
    while (!nodes_.empty() && nodes_.back().level == node.level && (node.index & 1) != 0 &&
           nodes_.back().index == node.index - 1) {
      add_(nodes_.back().sum, node.sum);
      node = {node.level + 1, node.index >> 1, nodes_.back().sum};
      nodes_.pop_back();
    }
    nodes_.push_back(std::move(node));
  }
  const std::vector<TreeNode>& nodes() const { return nodes_; }
  // Nodes without a neighbour are added from the right, once all leaves are there.
  Tensor total() const {
    Tensor sum = nodes_.back().sum;
    for (std::size_t i = nodes_.size() - 1; i-- > 0;) sum = pel::add(nodes_[i].sum, sum);
    return sum;
  }

 private:
  std::vector<TreeNode> nodes_;
};

struct Leaves {
  std::int64_t begin, end;
};
Leaves leaves_of(std::int64_t rank, std::int64_t ranks, std::int64_t count) {
  return {rank * count / ranks, (rank + 1) * count / ranks};
}
// The largest whole nodes in a range of leaves, from left to right.
std::vector<TreeNode> nodes_in(Leaves leaves) {
  std::vector<TreeNode> nodes;
  for (std::int64_t at = leaves.begin; at < leaves.end;) {
    int level = 0;
    while (at % (std::int64_t{2} << level) == 0 && at + (std::int64_t{2} << level) <= leaves.end) ++level;
    nodes.push_back({level, at >> level, {}});
    at += std::int64_t{1} << level;
  }
  return nodes;
}

Tensor flatten(ArrayView<Tensor> parameters, const GradientBucket& bucket) {
  std::vector<Tensor> parts;
  for (const std::size_t i : bucket.of) {
    const Tensor grad = parameters[i].grad();
    parts.push_back(grad.defined() ? reshape(grad, {-1}).to(bucket.dtype)
                                   : zeros({parameters[i].numel()}, bucket.dtype));
  }
  return cat(parts);
}

// The sums over all leaves of the elements that this rank owns, from the nodes of all ranks.
Tensor own_sums(const TreeSum& tree, const GradientBucket& bucket, const Group& group, std::int64_t count) {
  const int ranks = group.size();
  if (ranks == 1) return tree.total();
  const Partition& partition = bucket.partition;
  const std::int64_t largest = partition.largest(), own = partition.of_rank(group.rank()).size();
  std::vector<std::vector<TreeNode>> nodes;
  std::size_t most = 0;
  for (int r = 0; r < ranks; ++r) {
    nodes.push_back(nodes_in(leaves_of(r, ranks, count)));
    most = std::max(most, nodes.back().size());
  }
  for (std::size_t k = 0; k < most; ++k) {
    // A rank with fewer nodes than others gives zeros that nobody reads, as is what fills up a part.
    const Tensor message = zeros({largest * ranks}, bucket.dtype);
    for (int r = 0; r < ranks && k < tree.nodes().size(); ++r) {
      const ElementRange part = partition.of_rank(r);
      copy_(message.narrow(0, r * largest, part.size()),
            tree.nodes()[k].sum.narrow(0, part.begin, part.size()));
    }
    const Tensor received = all_to_all(message, group);
    for (int r = 0; r < ranks; ++r) {
      auto& of_rank = nodes[static_cast<std::size_t>(r)];
      if (k < of_rank.size()) of_rank[k].sum = received.narrow(0, r * largest, own);
    }
  }
  TreeSum sums;
  for (auto& of_rank : nodes)
    for (TreeNode& node : of_rank) sums.add(std::move(node));
  return sums.total();
}

// Numbers of random ops: of each microbatch its own, and afterwards as after one draw.
class Draws {
 public:
  Draws() : before_(default_generator().state()), base_(Generator(before_).fork()) {}
  ~Draws() { default_generator().set_state({before_.seed, before_.offset + 1}); }
  Draws(const Draws&) = delete;
  Draws& operator=(const Draws&) = delete;
  void begin(std::int64_t microbatch) const {
    default_generator() = Generator({base_.seed(), static_cast<std::uint64_t>(microbatch)}).fork();
  }

 private:
  Generator::State before_;
  Generator base_;
};

// The losses of all microbatches, of which `own` has those of this rank.
Tensor gather_losses(const Tensor& own, const Group& group, std::int64_t count) {
  if (group.size() == 1) return own;
  const Tensor all = all_gather(own, group);
  std::vector<Tensor> parts;
  for (int r = 0; r < group.size(); ++r) {
    const Leaves leaves = leaves_of(r, group.size(), count);
    parts.push_back(all.narrow(0, r * count + leaves.begin, leaves.end - leaves.begin));
  }
  return cat(parts);
}

}  // namespace

std::vector<GradientBucket> gradient_buckets(ArrayView<Tensor> parameters, int ranks) {
  std::vector<GradientBucket> buckets;
  for (const DType dtype : {kF32, kF64}) {
    std::vector<std::size_t> of;
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Tensor& p = parameters[i];
      PEL_CHECK(p.defined() && p.requires_grad(), ValueError, "parameter {} does not require a gradient", i);
      if ((p.dtype() == kF64) != (dtype == kF64)) continue;
      of.push_back(i);
      counts.push_back(p.numel().value());
    }
    if (!of.empty()) buckets.push_back({dtype, std::move(of), Partition(counts, ranks)});
  }
  return buckets;
}

OwnGradients accumulate_own(ArrayView<Tensor> parameters, const std::vector<GradientBucket>& buckets,
                            const Group& group, const AccumulateOptions& options,
                            const std::function<Tensor(std::int64_t microbatch)>& loss_of, Site site) {
  const std::int64_t count = options.microbatches;
  PEL_CHECK(!detail::active_keys(0).contains(Key::Capture), CaptureError,
            "it chooses microbatches and random numbers at each call; compile the function that it calls "
            "instead");
  PEL_CHECK(count >= group.size(), ValueError,
            "{} microbatches are too few for {} ranks: each needs one at least", count, group.size());
  const detail::DeviceCall line(site);
  const Draws draws;
  const Leaves own = leaves_of(group.rank(), group.size(), count);
  const Tensor losses = zeros({count});
  std::vector<TreeSum> trees(buckets.size());
  for (std::int64_t m = own.begin; m < own.end; ++m) {
    for (const Tensor& p : parameters) p.set_grad({});
    draws.begin(m);
    const Tensor loss = loss_of(m);
    PEL_CHECK(loss.defined() && loss.numel() == 1, ValueError,
              "the loss of microbatch {} is not one number, but {}", m,
              loss.defined() ? describe(loss) : "an undefined tensor");
    if (loss.requires_grad()) loss.backward();
    const NoGrad no_grad;
    copy_(losses.narrow(0, m, 1), reshape(loss.detach(), {1}));
    for (std::size_t b = 0; b < buckets.size(); ++b) trees[b].add({0, m, flatten(parameters, buckets[b])});
  }
  const NoGrad no_grad;
  OwnGradients gradients;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    gradients.means.push_back(
        mul(own_sums(trees[b], buckets[b], group, count), 1 / static_cast<double>(count)));
    trees[b] = {};
  }
  gradients.losses = gather_losses(losses, group, count);
  return gradients;
}

Tensor gather_parts(const Tensor& own, const Partition& partition, const Group& group) {
  if (group.size() == 1) return own;
  const std::int64_t most = partition.largest();
  const Tensor filled_up = zeros({most}, own.dtype());
  copy_(filled_up.narrow(0, 0, own.numel()), own);
  const Tensor all = all_gather(filled_up, group);
  std::vector<Tensor> parts;
  for (int r = 0; r < group.size(); ++r)
    parts.push_back(all.narrow(0, r * most, partition.of_rank(r).size()));
  return cat(parts);
}

Tensor accumulate(ArrayView<Tensor> parameters, const Group& group, const AccumulateOptions& options,
                  const std::function<Tensor(std::int64_t microbatch)>& loss_of, Site site) {
  return as_call("dist::accumulate", site, [&] {
    PEL_CHECK(group.is_member(), ValueError, "this process is not in the group {}", group.name());
    const std::vector<GradientBucket> buckets = gradient_buckets(parameters, group.size());
    const OwnGradients gradients = accumulate_own(parameters, buckets, group, options, loss_of, site);
    const detail::DeviceCall line(site);
    const NoGrad no_grad;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const Tensor mean = gather_parts(gradients.means[b], buckets[b].partition, group);
      std::int64_t at = 0;
      for (const std::size_t i : buckets[b].of) {
        const Tensor& p = parameters[i];
        const std::int64_t elements = p.numel().value();
        const Tensor grad = empty_like(p);
        copy_(grad, reshape(mean.narrow(0, at, elements), p.sizes()));
        p.set_grad(grad);
        at += elements;
      }
    }
    return gradients.losses;
  });
}

}  // namespace pel::dist
