// Several processes that work on one program, each of them a rank: which ranks there are, and what they need
// besides the collectives, which are ops (pellucid/ops/collectives.h).
//
//   int main() {
//     pel::dist::Group world = pel::dist::init();       // torchrun, mpirun, srun, or a process alone
//     Tensor sum = pel::all_reduce(x, world);           // the same bits on every rank
//   }
//
// Processes are started by torchrun, mpirun, srun or a shell; docs/distributed.md has a line for each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/array_view.h"
#include "pellucid/tensor.h"

namespace pel::nn {
class Module;
}
namespace pel::optim {
class Optimizer;
}

namespace pel::dist {

// Ranks that make collectives together. A handle: copies are the same group, which lives as long as the
// process.
class PEL_API Group {
 public:
  const std::string& name() const;
  int rank() const;  // of this process in the group; -1: it is not in it
  int size() const;
  bool is_member() const { return rank() >= 0; }
  std::string_view engine() const;  // what moves the bytes: "shm", or "none" in a group of one
  // The last collectives of this rank, up to 64, oldest first: "17 all_reduce f32[1000] at train.cc:29, 12
  // us".
  std::vector<std::string> recent() const;

  // Ops take a group by its name.
  operator std::string_view() const { return name(); }  // NOLINT(google-explicit-constructor)

  struct State;
  explicit Group(State& state) : state_(&state) {}

 private:
  State* state_;
};

// Joins the other ranks of this job, as the environment of the launcher says, and returns the group "world".
// Without a launcher that is a group of one, in which collectives copy. Waits for all ranks, up to the
// timeout: PELLUCID_COMM_TIMEOUT in seconds, or 120. Later calls return the same group.
PEL_API Group init(Site site = Site::current());

// The group of all ranks. A process that a launcher started must have called init().
PEL_API Group world(Site site = Site::current());

// Makes a group of some ranks of the world, given in ascending order. All ranks of the world call it, those
// that are not in it, too, and in the same order.
PEL_API Group new_group(std::string_view name, ArrayView<int> ranks, Site site = Site::current());

int PEL_API local_rank();  // of this process on its machine

struct AccumulateOptions {
  std::int64_t microbatches = 8;  // of the whole batch, on all ranks together; at least one for each rank
};

// Adds up the gradients of a batch that is cut into microbatches, and leaves their mean in the `grad()` of
// the parameters, on every rank. Returns the losses of all microbatches, f32[microbatches], in their order.
//
// loss_of(m) is called for those microbatches that belong to this rank, neighbours in ascending order. It
// computes the loss of microbatch m, a tensor of one element. If that requires a gradient, accumulate() runs
// backward; otherwise loss_of has set the gradients itself, as a compiled function that calls backward()
// does.
//
// Sums follow one binary tree over microbatches, and random ops draw by the state of the default generator at
// the call and by m. So the bits do not depend on the number of ranks, as long as parameters, that state and
// microbatches are the same on all of them. Gradients are added in f32, or f64 for parameters of f64.
PEL_API Tensor accumulate(ArrayView<Tensor> parameters, const Group& group, const AccumulateOptions& options,
                          const std::function<Tensor(std::int64_t microbatch)>& loss_of,
                          Site site = Site::current());

// An optimizer whose state is divided among the ranks of a group (ZeRO, stage 1): each rank steps its own
// elements of the parameters, then all gather them. The bits are those of the optimizer alone.
//
//   dist::ZeroRedundancyOptimizer optimizer(model, world, [](nn::Module& own) {
//     return std::make_unique<optim::AdamW>(own, optim::AdamOptions{.lr = 1e-3});
//   });
//   const Tensor losses = dist::accumulate(optimizer, {.microbatches = 8}, loss_of);
//   optimizer.clip_grad_norm_(1.0);
//   optimizer.step();
class PEL_API ZeroRedundancyOptimizer {
 public:
  // Returns the optimizer of this rank's elements. The parameters of `own` are views of those of the module:
  // they have the same paths and one axis, and may be empty.
  using Make = std::function<std::unique_ptr<optim::Optimizer>(nn::Module& own)>;
  // Takes the parameters that require a gradient, which have row-major memory.
  ZeroRedundancyOptimizer(nn::Module& module, const Group& group, const Make& make,
                          Site site = Site::current());
  ~ZeroRedundancyOptimizer();
  ZeroRedundancyOptimizer(const ZeroRedundancyOptimizer&) = delete;
  ZeroRedundancyOptimizer& operator=(const ZeroRedundancyOptimizer&) = delete;

  optim::Optimizer& local() const;  // of this rank's elements: its learning rate, steps and state
  // As optim::clip_grad_norm_, over the gradients of all ranks.
  Tensor clip_grad_norm_(double max_norm, Site site = Site::current());
  void step(Site site = Site::current());

  struct State;
  State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// As above, for all parameters of the optimizer. Each rank gets the gradients of its own elements alone, in
// the parameters of `own`; those of the module are undefined.
PEL_API Tensor accumulate(ZeroRedundancyOptimizer& optimizer, const AccumulateOptions& options,
                          const std::function<Tensor(std::int64_t microbatch)>& loss_of,
                          Site site = Site::current());

// Where a run is, for its checkpoint. All ranks say the same.
struct Progress {
  std::int64_t step = 0;          // that is next
  std::int64_t microbatches = 8;  // of the whole batch
};

// Saves parameters, buffers, the optimizer's state, the progress and the state of the default generator. All
// ranks call it. Each writes a part, PATH-SAVE-0000k-of-0000n.safetensors; then rank 0 writes the index,
// PATH.safetensors.index.json, by renaming it. A checkpoint is what the index names: without one there is
// none, and until the new one is there, the old one is whole. Its parts are removed afterwards.
//
// An error on one rank is an error on all of them.
PEL_API void save_checkpoint(const std::string& path, const Progress& progress, const nn::Module& module,
                             const optim::Optimizer& optimizer, const Group& group,
                             Site site = Site::current());
PEL_API void save_checkpoint(const std::string& path, const Progress& progress,
                             const ZeroRedundancyOptimizer& optimizer, Site site = Site::current());

// Loads the checkpoint `path` on all ranks, and returns its progress, or nothing if there is no index. Parts
// hold ranges of elements, so any number of ranks can load, with either kind of optimizer.
PEL_API std::optional<Progress> load_checkpoint(const std::string& path, nn::Module& module,
                                                optim::Optimizer& optimizer, const Group& group,
                                                Site site = Site::current());
PEL_API std::optional<Progress> load_checkpoint(const std::string& path, ZeroRedundancyOptimizer& optimizer,
                                                Site site = Site::current());

}  // namespace pel::dist
