// The same by hand, with the tanh() of the language; the driver chooses the size of groups.
#include <random>

#include "../support/server.h"
#include "bare_opencl.h"

namespace {

constexpr const char* kText = R"(
kernel void gelu_mul(global const float* a, global const float* b, global float* out) {
  const size_t i = get_global_id(0);
  const float x = a[i];
  out[i] = 0.5f * x * (1.0f + tanh(0.7978845608f * (x + 0.044715f * x * x * x))) * b[i];
})";

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t kCount = 8192 * 3072;
  const bench::BareOpenCl opencl;
  std::vector<float> values(kCount);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& value : values) value = normal(random);
  const cl_mem memory[3] = {opencl.buffer(values), opencl.buffer(values), opencl.buffer(values)};
  cl_kernel const kernel = opencl.kernel("gelu_mul", kText);
  for (cl_uint k = 0; k < 3; ++k)
    bench::BareOpenCl::check(opencl.set_arg(kernel, k, sizeof(cl_mem), &memory[k]), "clSetKernelArg");
  return bench::serve(argc, argv, {{"gelu_mul", [&] {
                                      bench::BareOpenCl::check(
                                          opencl.enqueue(opencl.queue, kernel, 1, nullptr, &kCount, nullptr,
                                                         0, nullptr, nullptr),
                                          "clEnqueueNDRangeKernel");
                                      opencl.finish();
                                    }}});
}
