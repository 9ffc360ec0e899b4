// Tiny calls that are queued.
#include "cases.h"

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::device_cases(pel::kQueue)); }
