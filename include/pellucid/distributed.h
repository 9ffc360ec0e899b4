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
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/array_view.h"
#include "pellucid/tensor.h"

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

}  // namespace pel::dist
