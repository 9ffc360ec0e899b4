// Tuned ops, called one by one.
#include "cases.h"

int main(int argc, char** argv) {
  const pel::InferenceMode inference;
  return bench::serve(argc, argv, bench::tuned_cases([](auto op, auto) { return op; }));
}
