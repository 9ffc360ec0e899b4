// The matmuls of gemm.cc in plain oneDNN.
#include "../support/onednn.h"
#include "cases.h"

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::gemm_cases<bench::OneDnn>()); }
