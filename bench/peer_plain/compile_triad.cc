// The better of two plain loops for out = a + b, with stores through the caches and past them, over as many
// bytes as gelu(a) * b reads and writes.
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <immintrin.h>
#include <sys/mman.h>

#include "../lazy.h"
#include "../server.h"

namespace {

constexpr std::int64_t kElements = 8192 * 3072;

// On huge pages, as the allocator of the other side has it.
float* make(float value) {
  constexpr std::size_t kBytes = kElements * sizeof(float), kHuge = 2 << 20;
  auto* data = static_cast<float*>(std::aligned_alloc(kHuge, (kBytes + kHuge - 1) / kHuge * kHuge));
  madvise(data, kBytes, MADV_HUGEPAGE);
  for (std::int64_t i = 0; i < kElements; ++i) data[i] = value;
  return data;
}

struct Arrays {
  float *out = make(0), *a = make(1.5f), *b = make(2.5f);
};
using Loop = void (*)(const Arrays&, std::int64_t begin, std::int64_t end);

__attribute__((target("avx512f"))) void with_stores(const Arrays& in, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += 16)
    _mm512_store_ps(in.out + i, _mm512_add_ps(_mm512_load_ps(in.a + i), _mm512_load_ps(in.b + i)));
}
__attribute__((target("avx512f"))) void with_streaming_stores(const Arrays& in, std::int64_t begin,
                                                              std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += 16)
    _mm512_stream_ps(in.out + i, _mm512_add_ps(_mm512_load_ps(in.a + i), _mm512_load_ps(in.b + i)));
  _mm_sfence();
}

// A thread takes 30 us to start, a loop 5 ms and more.
void run(Loop loop, const Arrays& in, std::int64_t count, int threads) {
  if (threads == 1) return loop(in, 0, count);
  std::thread other(loop, std::cref(in), count / 2, count);
  loop(in, 0, count / 2);
  other.join();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Lazy arrays([] { return Arrays(); });
  std::vector<bench::Case> cases;
  for (const auto& [dtype_name, bytes] : {std::pair{"f32", 4}, std::pair{"bf16", 2}}) {
    const std::int64_t count = kElements * bytes / 4;  // floats
    for (const int threads : {1, 2}) {
      const std::string name = "gelu_mul_" + std::string(dtype_name) + "_" + std::to_string(threads) + "t";
      bench::Case& added =
          cases.emplace_back(name, [=] { run(with_streaming_stores, arrays(), count, threads); });
      added.measure = [=, streaming = added.repeat](std::int64_t iters) {
        const auto cached = [&](std::int64_t times) {
          for (std::int64_t i = 0; i < times; ++i) run(with_stores, arrays(), count, threads);
        };
        return std::min(bench::detail::nanoseconds_of(cached, iters),
                        bench::detail::nanoseconds_of(streaming, iters));
      };
    }
  }
  return bench::serve(argc, argv, cases);
}
