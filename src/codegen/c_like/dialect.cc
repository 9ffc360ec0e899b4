#include "codegen/c_like/dialect.h"

#include <fmt/format.h>

namespace pel::codegen {
namespace {

// Functions of scalars that every dialect has, in terms of its macros.
//
// pel_report: the first kernel of a stream that reports is the one whose error is thrown. Which element of it
// reports first is not determined.
constexpr std::string_view kShared = R"(
PEL_INLINE pel_i32 clamp_i32(pel_i32 x, pel_i32 low, pel_i32 high) { return x < low ? low : x > high ? high : x; }
PEL_INLINE pel_bf16 f32_to_bf16(pel_f32 x) {
  const pel_u32 bits = as_pel_u32(x);
  return (pel_bf16)(x != x ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
PEL_INLINE void pel_report(PEL_STATUS status, pel_i64 launch, pel_i64 code, pel_i64 value, pel_i64 bound) {
  if (PEL_EXCHANGE(status, 0, 1) != 0) return;
  PEL_GLOBAL pel_i64* details = (PEL_GLOBAL pel_i64*)(status + 2);
  details[0] = launch; details[1] = code; details[2] = value; details[3] = bound;
}
#define PEL_DIVISION(T, W) \
PEL_INLINE T div_##T(T a, T b, pel_i32* failed) { \
  if (b == 0) { *failed = 1; b = 1; } \
  if ((T)-1 < 0 && b == (T)-1) return (T)((W)0 - (W)a); \
  return (T)(a / b); }
PEL_DIVISION(pel_i64, pel_u64)
PEL_DIVISION(pel_i32, pel_u32)
PEL_DIVISION(pel_i16, pel_u32)
PEL_DIVISION(pel_i8, pel_u32)
PEL_DIVISION(pel_u8, pel_u32)
#define PEL_REMAINDER(T, U, M, E) \
PEL_INLINE T rem_##T(T x, T y) { \
  const U sign = as_##U(x) & ((U)1 << (M + E)), inf = (U)(((U)1 << E) - 1) << M; \
  const U a = as_##U(x) & ~((U)1 << (M + E)), b = as_##U(y) & ~((U)1 << (M + E)); \
  if (a >= inf || b > inf || b == 0) return as_##T(inf | ((U)1 << (M - 1))); \
  if (a < b) return x; \
  int ea = (int)(a >> M), eb = (int)(b >> M); \
  U ma = a & (((U)1 << M) - 1), mb = b & (((U)1 << M) - 1); \
  if (ea == 0) ea = 1; else ma |= (U)1 << M; \
  if (eb == 0) eb = 1; else mb |= (U)1 << M; \
  while (mb < ((U)1 << M)) { mb <<= 1; --eb; } \
  while (ma < ((U)1 << M)) { ma <<= 1; --ea; } \
  for (; ea > eb; --ea) { if (ma >= mb) ma -= mb; ma <<= 1; if (ma == 0) return as_##T(sign); } \
  if (ma >= mb) ma -= mb; \
  if (ma == 0) return as_##T(sign); \
  while (ma < ((U)1 << M) && ea > 1) { ma <<= 1; --ea; } \
  while (ea < 1) { ma >>= 1; ++ea; } \
  const U r = ma >= ((U)1 << M) ? (ma & (((U)1 << M) - 1)) | ((U)ea << M) : ma; \
  return as_##T(r | sign); }
PEL_REMAINDER(pel_f32, pel_u32, 23, 8)
#ifdef PEL_HAS_F64
PEL_REMAINDER(pel_f64, pel_u64, 52, 11)
#endif
)";

}  // namespace

std::string kernel_header(const Dialect& dialect, int lanes) {
  std::string text = std::string(dialect.header).append(kShared);
  if (lanes > 1) text += dialect.vector_header;
  return text;
}

std::string value_type_name(DType type, int lanes) {
  return lanes == 1 ? fmt::format("pel_{}", name(type)) : fmt::format("pel_{}x{}", name(type), lanes);
}

std::string_view memory_type_name(DType type) {
  switch (type) {
    case DType::F64:
      return "pel_f64";
    case DType::F32:
      return "pel_f32";
    case DType::F16:
      return "pel_f16";
    case DType::BF16:
      return "pel_bf16";
    case DType::I64:
      return "pel_i64";
    case DType::I32:
      return "pel_i32";
    case DType::I16:
      return "pel_i16";
    case DType::I8:
      return "pel_i8";
    case DType::U8:
    case DType::Bool:
      break;
  }
  return "pel_u8";
}

}  // namespace pel::codegen
