// Says what kCuda is here, and times it: a line of JSON for each. With --small sizes are those that an
// interpreter of PTX can run.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <pellucid/pellucid.h>

namespace {

using pel::kCuda;
using pel::Tensor;

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += c == '\n' ? ' ' : c;
  }
  return made + '"';
}

// The driver of the tests has a function that no other driver has.
bool is_test_driver() {
  const char* const path = std::getenv("PELLUCID_CUDA_DRIVER");
  void* const driver =
      dlopen(path == nullptr || *path == '\0' ? "libcuda.so.1" : path, RTLD_NOW | RTLD_NOLOAD);
  return driver != nullptr && dlsym(driver, "pel_test_driver_log") != nullptr;
}

// The median time of a call in nanoseconds, with the wait for its kernels once for all calls of a burst.
double measured_ns(const std::function<void()>& f, int calls, int bursts) {
  f();
  f();  // a compiled function is captured
  pel::synchronize(kCuda);
  std::vector<double> times;
  for (int burst = 0; burst < bursts; ++burst) {
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) f();
    pel::synchronize(kCuda);
    times.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count() / calls);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_small = argc > 1 && std::string_view(argv[1]) == "--small";
  for (const pel::DeviceInfo& info : pel::devices()) {
    if (info.device != kCuda) continue;
    std::printf("{\"name\": %s, \"refusal\": %s, \"ran_on\": \"%s\"}\n", quoted(info.name).c_str(),
                quoted(info.refusal).c_str(),
                !info.refusal.empty() ? "nothing"
                : is_test_driver()    ? "test driver"
                                      : "hardware");
    std::fflush(stdout);
    if (!info.refusal.empty()) return 0;
  }
  const pel::NoGrad no_grad;
  pel::manual_seed(1);
  const int calls = is_small ? 2 : 100, bursts = is_small ? 1 : 11;
  // `work` is bytes that must move, or operations.
  const auto report = [&](const char* what, const char* unit, double work, const std::function<void()>& f) {
    const double ns = measured_ns(f, calls, bursts);
    std::printf("{\"what\": \"%s\", \"ns\": %.0f, \"unit\": \"%s\", \"rate\": %.4g}\n", what, ns, unit,
                work == 0 ? 0.0 : work / ns);
    std::fflush(stdout);
  };
  const std::int64_t rows = is_small ? 4 : 8192, columns = is_small ? 64 : 3072;
  const Tensor a = pel::randn({rows, columns}).to(kCuda), b = pel::randn({rows, columns}).to(kCuda);
  const auto elements = static_cast<double>(rows * columns);
  const Tensor tiny = pel::ones({4, 4}).to(kCuda);
  report("add of 4 x 4", "", 0, [&] { static_cast<void>(tiny + tiny); });
  const auto chain = pel::compile([](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = pel::softmax(y, i % 2);
    return y;
  });
  report("a compiled function of 20 kernels on 4 x 4", "", 0, [&] { static_cast<void>(chain(tiny)); });
  const auto gelu_mul = pel::compile(
      [](const Tensor& x, const Tensor& y) { return pel::gelu(x, pel::GeluApproximate::Tanh) * y; });
  report("gelu(a) b, compiled", "GB/s", 12 * elements, [&] { static_cast<void>(gelu_mul(a, b)); });
  report("softmax over rows", "GB/s", 8 * elements, [&] { static_cast<void>(pel::softmax(a, -1)); });
  report("sum of all", "GB/s", 4 * elements, [&] { static_cast<void>(a.sum()); });
  const std::int64_t size = is_small ? 16 : 1024;
  const Tensor m = pel::randn({size, size}).to(kCuda);
  report("matmul f32", "GFLOP/s", 2.0 * static_cast<double>(size * size * size),
         [&] { static_cast<void>(pel::matmul(m, m)); });
  const Tensor half = m.to(pel::kBF16);
  report("matmul bf16", "GFLOP/s", 2.0 * static_cast<double>(size * size * size),
         [&] { static_cast<void>(pel::matmul(half, half)); });
  const Tensor host = pel::randn({rows, columns});
  report("copy to the device", "GB/s", 4 * elements, [&] { static_cast<void>(host.to(kCuda)); });
  report("copy to the host", "GB/s", 4 * elements, [&] { static_cast<void>(a.to(pel::kCpu)); });
  return 0;
}
