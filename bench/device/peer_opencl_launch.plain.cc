// The same launches by hand: all arguments are set, then the kernel is enqueued.
#include "../support/server.h"
#include "bare_opencl.h"
#include "launches.h"

namespace {

constexpr const char* kText = R"(
typedef struct { long offset[3]; long launch; long count; long step[3]; long number[1]; } Call;
kernel void add(global float* out, global const float* a, global const float* b, global int* status, const Call call) {
  const long i = get_global_id(0);
  if (i < call.count) out[i] = a[i * call.step[1]] + b[i * call.step[2]];
})";

}  // namespace

int main(int argc, char** argv) {
  const bench::BareOpenCl opencl;
  cl_kernel const kernel = opencl.kernel("add", kText);
  const std::vector<float> ones(16, 1.0f);
  const cl_mem memory[4] = {opencl.buffer(ones), opencl.buffer(ones), opencl.buffer(ones),
                            opencl.buffer(ones)};
  const long numbers[9] = {0, 0, 0, 0, 16, 1, 1, 1, 0};
  const auto launches = [&] {
    for (int i = 0; i < bench::kLaunches; ++i) {
      for (cl_uint k = 0; k < 4; ++k)
        bench::BareOpenCl::check(opencl.set_arg(kernel, k, sizeof(cl_mem), &memory[k]), "clSetKernelArg");
      bench::BareOpenCl::check(opencl.set_arg(kernel, 4, sizeof numbers, numbers), "clSetKernelArg");
      const std::size_t items = 16, group = 16;
      bench::BareOpenCl::check(
          opencl.enqueue(opencl.queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    }
  };
  const auto queued = [&](std::string_view name) {
    bench::Case timed(name, launches);
    timed.measure = [&opencl, repeat = timed.repeat](std::int64_t iters) {
      double ns = 0;
      for (std::int64_t i = 0; i < iters; ++i) {
        opencl.finish();
        ns += bench::detail::nanoseconds_of(repeat, 1);
      }
      opencl.finish();
      return ns / static_cast<double>(iters);
    };
    return timed;
  };
  return bench::serve(argc, argv, {queued("eager"), queued("replayed")});
}
