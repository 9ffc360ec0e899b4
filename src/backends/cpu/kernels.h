// The hand-written CPU kernels: each file returns the lists of the ops it serves.
#pragma once

#include "pellucid/extend/op.h"

#include "dispatch/registry.h"

namespace pel::cpu {

// The first kernel of a list that supports the call wins. The lists are static.
using KernelLists = ArrayView<BackendKernels>;
KernelLists attention_kernels();
KernelLists collective_kernels();
KernelLists convolution_kernels();
KernelLists copy_kernels();
KernelLists fill_kernels();
KernelLists fused_linear_kernels();
KernelLists gemm_kernels();
KernelLists index_kernels();
KernelLists linear_cross_entropy_kernels();
KernelLists move_kernels();
KernelLists optimizer_kernels();
KernelLists pad_kernels();
KernelLists pool_kernels();
KernelLists random_kernels();
KernelLists sampling_kernels();
KernelLists scan_kernels();
KernelLists search_kernels();
KernelLists select_kernels();
KernelLists softmax_cross_entropy_kernels();
KernelLists sort_kernels();
KernelLists upsample_kernels();

inline Support supports_any(const KernelArgs&) { return Support::yes(); }

// Copies elements of one width, whatever their type. A stride of 0 repeats an element of src.
void copy_elements(const Operand& dst, const Operand& src);
// Runs `copy` on all threads, split along an axis that is long enough. The steps of src may be negative.
using CopyFn = void (*)(const Operand& dst, const Operand& src);
void copy_on_threads(const Operand& dst, const Operand& src, CopyFn copy = copy_elements);

// Registers the packing of GEMM weights (gemm_tiles.h).
void register_packing();

void register_kernels();

}  // namespace pel::cpu
