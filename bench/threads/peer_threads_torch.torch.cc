// Every family of kernels in libtorch, on two threads.
#include "torchs.h"

int main(int argc, char** argv) {
  const c10::InferenceMode inference;
  return bench::serve(argc, argv, bench::thread_cases<bench::Torchs>(2));
}
