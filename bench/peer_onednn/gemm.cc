// The products of ../gemm.cc in bare oneDNN.
#include "../gemm_cases.h"
#include "onednn.h"

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::gemm_cases<bench::OneDnn>()); }
