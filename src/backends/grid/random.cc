// Random numbers by Philox, with the bits of the CPU: element i, in row-major order, is computed from the
// words at i of its call's stream. The first two scalars of every call are the seed and the offset of the
// stream.
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "backends/grid/items.h"
#include "backends/grid/kernels.h"
#include "backends/grid/loops.h"
#include "base/philox.h"
#include "codegen/c_like/expr_text.h"

namespace pel::grid {
namespace {

using codegen::cast_text;
using codegen::ItemText;
using codegen::memory_type_name;
using codegen::value_type_name;

// base/philox.h, and random_values.h of the CPU, in text.
constexpr std::string_view kPhilox = R"(
typedef struct { pel_u32 at[4]; } Words;
PEL_INLINE Words philox(pel_i64 seed, pel_i64 offset, pel_u64 block) {
  pel_u32 c0 = (pel_u32)block, c1 = (pel_u32)(block >> 32), c2 = (pel_u32)offset, c3 = (pel_u32)((pel_u64)offset >> 32);
  pel_u32 key0 = (pel_u32)seed, key1 = (pel_u32)((pel_u64)seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const pel_u64 p0 = (pel_u64)0xd2511f53u * c0, p1 = (pel_u64)0xcd9e8d57u * c2;
    c0 = (pel_u32)(p1 >> 32) ^ c1 ^ key0; c1 = (pel_u32)p1;
    c2 = (pel_u32)(p0 >> 32) ^ c3 ^ key1; c3 = (pel_u32)p0;
    key0 += 0x9e3779b9u; key1 += 0xbb67ae85u;
  }
  Words words; words.at[0] = c0; words.at[1] = c1; words.at[2] = c2; words.at[3] = c3;
  return words;
}
PEL_INLINE pel_u32 word32(pel_i64 seed, pel_i64 offset, pel_i64 i) {
  const Words words = philox(seed, offset, (pel_u64)i / 4);
  return words.at[i % 4];
}
PEL_INLINE pel_u64 word64(pel_i64 seed, pel_i64 offset, pel_i64 i) {
  const Words words = philox(seed, offset, (pel_u64)i / 2);
  return (pel_u64)words.at[i % 2 * 2 + 1] << 32 | words.at[i % 2 * 2];
}
#define PEL_RANDOM(F, S, U, W, MANTISSA, ROOT, HALF_PI) \
PEL_INLINE F uniform_##F(U bits, int digits) { \
  const F unit = (F)1 / (F)((U)1 << digits); \
  return mul_##S((F)(as_i_##F)(bits >> (W - digits)), unit); } \
PEL_INLINE F minus_log_##F(U bits) { \
  const U one = 1; \
  const F side = (F)(one << (W / 2)), unit = (F)1 / (side * side); \
  const F high = (F)(as_i_##F)(bits >> (W / 2)), low = (F)(as_i_##F)(bits & ((one << (W / 2)) - 1)); \
  const F u = mul_##S(add_##S(add_##S(mul_##S(high, side), low), (F)0.5), unit); \
  const U from_root = as_u_##F(u) - ROOT; \
  const F e = (F)((as_i_##F)from_root >> MANTISSA); \
  const F m = as_##F((U)((from_root & ((one << MANTISSA) - 1)) + ROOT)); \
  const F s = div_##S(sub_##S(m, (F)1), add_##S(m, (F)1)), x = mul_##S(s, s); \
  LOG_##F \
  return -add_##S(mul_##S(e, (F)0.69314718055994530942), mul_##S(s, h)); } \
PEL_INLINE F turn_##F(U bits, int is_sine) { \
  const U one = 1; \
  const U quarter = (bits + (one << (W - 3))) >> (W - 2); \
  const as_i_##F rest = (as_i_##F)(bits - (quarter << (W - 2))); \
  const F unit = div_##S((F)1.57079632679489661923, (F)(one << (W - 2))); \
  const F t = mul_##S((F)rest, unit), x = mul_##S(t, t); \
  F up, across; \
  { SIN_##F up = add_##S(t, mul_##S(mul_##S(t, x), h)); } \
  { COS_##F across = add_##S((F)1, mul_##S(x, h)); } \
  const int swapped = (quarter & 1) != 0; \
  const F cosine = swapped ? up : across, sine = swapped ? across : up; \
  return is_sine ? ((quarter & 2) != 0 ? -sine : sine) : (((quarter + 1) & 2) != 0 ? -cosine : cosine); }
#define STEP_f32(c) h = add_f32(mul_f32(h, x), (c));
#define LOG_pel_f32 pel_f32 h = 2.0f / 9; STEP_f32(2.0f / 7) STEP_f32(2.0f / 5) STEP_f32(2.0f / 3) STEP_f32(2.0f)
#define SIN_pel_f32 pel_f32 h = 1.0f / 362880; STEP_f32(-1.0f / 5040) STEP_f32(1.0f / 120) STEP_f32(-1.0f / 6)
#define COS_pel_f32 pel_f32 h = -1.0f / 3628800; STEP_f32(1.0f / 40320) STEP_f32(-1.0f / 720) STEP_f32(1.0f / 24) STEP_f32(-0.5f)
typedef pel_i32 as_i_pel_f32;
#define as_u_pel_f32 as_pel_u32
PEL_RANDOM(pel_f32, f32, pel_u32, 32, 23, 0x3f3504f3u, 1)
#ifdef PEL_HAS_F64
#define STEP_f64(c) h = add_f64(mul_f64(h, x), (c));
#define LOG_pel_f64 pel_f64 h = 2.0 / 21; STEP_f64(2.0 / 19) STEP_f64(2.0 / 17) STEP_f64(2.0 / 15) STEP_f64(2.0 / 13) \
  STEP_f64(2.0 / 11) STEP_f64(2.0 / 9) STEP_f64(2.0 / 7) STEP_f64(2.0 / 5) STEP_f64(2.0 / 3) STEP_f64(2.0)
#define SIN_pel_f64 pel_f64 h = 1.0 / 355687428096e3; STEP_f64(-1.0 / 1307674368e3) STEP_f64(1.0 / 6227020800.0) \
  STEP_f64(-1.0 / 39916800.0) STEP_f64(1.0 / 362880) STEP_f64(-1.0 / 5040) STEP_f64(1.0 / 120) STEP_f64(-1.0 / 6)
#define COS_pel_f64 pel_f64 h = -1.0 / 6402373705728e3; STEP_f64(1.0 / 20922789888e3) STEP_f64(-1.0 / 87178291200.0) \
  STEP_f64(1.0 / 479001600.0) STEP_f64(-1.0 / 3628800.0) STEP_f64(1.0 / 40320) STEP_f64(-1.0 / 720) STEP_f64(1.0 / 24) \
  STEP_f64(-0.5)
typedef pel_i64 as_i_pel_f64;
#define as_u_pel_f64 as_pel_u64
PEL_RANDOM(pel_f64, f64, pel_u64, 64, 52, 0x3fe6a09e667f3bcdul, 1)
#endif
)";

// What is computed in: f64 for f64, f32 for the other floating types.
DType real_of(DType dtype) { return dtype == kF64 ? kF64 : kF32; }

std::int64_t bits_of(double value, DType type) { return number_bits({value, 0, PEL_SCALAR_FLOAT, {}}, type); }

// Places of the element in all operands, which broadcast to the first.
std::string places(int operands) {
  std::string text = "  pel_i64 rest = i";
  for (int k = 0; k < operands; ++k) text += fmt::format(", at{} = 0", k);
  text +=
      ";\n  PEL_LOOP for (int axis = 0; axis < call.rank; ++axis) {\n"
      "    const pel_i64 size = call.size[axis], next = rest / size, place = rest - next * size;\n    rest = "
      "next;\n";
  for (int k = 0; k < operands; ++k) text += fmt::format("    at{0} += place * call.step[{0}][axis];\n", k);
  return text + "  }\n";
}

// Launches a kernel for each element of the first operand. `numbers` are its fields a, b, c, d.
void launch_random(const KernelArgs& args, FunctionHandle function, std::array<std::int64_t, 3> numbers,
                   bool may_report = false) {
  const int count = args.output_count + args.input_count;
  const Operand& dst = output(args, 0);
  GridCall call;
  for (int k = 0; k < count; ++k) call.address(args.operands[k].data);
  call.number(count_of(dst));
  call.number(args.scalars[0].as_int);
  call.number(args.scalars[1].as_int);
  for (const std::int64_t number : numbers) call.number(number);
  call.number(dst.rank);
  add_sizes(call, dst);
  for (int k = 0; k < count; ++k) {
    const Operand& operand = args.operands[k];
    for (int i = 0; i < kMaxGridAxes; ++i) {  // the innermost axis first; an axis of size 1 repeats
      const int own = operand.rank - 1 - i;
      call.number(own >= 0 && operand.sizes[own] != 1 ? operand.strides[own] : 0);
    }
  }
  call.launch(function, count_of(dst), kItems, may_report);
}

FunctionHandle random_function(Functions& functions, const KernelArgs& args, const std::string& name,
                               const auto& statements) {
  const int count = args.output_count + args.input_count;
  std::uint64_t key = 1;
  for (int k = 0; k < count; ++k) key = key << 4 | args.operands[k].dtype;
  return built_items(functions, key, name, [&] {
    return ItemText{name, count,
                    fmt::format("seed, offset_of_stream, a, b, c, rank, size[8], step[{}][8]", count),
                    std::string(kPhilox), places(count) + statements()};
  });
}

std::string number_of(std::string_view field, DType type) {
  return type == kF64 ? fmt::format("as_pel_f64(call.{})", field)
                      : fmt::format("as_pel_f32((pel_u32)call.{})", field);
}
std::string word(DType real, std::string_view at) {
  return fmt::format("{}(call.seed, call.offset_of_stream, {})", real == kF64 ? "word64" : "word32", at);
}
std::string store(int operand, DType dtype, std::string_view value, DType from) {
  return fmt::format("  PEL_AT({0}, {1})[at{1}] = ({0})({2});\n", memory_type_name(dtype), operand,
                     cast_text(std::string(value), from, dtype, 1));
}
std::string load(int operand, DType dtype, DType to) {
  return cast_text(fmt::format("PEL_AT(const {0}, {1})[at{1}]", memory_type_name(dtype), operand), dtype, to,
                   1);
}

// Scalars: the bounds. Only as many digits as the dtype has, so that the result never rounds to 1.
void run_uniform(Stream&, const KernelArgs& args) {
  const DType dtype = dtype_of(output(args, 0)), real = real_of(dtype);
  static Functions functions;
  const FunctionHandle function = random_function(functions, args, "pel_uniform", [&] {
    const int digits = dtype == kF16 ? 11 : dtype == kBF16 ? 8 : dtype == kF64 ? 53 : 24;
    return fmt::format("  const {0} value = add_{1}(mul_{1}(uniform_{0}({2}, {3}), {4}), {5});\n",
                       value_type_name(real), name(real), word(real, "i"), digits, number_of("b", real),
                       number_of("a", real)) +
           store(0, dtype, "value", real);
  });
  const double low = args.scalars[2].as_float, high = args.scalars[3].as_float;
  const double width =
      real == kF64 ? high - low : static_cast<double>(static_cast<float>(high) - static_cast<float>(low));
  launch_random(args, function, {bits_of(low, real), bits_of(width, real), 0});
}

// Box-Muller: the first number of a pair determines the radius, the second the angle.
std::string normal_text(DType real) {
  return fmt::format(
      "  const pel_i64 pair = i / 2 * 2;\n"
      "  const {0} radius = sqrt_{1}(mul_{1}(({0})2, minus_log_{0}({2})));\n"
      "  const {0} normal = mul_{1}(radius, turn_{0}({3}, (int)(i % 2)));\n",
      value_type_name(real), name(real), word(real, "pair"), word(real, "pair + 1"));
}
void run_normal(Stream&, const KernelArgs& args) {
  const DType dtype = dtype_of(output(args, 0)), real = real_of(dtype);
  static Functions functions;
  const FunctionHandle function = random_function(functions, args, "pel_normal", [&] {
    return normal_text(real) +
           fmt::format("  const {0} value = add_{1}(mul_{1}(normal, {2}), {3});\n", value_type_name(real),
                       name(real), number_of("b", real), number_of("a", real)) +
           store(0, dtype, "value", real);
  });
  launch_random(args, function,
                {bits_of(args.scalars[2].as_float, real), bits_of(args.scalars[3].as_float, real), 0});
}
// Inputs: means and standard deviations.
void run_normal_of(Stream&, const KernelArgs& args) {
  const DType dtype = dtype_of(output(args, 0)), real = real_of(dtype);
  static Functions functions;
  const FunctionHandle function = random_function(functions, args, "pel_normal_of", [&] {
    // The CPU scales a normal of mean 0 and deviation 1 first.
    return normal_text(real) +
           fmt::format(
               "  const {0} plain = add_{1}(mul_{1}(normal, ({0})1), ({0})0), deviation = {2};\n"
               "  if (!(deviation >= 0)) pel_report(status, call.launch, {4}, {5}, 0);\n"
               "  const {0} value = add_{1}(mul_{1}(plain, deviation), {3});\n",
               value_type_name(real), name(real), load(2, dtype_of(input(args, 1)), real),
               load(1, dtype_of(input(args, 0)), real), codegen::kReportsDeviation,
               launch_target().device->facts().has_f64 ? "as_pel_i64((pel_f64)deviation)" : "0") +
           store(0, dtype, "value", real);
  });
  launch_random(args, function, {0, 0, 0}, true);
}

// Scalar: the rate. 0 is not a value of this distribution.
void run_exponential(Stream&, const KernelArgs& args) {
  const DType dtype = dtype_of(output(args, 0)), real = real_of(dtype);
  static Functions functions;
  const FunctionHandle function = random_function(functions, args, "pel_exponential", [&] {
    return fmt::format(
               "  const {0} x = minus_log_{0}({2}), low = {3};\n"
               "  const {0} value = div_{1}(x < low ? low : x, {4});\n",
               value_type_name(real), name(real), word(real, "i"), real == kF64 ? "0x1p-65" : "0x1p-33f",
               number_of("a", real)) +
           store(0, dtype, "value", real);
  });
  launch_random(args, function, {bits_of(args.scalars[2].as_float, real), 0, 0});
}

// Scalars: the lowest value, and the number of values, unsigned; 0 means 2^64.
void run_randint(Stream&, const KernelArgs& args) {
  const DType dtype = dtype_of(output(args, 0));
  static Functions functions;
  const FunctionHandle function = random_function(functions, args, "pel_randint", [&] {
    return fmt::format(
               "  const pel_u64 bits = {}, range = (pel_u64)call.b;\n"
               "  const pel_i64 value = (pel_i64)((pel_u64)call.a + (range == 0 ? bits : PEL_MUL_HIGH(range, "
               "bits)));\n",
               word(kF64, "i")) +
           store(0, dtype, "value", kI64);
  });
  launch_random(args, function, {args.scalars[2].as_int, args.scalars[3].as_int, 0});
}

// Words below this mean yes, out of 2^32.
std::int64_t words_below(double p) { return static_cast<std::int64_t>(std::ceil(p * 0x1p32)); }

// One probability for all elements, or one for each.
void run_bernoulli(Stream&, const KernelArgs& args) {
  const DType dtype = dtype_of(output(args, 0));
  static Functions functions;
  const FunctionHandle function = random_function(functions, args, "pel_bernoulli", [&] {
    return fmt::format("  const pel_i32 value = (pel_i64){} < call.a ? 1 : 0;\n", word(kF32, "i")) +
           store(0, dtype, "value", kI32);
  });
  launch_random(args, function, {words_below(args.scalars[2].as_float), 0, 0});
}
void run_bernoulli_of(Stream&, const KernelArgs& args) {
  const DType dtype = dtype_of(output(args, 0));
  static Functions functions;
  const FunctionHandle function = random_function(functions, args, "pel_bernoulli_of", [&] {
    return fmt::format(
               "  const pel_f64 p = {};\n"
               "  if (!(p >= 0 && p <= 1)) {{ pel_report(status, call.launch, {}, as_pel_i64(p), 0); return; "
               "}}\n"
               "  const pel_i32 value = (pel_i64){} < (pel_i64)ceil(mul_f64(p, 0x1p32)) ? 1 : 0;\n",
               load(1, dtype_of(input(args, 0)), kF64), codegen::kReportsProbability, word(kF32, "i")) +
           store(0, dtype, "value", kI32);
  });
  launch_random(args, function, {0, 0, 0}, true);
}
Support has_one_probability(const KernelArgs& args) {
  return args.input_count == 0 ? supports_memory(args) : Support::no("each element has its own probability");
}

// Outputs: the result and the mask of retained elements. Scalar: the probability of dropping.
void run_dropout(Stream&, const KernelArgs& args) {
  const DType dtype = dtype_of(output(args, 0)), real = real_of(dtype);
  static Functions functions;
  const FunctionHandle function = random_function(functions, args, "pel_dropout", [&] {
    return fmt::format(
               "  const bool is_kept = (pel_i64){2} < call.a;\n"
               "  const {0} value = mul_{1}(is_kept ? {3} : ({0})0, {4});\n",
               value_type_name(real), name(real), word(kF32, "i"), number_of("b", real),
               load(2, dtype_of(input(args, 0)), real)) +
           store(0, dtype, "value", real) + "  PEL_AT(pel_u8, 1)[at1] = is_kept ? 1 : 0;\n";
  });
  const double keep = 1 - args.scalars[2].as_float;
  launch_random(args, function, {words_below(keep), bits_of(keep == 0 ? 0 : 1 / keep, real), 0});
}

// For ops on f64 values.
Support supports_random(const KernelArgs& args) {
  if (!abilities().has_f64 && dtype_of(output(args, 0)) == kF64) return Support::no("the device has no f64");
  return supports_memory(args);
}
Support supports_probabilities(const KernelArgs& args) {
  if (args.input_count != 1) return Support::no("the call has one probability for all elements");
  return abilities().has_f64 ? supports_memory(args) : Support::no("the device has no f64");
}

}  // namespace

KernelLists random_kernels() {
  static const auto kUniform = std::to_array<Kernel>({{"random_uniform_text", supports_random, run_uniform}});
  static const auto kNormal = std::to_array<Kernel>({{"random_normal_text", supports_random, run_normal}});
  static const auto kNormalOf =
      std::to_array<Kernel>({{"random_normal_of_text", supports_random, run_normal_of}});
  static const auto kExponential =
      std::to_array<Kernel>({{"random_exponential_text", supports_random, run_exponential}});
  static const auto kRandint =
      std::to_array<Kernel>({{"random_integers_text", supports_random, run_randint}});
  static const auto kBernoulli =
      std::to_array<Kernel>({{"random_bernoulli_of_text", supports_probabilities, run_bernoulli_of},
                             {"random_bernoulli_text", has_one_probability, run_bernoulli}});
  static const auto kDropout = std::to_array<Kernel>({{"random_dropout_text", supports_random, run_dropout}});
  static const auto kLists = std::to_array<BackendKernels>({{"uniform_", kUniform},
                                                            {"normal_", kNormal},
                                                            {"normal", kNormalOf},
                                                            {"exponential_", kExponential},
                                                            {"randint", kRandint},
                                                            {"bernoulli_", kBernoulli},
                                                            {"native_dropout", kDropout}});
  return kLists;
}

}  // namespace pel::grid
