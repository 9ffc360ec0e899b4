// OpenCL C 1.2. Division and square root are rounded correctly by a build option
// (-cl-fp32-correctly-rounded-divide-sqrt); devices without it are refused. fma() is exact by the language.
#include "codegen/c_like/dialect.h"

namespace pel::codegen {
namespace {

constexpr std::string_view kHeader = R"(
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define PEL_HAS_F64
typedef double pel_f64;
#endif
typedef float pel_f32;
typedef ushort pel_f16; typedef ushort pel_bf16;
typedef long pel_i64; typedef int pel_i32; typedef short pel_i16; typedef char pel_i8; typedef bool pel_bool;
typedef ulong pel_u64; typedef uint pel_u32; typedef ushort pel_u16; typedef uchar pel_u8;
#define PEL_KERNEL __kernel
#define PEL_UNROLL _Pragma("unroll")
#define PEL_ROLLED _Pragma("nounroll")
#define PEL_LOOP
#define PEL_GLOBAL __global
#define PEL_LOCAL __local
#define PEL_CONSTANT __constant
#define PEL_INLINE static inline
#define PEL_MEMORY __global uchar*
#define PEL_STATUS volatile __global int*
#define PEL_MUL_HIGH(a, b) mul_hi((ulong)(a), (ulong)(b))
#define PEL_EXCHANGE(p, expected, value) atomic_cmpxchg(p, expected, value)
#define PEL_AT(T, number) ((__global T*)(m##number + call.offset[number]))
#define PEL_ID(axis) ((pel_i64)get_global_id(axis))
#define as_pel_f32 as_float
#define as_pel_f64 as_double
#define as_pel_f16 as_ushort
#define as_pel_bf16 as_ushort
#define as_pel_i64 as_long
#define as_pel_i32 as_int
#define as_pel_i16 as_short
#define as_pel_i8 as_char
#define as_pel_u64 as_ulong
#define as_pel_u32 as_uint
#define as_pel_u16 as_ushort
#define as_pel_u8 as_uchar
#define convert_pel_f32(x) ((pel_f32)(x))
#define convert_pel_f64(x) ((pel_f64)(x))
#define convert_pel_i64(x) ((pel_i64)(x))
#define convert_pel_i32(x) ((pel_i32)(x))
#define convert_pel_i16(x) ((pel_i16)(x))
#define convert_pel_i8(x) ((pel_i8)(x))
#define convert_pel_u8(x) ((pel_u8)(x))
#define add_f32(a, b) ((a) + (b))
#define sub_f32(a, b) ((a) - (b))
#define mul_f32(a, b) ((a) * (b))
#define div_f32(a, b) ((a) / (b))
#define sqrt_f32(a) sqrt(a)
#define fma_f32(a, b, c) fma(a, b, c)
#define add_f64(a, b) ((a) + (b))
#define sub_f64(a, b) ((a) - (b))
#define mul_f64(a, b) ((a) * (b))
#define div_f64(a, b) ((a) / (b))
#define sqrt_f64(a) sqrt(a)
#define fma_f64(a, b, c) fma(a, b, c)
#define pel_floor(a) floor(a)
#define pel_ceil(a) ceil(a)
#define pel_trunc(a) trunc(a)
#define pel_rint(a) rint(a)
#define pel_fabs(a) fabs(a)
// NaN becomes 0 first: some implementations convert it to another number.
#define PEL_TO_INTEGER(F, T, convert) \
PEL_INLINE T T##_from_##F(F x) { const F y = x == x ? x : (F)(0); return convert(y); }
PEL_TO_INTEGER(pel_f32, pel_i32, convert_int_sat_rtz)
PEL_TO_INTEGER(pel_f32, pel_i64, convert_long_sat_rtz)
#ifdef PEL_HAS_F64
PEL_TO_INTEGER(pel_f64, pel_i32, convert_int_sat_rtz)
PEL_TO_INTEGER(pel_f64, pel_i64, convert_long_sat_rtz)
#endif
PEL_INLINE pel_f32 f16_to_f32(pel_f16 h) { return vload_half(0, (const half*)&h); }
PEL_INLINE pel_f16 f32_to_f16(pel_f32 x) { pel_f16 h; vstore_half_rte(x, 0, (half*)&h); return h; }
)";

// A bool is a char of 0 or -1, as comparisons of vectors return it.
constexpr std::string_view kVectorHeader = R"(
typedef float16 pel_f32x16;
typedef ushort16 pel_f16x16; typedef ushort16 pel_bf16x16;
typedef long16 pel_i64x16; typedef int16 pel_i32x16; typedef short16 pel_i16x16; typedef char16 pel_i8x16;
typedef ulong16 pel_u64x16; typedef uint16 pel_u32x16; typedef ushort16 pel_u16x16; typedef uchar16 pel_u8x16;
typedef char16 pel_boolx16;
#define as_pel_f32x16 as_float16
#define as_pel_f64x16 as_double16
#define as_pel_f16x16 as_ushort16
#define as_pel_bf16x16 as_ushort16
#define as_pel_i64x16 as_long16
#define as_pel_i32x16 as_int16
#define as_pel_i16x16 as_short16
#define as_pel_i8x16 as_char16
#define as_pel_u64x16 as_ulong16
#define as_pel_u32x16 as_uint16
#define as_pel_u16x16 as_ushort16
#define as_pel_u8x16 as_uchar16
#define convert_pel_f32x16 convert_float16
#define convert_pel_f64x16 convert_double16
#define convert_pel_i64x16 convert_long16
#define convert_pel_i32x16 convert_int16
#define convert_pel_i16x16 convert_short16
#define convert_pel_i8x16 convert_char16
#define convert_pel_u8x16 convert_uchar16
PEL_TO_INTEGER(pel_f32x16, pel_i32x16, convert_int16_sat_rtz)
PEL_TO_INTEGER(pel_f32x16, pel_i64x16, convert_long16_sat_rtz)
PEL_INLINE pel_f32x16 f16_to_f32x16(pel_f16x16 h) { return vload_half16(0, (const half*)&h); }
PEL_INLINE pel_f16x16 f32_to_f16x16(pel_f32x16 x) { pel_f16x16 h; vstore_half16_rte(x, 0, (half*)&h); return h; }
PEL_INLINE pel_bf16x16 f32_to_bf16x16(pel_f32x16 x) {
  const uint16 bits = as_uint16(x);
  return convert_ushort16(x != x ? (bits >> 16u) | 0x40u : (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u);
}
PEL_INLINE pel_i32x16 clamp_i32x16(pel_i32x16 x, pel_i32 low, pel_i32 high) { return clamp(x, low, high); }
#define PEL_VECTOR(T) \
PEL_INLINE T##x16 load_##T##x16(PEL_GLOBAL const T* from, pel_i64 i, pel_i64 step, pel_i64 count) { \
  if (step == 0) return (T##x16)(from[0]); \
  if (i + 16 <= count) return vload16(0, from + i); \
  T values[16]; \
  for (int l = 0; l < 16; ++l) values[l] = i + l < count ? from[i + l] : (T)0; \
  return vload16(0, values); } \
PEL_INLINE void store_##T##x16(PEL_GLOBAL T* to, pel_i64 i, pel_i64 count, T##x16 value) { \
  if (i + 16 <= count) { vstore16(value, 0, to + i); return; } \
  T values[16]; \
  vstore16(value, 0, values); \
  for (int l = 0; i + l < count; ++l) to[i + l] = values[l]; }
PEL_VECTOR(pel_f32)
PEL_VECTOR(pel_u16)
PEL_VECTOR(pel_i64)
PEL_VECTOR(pel_i32)
PEL_VECTOR(pel_i16)
PEL_VECTOR(pel_i8)
PEL_VECTOR(pel_u8)
#define load_pel_f16x16 load_pel_u16x16
#define load_pel_bf16x16 load_pel_u16x16
#define store_pel_f16x16 store_pel_u16x16
#define store_pel_bf16x16 store_pel_u16x16
#ifdef PEL_HAS_F64
typedef double16 pel_f64x16;
PEL_TO_INTEGER(pel_f64x16, pel_i32x16, convert_int16_sat_rtz)
PEL_TO_INTEGER(pel_f64x16, pel_i64x16, convert_long16_sat_rtz)
PEL_VECTOR(pel_f64)
#endif
#define PEL_LOOKUP16(T, table, i) ((T)(table[(i).s0], table[(i).s1], table[(i).s2], table[(i).s3], table[(i).s4], \
  table[(i).s5], table[(i).s6], table[(i).s7], table[(i).s8], table[(i).s9], table[(i).sa], table[(i).sb], \
  table[(i).sc], table[(i).sd], table[(i).se], table[(i).sf]))
)";

}  // namespace

const Dialect& opencl_dialect() {
  static const Dialect dialect{"opencl", kHeader, kVectorHeader};
  return dialect;
}

}  // namespace pel::codegen
