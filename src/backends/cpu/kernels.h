// The CPU's kernels, as the lists name them.
#pragma once

#include "pellucid/op.h"

namespace pel::cpu {

extern const Kernel copy_dense, copy_strided, copy_cast;
extern const Kernel fill_strided;
extern const Kernel arange_dense, linspace_dense, eye_dense;

// Elements of one width, whatever they mean. A stride of 0 repeats an element of src.
void copy_elements(const Operand& dst, const Operand& src);

void register_kernels();

}  // namespace pel::cpu
