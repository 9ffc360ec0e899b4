// The three matmuls of mlp_fused.cc in plain oneDNN, with packed weights, and nothing between them.
#include "../support/lazy.h"
#include "../support/onednn.h"
#include "../support/server.h"

int main(int argc, char** argv) {
  using bench::OneDnn;
  constexpr std::int64_t kWidth = 768, kHidden = 3072;
  std::vector<bench::Case> cases;
  for (const auto& [dtype_name, dtype] :
       {std::pair{"f32", OneDnn::kFloat}, std::pair{"bf16", OneDnn::kBfloat}}) {
    for (const std::int64_t rows : {8192, 512}) {
      const bench::Lazy calls([rows, dtype = dtype] {
        const auto x = OneDnn::noise(rows, kWidth, dtype), hidden = OneDnn::noise(rows, kHidden, dtype);
        const auto weight = [dtype](std::int64_t out, std::int64_t in) {
          return OneDnn::transposed(OneDnn::noise(out, in, dtype));
        };
        return std::array{OneDnn::prepare(x, weight(kHidden, kWidth), true),
                          OneDnn::prepare(x, weight(kHidden, kWidth), true),
                          OneDnn::prepare(hidden, weight(kWidth, kHidden), true)};
      });
      for (const int threads : {1, 2}) {
        for (const char* form : {"_three", "_two"}) {  // the same peer for both of ours
          cases.emplace_back(
              std::to_string(rows) + "_" + dtype_name + "_" + std::to_string(threads) + "t" + form,
              [calls, threads] {
                OneDnn::set_threads(threads);
                for (const auto& call : calls()) call();
              });
        }
      }
    }
  }
  return bench::serve(argc, argv, cases);
}
