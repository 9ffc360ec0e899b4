// What recording adds to one tiny call. The peer's half is peer_profiler.torch.cc: keep the two
// identical line by line.
#include <pellucid/pellucid.h>

#include "../support/server.h"

int main(int argc, char** argv) {
  using bench::added_by, bench::Case;
  using Recording = pel::Profile;
  pel::set_thread_count(1);
  const pel::Tensor matrix = pel::ones({4, 4});
  const pel::Tensor vector = pel::ones({4});
  return bench::serve(
      argc, argv,
      {{
          added_by<Recording>(Case("t", [&] { return matrix.t(); })),
          added_by<Recording>(Case("add", [&] { return pel::add(matrix, matrix); })),
          added_by<Recording>(Case("relu", [&] { return pel::relu(matrix); })),
          added_by<Recording>(Case("addmm", [&] { return pel::addmm(vector, matrix, matrix); })),
          added_by<Recording>(Case("linear", [&] { return pel::linear(matrix, matrix, vector); })),
      }});
}
