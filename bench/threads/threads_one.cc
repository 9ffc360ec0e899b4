// Every family of kernels on one thread.
#include "ours.h"

int main(int argc, char** argv) {
  const pel::InferenceMode inference;
  return bench::serve(argc, argv, bench::thread_cases<bench::Ours>(1));
}
