// What torch.profiler adds to one tiny call, with shapes, on the CPU only.
#include <cstdlib>
#include <set>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/profiler.h>

#include "../support/server.h"

namespace {

class Recording {
 public:
  Recording() {
    using torch::profiler::impl::ActivityType, torch::profiler::impl::ProfilerConfig;
    const ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO, /*report_input_shapes=*/true);
    const std::set<ActivityType> activities = {ActivityType::CPU};
    torch::autograd::profiler::prepareProfiler(config, activities);
    torch::autograd::profiler::enableProfiler(config, activities);
  }
  ~Recording() { torch::autograd::profiler::disableProfiler(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

}  // namespace

int main(int argc, char** argv) {
  using bench::added_by, bench::Case;
  setenv("KINETO_LOG_LEVEL", "6", 1);  // otherwise each recording prints two lines to stderr
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const at::Tensor matrix = at::ones({4, 4});
  const at::Tensor vector = at::ones({4});
  return bench::serve(
      argc, argv,
      {{
          added_by<Recording>(Case("t", [&] { return matrix.t(); })),
          added_by<Recording>(Case("add", [&] { return at::add(matrix, matrix); })),
          added_by<Recording>(Case("relu", [&] { return at::relu(matrix); })),
          added_by<Recording>(Case("addmm", [&] { return at::addmm(vector, matrix, matrix); })),
          added_by<Recording>(Case("linear", [&] { return at::linear(matrix, matrix, vector); })),
      }});
}
