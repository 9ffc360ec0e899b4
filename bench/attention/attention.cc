// scaled_dot_product_attention.
#include <pellucid/pellucid.h>

#include "cases.h"

namespace {

struct Api {
  static constexpr pel::DType kFloat = pel::kF32, kBfloat = pel::kBF16;
  static void set_threads(int count) { pel::set_thread_count(count); }
  static pel::Tensor heads(std::int64_t rows, pel::DType dtype) {
    return pel::to_copy(pel::randn({1, 12, rows, 64}), dtype);
  }
  static pel::Tensor attention(const pel::Tensor& query, const pel::Tensor& key, const pel::Tensor& value,
                               bool is_causal) {
    pel::AttentionOptions options;
    options.causal = is_causal ? pel::Causal::Yes : pel::Causal::No;
    return pel::scaled_dot_product_attention(query, key, value, std::nullopt, options);
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::attention_cases<Api>()); }
