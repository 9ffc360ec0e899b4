// The dialects of the one C-like language that kernels are written in. The text of a kernel is the same in
// all of them; a header of types and macros makes it OpenCL C or CUDA C++. Nothing here calls a device.
#pragma once

#include <string>
#include <string_view>

#include "pellucid/dtype.h"

namespace pel::codegen {

// Elements that one item computes: 1 for a GPU, kVectorLanes where an item runs on one core of a CPU. The
// bits are the same.
inline constexpr int kVectorLanes = 16;

struct Dialect {
  std::string_view name;
  std::string_view header;         // comes before every kernel
  std::string_view vector_header;  // follows it before kernels of kVectorLanes; empty: the dialect has none
};
const Dialect& opencl_dialect();
const Dialect& cuda_dialect();  // has no vectors

// What a kernel begins with: the header of the dialect and the functions that all dialects share.
std::string kernel_header(const Dialect& dialect, int lanes);

// The type of a value, "pel_f32" or "pel_f32x16"; f16 and bf16 are their bits. Bool in memory is a pel_u8.
std::string value_type_name(DType type, int lanes = 1);
std::string_view memory_type_name(DType type);

}  // namespace pel::codegen
