// add into an existing output, on arrays larger than the caches, against a loop written by hand for this
// machine: peer_triad.plain.cc.
#include <pellucid/pellucid.h>

#include "../support/server.h"

int main(int argc, char** argv) {
  pel::set_thread_count(1);
  const std::int64_t count = 8192 * 3072;
  const pel::Tensor a = pel::full({count}, 1.5), b = pel::full({count}, 2.5), out = pel::zeros({count});
  const auto add = [&] { pel::add_out(out, a, b); };
  return bench::serve(argc, argv, {{"against_stores", add}, {"against_streaming_stores", add}});
}
