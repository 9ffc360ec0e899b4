// The fastest plain loops for out = a + b: with regular stores and with non-temporal stores.
#include <cstdlib>
#include <memory>

#include <immintrin.h>
#include <sys/mman.h>

#include "../support/server.h"

namespace {

constexpr std::int64_t kCount = 8192 * 3072;

// On huge pages, like the allocator of the other side.
float* make(float value) {
  constexpr std::size_t kBytes = kCount * sizeof(float), kHuge = 2 << 20;
  auto* data = static_cast<float*>(std::aligned_alloc(kHuge, (kBytes + kHuge - 1) / kHuge * kHuge));
  madvise(data, kBytes, MADV_HUGEPAGE);
  for (std::int64_t i = 0; i < kCount; ++i) data[i] = value;
  return data;
}

__attribute__((target("avx512f"))) void with_stores(float* out, const float* a, const float* b) {
  for (std::int64_t i = 0; i < kCount; i += 16)
    _mm512_store_ps(out + i, _mm512_add_ps(_mm512_load_ps(a + i), _mm512_load_ps(b + i)));
}
__attribute__((target("avx512f"))) void with_streaming_stores(float* out, const float* a, const float* b) {
  for (std::int64_t i = 0; i < kCount; i += 16)
    _mm512_stream_ps(out + i, _mm512_add_ps(_mm512_load_ps(a + i), _mm512_load_ps(b + i)));
  _mm_sfence();
}

}  // namespace

int main(int argc, char** argv) {
  float *a = make(1.5f), *b = make(2.5f), *out = make(0);
  return bench::serve(argc, argv,
                      {{"against_stores", [&] { with_stores(out, a, b); }},
                       {"against_streaming_stores", [&] { with_streaming_stores(out, a, b); }}});
}
