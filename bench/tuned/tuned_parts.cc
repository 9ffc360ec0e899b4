// The ops that they are made of, compiled.
#include "cases.h"

int main(int argc, char** argv) {
  const pel::InferenceMode inference;
  return bench::serve(argc, argv, bench::tuned_cases([](auto, auto parts) { return pel::compile(parts); }));
}
