// The matmuls of ../gemm.cc in plain oneDNN.
#include "../gemm_cases.h"
#include "onednn.h"

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::gemm_cases<bench::OneDnn>()); }
