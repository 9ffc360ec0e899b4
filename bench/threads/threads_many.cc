// Every family of kernels on 64 threads, far more than there are processors.
#include "ours.h"

int main(int argc, char** argv) {
  const pel::InferenceMode inference;
  return bench::serve(argc, argv, bench::thread_cases<bench::Ours>(64));
}
