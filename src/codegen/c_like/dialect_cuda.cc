// CUDA C++ as NVRTC compiles it, without headers. Each sum, product, quotient and root of floats is an
// intrinsic that is rounded to nearest, which neither NVRTC nor ptxas contracts.
//
// Tables are in global memory: threads read different elements, which constant memory would serve one after
// the other, and a module has 64 KiB of that.
//
// Addresses are passed as pointers, so that the struct's offsets are free: those of operands 1 and 2 are
// where the launch begins along axes 1 and 2 of the grid, which have 65,535 groups at most.
#include "codegen/c_like/dialect.h"

namespace pel::codegen {
namespace {

constexpr std::string_view kCudaHeader = R"(
#define PEL_HAS_F64
typedef float pel_f32; typedef double pel_f64;
typedef unsigned short pel_f16; typedef unsigned short pel_bf16;
typedef long long pel_i64; typedef int pel_i32; typedef short pel_i16; typedef signed char pel_i8; typedef bool pel_bool;
typedef unsigned long long pel_u64; typedef unsigned int pel_u32; typedef unsigned short pel_u16; typedef unsigned char pel_u8;
#define PEL_KERNEL extern "C" __global__
#define PEL_UNROLL _Pragma("unroll")
#define PEL_LOOP _Pragma("unroll 1")
#define PEL_ROLLED _Pragma("unroll 1")
#define PEL_GLOBAL
#define PEL_LOCAL __shared__
#define PEL_CONSTANT static __device__
#define PEL_INLINE static __device__ __forceinline__
#define PEL_MEMORY pel_u8*
#define PEL_STATUS pel_i32*
#define PEL_MUL_HIGH(a, b) __umul64hi((pel_u64)(a), (pel_u64)(b))
#define PEL_EXCHANGE(p, expected, value) atomicCAS(p, expected, value)
#define PEL_AT(T, number) ((T*)m##number)
#define PEL_ID(axis) PEL_ID_##axis
#define PEL_ID_0 ((pel_i64)blockIdx.x * blockDim.x + threadIdx.x)
#define PEL_ID_1 (call.offset[1] + (pel_i64)blockIdx.y * blockDim.y + threadIdx.y)
#define PEL_ID_2 (call.offset[2] + (pel_i64)blockIdx.z * blockDim.z + threadIdx.z)
template <class T, class F> PEL_INLINE T pel_bits(F from) {
  static_assert(sizeof(T) == sizeof(F), "the widths of a bitcast are equal");
  T to;
  memcpy(&to, &from, sizeof(T));
  return to;
}
#define as_pel_f32(x) pel_bits<pel_f32>(x)
#define as_pel_f64(x) pel_bits<pel_f64>(x)
#define as_pel_f16(x) pel_bits<pel_f16>(x)
#define as_pel_bf16(x) pel_bits<pel_bf16>(x)
#define as_pel_i64(x) pel_bits<pel_i64>(x)
#define as_pel_i32(x) pel_bits<pel_i32>(x)
#define as_pel_i16(x) pel_bits<pel_i16>(x)
#define as_pel_i8(x) pel_bits<pel_i8>(x)
#define as_pel_u64(x) pel_bits<pel_u64>(x)
#define as_pel_u32(x) pel_bits<pel_u32>(x)
#define as_pel_u16(x) pel_bits<pel_u16>(x)
#define as_pel_u8(x) pel_bits<pel_u8>(x)
#define convert_pel_f32(x) ((pel_f32)(x))
#define convert_pel_f64(x) ((pel_f64)(x))
#define convert_pel_i64(x) ((pel_i64)(x))
#define convert_pel_i32(x) ((pel_i32)(x))
#define convert_pel_i16(x) ((pel_i16)(x))
#define convert_pel_i8(x) ((pel_i8)(x))
#define convert_pel_u8(x) ((pel_u8)(x))
#define add_f32(a, b) __fadd_rn(a, b)
#define sub_f32(a, b) __fsub_rn(a, b)
#define mul_f32(a, b) __fmul_rn(a, b)
#define div_f32(a, b) __fdiv_rn(a, b)
#define sqrt_f32(a) __fsqrt_rn(a)
#define fma_f32(a, b, c) __fmaf_rn(a, b, c)
#define add_f64(a, b) __dadd_rn(a, b)
#define sub_f64(a, b) __dsub_rn(a, b)
#define mul_f64(a, b) __dmul_rn(a, b)
#define div_f64(a, b) __ddiv_rn(a, b)
#define sqrt_f64(a) __dsqrt_rn(a)
#define fma_f64(a, b, c) __fma_rn(a, b, c)
#define PEL_ROUNDING(name, of_f32, of_f64) \
PEL_INLINE pel_f32 name(pel_f32 a) { return of_f32(a); } \
PEL_INLINE pel_f64 name(pel_f64 a) { return of_f64(a); }
PEL_ROUNDING(pel_floor, floorf, floor)
PEL_ROUNDING(pel_ceil, ceilf, ceil)
PEL_ROUNDING(pel_trunc, truncf, trunc)
PEL_ROUNDING(pel_rint, rintf, rint)
PEL_ROUNDING(pel_fabs, fabsf, fabs)
// NaN becomes 0 first: cvt makes another number of it where either type has 64 bits. Others saturate.
#define PEL_TO_INTEGER(F, T, convert) \
PEL_INLINE T T##_from_##F(F x) { const F y = x == x ? x : (F)0; return convert(y); }
PEL_TO_INTEGER(pel_f32, pel_i32, __float2int_rz)
PEL_TO_INTEGER(pel_f32, pel_i64, __float2ll_rz)
PEL_TO_INTEGER(pel_f64, pel_i32, __double2int_rz)
PEL_TO_INTEGER(pel_f64, pel_i64, __double2ll_rz)
PEL_INLINE pel_f32 f16_to_f32(pel_f16 h) { pel_f32 x; asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h)); return x; }
PEL_INLINE pel_f16 f32_to_f16(pel_f32 x) { pel_f16 h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x)); return h; }
)";

}  // namespace

const Dialect& cuda_dialect() {
  static const Dialect dialect{"cuda", kCudaHeader, {}};
  return dialect;
}

}  // namespace pel::codegen
