// Launches of tiny kernels on OpenCL in a Profile, with the time stamps of the device.
#include "queued_launches.h"

int main(int argc, char** argv) {
  bench::Case add = bench::eager_launches("add");
  add.measure = [measure = add.measure](std::int64_t iters) {
    const pel::Profile profile;
    return measure(iters);
  };
  return bench::serve(argc, argv, {add});
}
