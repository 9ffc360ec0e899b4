// The cost of one tiny call in libtorch, in its fastest mode: no autograd, one thread.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include "../support/server.h"

int main(int argc, char** argv) {
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const at::Tensor matrix = at::ones({4, 4});
  const at::Tensor vector = at::ones({4});
  at::Tensor target = at::empty({4});
  return bench::serve(argc, argv,
                      {
                          {"empty", [] { return torch::empty({4}); }},
                          {"t", [&] { return matrix.t(); }},
                          {"view", [&] { return matrix.view({2, 8}); }},
                          {"slice", [&] { return matrix.slice(0, 1, 3); }},
                          {"copy", [&] { target.copy_(vector); }},
                          {"clone", [&] { return vector.clone(); }},
                          {"add", [&] { return at::add(vector, vector); }},
                          {"mul", [&] { return at::mul(vector, vector); }},
                          {"relu", [&] { return at::relu(vector); }},
                          {"addmm", [&] { return at::addmm(vector, matrix, matrix); }},
                          {"linear", [&] { return at::linear(matrix, matrix, vector); }},
                      });
}
