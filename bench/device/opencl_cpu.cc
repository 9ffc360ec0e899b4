// The same calls on the CPU.
#include "opencl_cases.h"

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::opencl_cases(pel::kCpu)); }
