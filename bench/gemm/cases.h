// The cases of all sides: an Api has dtypes and prepare(a, b), which returns a call that multiplies them;
// if it kPacks, prepare(a, b, packed).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../support/lazy.h"
#include "../support/server.h"

namespace bench {

struct GemmShape {
  std::string name;
  std::int64_t m, n, k;
};

inline std::vector<GemmShape> gemm_shapes() {
  std::vector<GemmShape> shapes;
  for (const std::int64_t rows : {8192, 512, 64, 8, 1}) {  // up and down projections of an MLP
    shapes.push_back({std::to_string(rows) + "x3072x768", rows, 3072, 768});
    shapes.push_back({std::to_string(rows) + "x768x3072", rows, 768, 3072});
  }
  for (const std::int64_t size : {1024, 4096})
    shapes.push_back({std::to_string(size) + "^3", size, size, size});
  return shapes;
}

template <class Api>
std::vector<Case> gemm_cases() {
  std::vector<Case> cases;
  for (const auto& [dtype_name, dtype] : {std::pair{"f32", Api::kFloat}, std::pair{"bf16", Api::kBfloat}}) {
    for (const GemmShape& shape : gemm_shapes()) {
      // The matrix on the right: row-major, transposed, or transposed and packed before.
      for (const std::string_view layout : {"nn", "tn", "pn"}) {
        if (layout == "pn" && (!Api::kPacks || shape.m == shape.n)) continue;
        const Lazy call([shape, layout, dtype = dtype] {
          const auto a = Api::noise(shape.m, shape.k, dtype);
          const auto b = layout == "nn" ? Api::noise(shape.k, shape.n, dtype)
                                        : Api::transposed(Api::noise(shape.n, shape.k, dtype));
          if constexpr (Api::kPacks) {
            return Api::prepare(a, b, layout == "pn");
          } else {
            return Api::prepare(a, b);
          }
        });
        add_by_threads<Api>(cases, shape.name + "_" + dtype_name + "_" + std::string(layout),
                            [call] { return call()(); });
      }
    }
  }
  return cases;
}

}  // namespace bench
