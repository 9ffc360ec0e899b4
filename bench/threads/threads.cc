// Every family of kernels on two threads.
#include "ours.h"

int main(int argc, char** argv) {
  const pel::InferenceMode inference;
  return bench::serve(argc, argv, bench::thread_cases<bench::Ours>(2));
}
