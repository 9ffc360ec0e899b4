// The words that CUTLASS and NVIDIA's own generator put between underscores:
// bf16_s16816gemm_bf16_128x256_64x3_tn_align8.
#pragma once

#include "doctor/names/name_text.h"

namespace pel::doctor::names {

// False where no word is a matmul: s16816gemm, sgemm, s1688fprop, scudnn.
bool read_gemm_words(const Pieces& words, KernelName& out);

}  // namespace pel::doctor::names
