// Calls on OpenCL, each with the wait for its kernel.
#include "opencl_cases.h"

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::opencl_cases(pel::kOpenCl)); }
