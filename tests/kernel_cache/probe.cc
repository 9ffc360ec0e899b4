// A program that compiles, for kernel_cache.py. Prints "bits HASH" of the results and "loaded N compiled N
// stored N", and exits with 1 if a compiled result differs from the eager one.
//   probe run [COUNT]     an MLP, and COUNT chains of ops
//   probe forever         writes entries of one megabyte until it is killed
//   probe flips           flips each byte of the only entry, one at a time, and compiles
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pellucid/cache.h"
#include "pellucid/compile.h"
#include "pellucid/pellucid.h"

#include "codegen/cache/kernel_cache.h"

namespace {

using namespace pel;

std::uint64_t hash = 0xcbf29ce484222325;

std::vector<double> numbers(const Tensor& tensor) {
  const Tensor wide = tensor.to(kF64).contiguous();
  return {wide.data<double>(), wide.data<double>() + wide.numel().value()};
}

void add(const std::vector<double>& values) {
  for (const double value : values) hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3;
}

template <class F>
bool compare(F f, const Tensor& input) {
  const auto compiled = compile(f);
  const std::vector<double> fast = numbers(compiled(input));
  add(fast);
  return fast == numbers(f(input));
}

Tensor input(DType dtype) { return linspace(-3, 3, 96, dtype).view({8, 12}); }

// Kernels take numbers as arguments, so functions that differ in numbers share kernels: these differ in ops.
bool chain(std::int64_t number) {
  return compare(
      [number](const Tensor& x) {
        Tensor y = x;
        for (int bit = 0; bit < 12; ++bit) y = number >> bit & 1 ? tanh(y) : sigmoid(y);
        return y;
      },
      input(kF32));
}

bool product() {
  return compare([](const Tensor& x) { return x * x + x; }, input(kF32));
}

// Copies to padded memory call memcpy, remainders call fmod.
bool mlp() {
  bool is_same = true;
  for (const DType dtype : {kF32, kBF16}) {
    is_same &= compare([](const Tensor& x) { return softmax(gelu(x) * x + 1, -1); }, input(dtype));
    is_same &= compare([](const Tensor& x) { return fmod(x, 0.7) * sigmoid(x); }, input(dtype));
  }
  return is_same;
}

int run(int count) {
  bool is_same = mlp();
  for (int i = 0; i < count; ++i) is_same &= chain(i);
  const CacheCounts counts = KernelCache::counts();
  std::printf("bits %016llx\nloaded %lld compiled %lld stored %lld\n", static_cast<unsigned long long>(hash),
              static_cast<long long>(counts.loaded), static_cast<long long>(counts.compiled),
              static_cast<long long>(counts.stored));
  return is_same ? 0 : 1;
}

int forever() {
  codegen::CodeImage image;
  image.bytes.assign(std::size_t{1} << 20, '\x90');
  image.code_bytes = codegen::CodeImage::kPage;
  image.functions.push_back({"nothing", 0});
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  for (std::int64_t number = now;; ++number) {
    codegen::store_cached(codegen::digest(std::to_string(number)), image);
    if (number == now) std::printf("writing\n");
    std::fflush(stdout);
  }
}

int flips() {
  if (!product()) return 1;
  const std::string path = *KernelCache::directory() + "/" + KernelCache::entries().at(0).name;
  std::string content;
  {
    std::ifstream file(path, std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::int64_t compiled = 0;
  for (std::size_t i = 0; i < content.size(); ++i) {
    std::string damaged = content;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    std::ofstream(path, std::ios::binary) << damaged;
    const std::int64_t before = KernelCache::counts().compiled;
    if (KernelCache::entries().at(0).problem.empty() || !product()) return 1;
    compiled += KernelCache::counts().compiled - before;
  }
  std::printf("%zu bytes flipped, %lld compiled again\n", content.size(), static_cast<long long>(compiled));
  return compiled == static_cast<std::int64_t>(content.size()) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "run";
  if (mode == "flips") return flips();
  if (mode == "forever") return forever();
  return run(argc > 2 ? std::atoi(argv[2]) : 0);
}
