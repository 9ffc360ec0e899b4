/* What a kernel is called with: one C layout for kernels that were built ahead of time, compiled in process,
 * loaded from disk, or sent to a device. Fields are only ever added at the end, with a new version. */
#pragma once

#include <stdint.h>

#define PEL_KERNEL_ARGS_VERSION 2u

#ifdef __cplusplus
namespace pel {
extern "C" {
#endif

/* One tensor. Sizes and strides have `rank` entries; strides are in elements, 0 broadcasts. */
typedef struct PelOperand {
  void* data; /* the first element; aligned to nothing in particular */
  const int64_t* sizes;
  const int64_t* strides;
  int32_t rank;
  uint8_t dtype;        /* pel::DType */
  uint8_t is_row_major; /* 1: known to be; 0: the strides tell */
  uint8_t reserved[2];
} PelOperand;

enum { PEL_SCALAR_BOOL = 0, PEL_SCALAR_INT = 1, PEL_SCALAR_FLOAT = 2 };

/* A number argument. Both fields are always set, so a kernel reads the one it computes with. */
typedef struct PelScalar {
  double as_float;
  int64_t as_int;
  uint8_t kind; /* PEL_SCALAR_… */
  uint8_t reserved[7];
} PelScalar;

typedef struct PelKernelArgs {
  uint32_t version; /* PEL_KERNEL_ARGS_VERSION of the caller that filled it */
  uint16_t output_count;
  uint16_t input_count;
  const PelOperand* operands; /* outputs first, then inputs */
  const PelScalar* scalars;
  uint32_t scalar_count;
  uint32_t reserved;
  void* scratch; /* workspace the launcher provides, or null */
  uint64_t scratch_bytes;
  const void* context; /* since version 2: of the kernel that was chosen */
} PelKernelArgs;

#ifdef __cplusplus
}
using KernelArgs = PelKernelArgs;
using Operand = PelOperand;
inline const Operand& output(const KernelArgs& args, int i) { return args.operands[i]; }
inline const Operand& input(const KernelArgs& args, int i) { return args.operands[args.output_count + i]; }
}  // namespace pel
#endif
