// The cost of one tiny call. The peer's half is peer_dispatch.torch.cc: keep the two identical line by line.
#include <pellucid/pellucid.h>

#include "../support/server.h"

int main(int argc, char** argv) {
  const pel::Tensor matrix = pel::ones({4, 4});
  const pel::Tensor vector = pel::ones({4});
  pel::Tensor target = pel::empty({4});
  return bench::serve(argc, argv,
                      {
                          {"empty", [] { return pel::empty({4}); }},
                          {"t", [&] { return matrix.t(); }},
                          {"view", [&] { return matrix.view({2, 8}); }},
                          {"slice", [&] { return matrix.slice(0, 1, 3); }},
                          {"copy", [&] { target.copy_(vector); }},
                          {"clone", [&] { return vector.clone(); }},
                          {"add", [&] { return pel::add(vector, vector); }},
                          {"mul", [&] { return pel::mul(vector, vector); }},
                          {"relu", [&] { return pel::relu(vector); }},
                          {"addmm", [&] { return pel::addmm(vector, matrix, matrix); }},
                          {"linear", [&] { return pel::linear(matrix, matrix, vector); }},
                      });
}
