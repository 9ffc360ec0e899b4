// The cases of all sides: an Api has Tensor, dtypes and prepare(a, b), which returns a call that multiplies
// them.
#pragma once

#include <string>
#include <vector>

#include "lazy.h"
#include "server.h"

namespace bench {

struct GemmShape {
  std::string name;
  std::int64_t m, n, k;
};

inline std::vector<GemmShape> gemm_shapes() {
  std::vector<GemmShape> shapes;
  for (const std::int64_t rows : {8192, 512, 64, 8, 1}) {  // up and down of an MLP
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
      for (const bool transposed : {false, true}) {
        const Lazy call([shape, transposed, dtype = dtype] {
          const auto a = Api::noise(shape.m, shape.k, dtype);
          const auto b = transposed ? Api::transposed(Api::noise(shape.n, shape.k, dtype))
                                    : Api::noise(shape.k, shape.n, dtype);
          return Api::prepare(a, b);
        });
        for (const int threads : {1, 2}) {
          const std::string name =
              shape.name + "_" + dtype_name + (transposed ? "_tn_" : "_nn_") + std::to_string(threads) + "t";
          cases.emplace_back(name, [call, threads] {
            Api::set_threads(threads);
            return call()();
          });
        }
      }
    }
  }
  return cases;
}

}  // namespace bench
