// The products of gemm.cc in bare oneDNN.
#include "../support/onednn.h"
#include "cases.h"

int main(int argc, char** argv) { return bench::serve(argc, argv, bench::gemm_cases<bench::OneDnn>()); }
