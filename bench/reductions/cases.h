// The cases of both sides: an Api has Tensor, dtypes and the calls, each side's own.
#pragma once

#include <string>
#include <vector>

#include "../support/lazy.h"
#include "../support/server.h"

namespace bench {

template <class Api>
std::vector<Case> reductions_cases() {
  constexpr std::int64_t kRows = 8192, kWords = 32000, kWidth = 768;
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, auto call) { add_by_threads<Api>(cases, name, call); };
  for (const auto& [suffix, dtype] : {std::pair{"f32", Api::kFloat}, std::pair{"bf16", Api::kBfloat}}) {
    for (const std::int64_t columns : {kWidth, 4 * kWidth, kWords}) {
      const std::string at = "_" + std::to_string(columns) + "_" + suffix;
      const Lazy x([columns, dtype = dtype] { return Api::ramp(kRows, columns, dtype); });
      const Lazy weight([columns, dtype = dtype] { return Api::ramp(1, columns, dtype); });
      add("sum_last" + at, [x] { return Api::sum(x(), 1); });
      add("sum_first" + at, [x] { return Api::sum(x(), 0); });
      add("amax" + at, [x] { return Api::amax(x(), 1); });
      add("argmax" + at, [x] { return Api::argmax(x(), 1); });
      add("softmax" + at, [x] { return Api::softmax(x(), 1); });
      add("layer_norm" + at, [x, weight] { return Api::layer_norm(x(), weight()); });
      add("rms_norm" + at, [x, weight] { return Api::rms_norm(x(), weight()); });
    }
  }
  const Lazy x([] { return Api::noise(kRows, kWidth); });
  const Lazy long_rows([] { return Api::noise(kRows / 32, kWords); });
  const Lazy table([] { return Api::noise(kWords, kWidth); });
  const Lazy ids([] { return Api::ids(kWords, kRows); });
  const Lazy indices([] { return Api::indices(kRows, kWidth); });
  const Lazy sums([] { return Api::noise(kWords, kWidth); });
  add("cumsum", [x] { return Api::cumsum(x(), 1); });
  add("sort", [x] { return Api::sort(x(), 1); });
  add("topk", [long_rows] { return Api::topk(long_rows(), 50); });
  add("gather", [x, indices] { return Api::gather(x(), 1, indices()); });
  add("index_put", [sums, ids, x] { return Api::index_put_(sums(), ids(), x(), false); });
  add("index_put_accumulate", [sums, ids, x] { return Api::index_put_(sums(), ids(), x(), true); });
  add("embedding", [table, ids] { return Api::embedding(table(), ids()); });
  add("cat", [x] { return Api::cat(x(), x(), 1); });
  return cases;
}

}  // namespace bench
