// Kernels as text: what is written for each skeleton. Drivers run it in tests/device.
#include <gtest/gtest.h>

#include "codegen/c_like/expr_text.h"
#include "codegen/c_like/item_text.h"
#include "codegen/c_like/loop_text.h"

namespace pel::codegen {
namespace {

using scalar::ScalarBuilder;
using scalar::ScalarExpr;
using scalar::Term;

ScalarExpr sum_of_two(DType type) {
  ScalarBuilder builder;
  const Term a = builder.input(type), b = builder.input(type);
  const Term result = a + b;
  return builder.finish({&result, 1});
}
// Without the header of the dialect.
std::string body_of(const std::string& text) {
  return text.substr(text.find("typedef struct { pel_i64 offset"));
}

TEST(CLike, ADenseLoopHasVectorsWhereAnItemRunsOnACore) {
  const ScalarExpr body = sum_of_two(kF32);
  EXPECT_EQ(
      body_of(pointwise_text(opencl_dialect(), {"f", &body, {kF32}, {kF32, kF32}, true, kVectorLanes})),
      "typedef struct { pel_i64 offset[3]; pel_i64 launch; pel_i64 count; pel_i64 step[3]; pel_i64 "
      "number[1]; } "
      "Call;\n"
      "PEL_KERNEL void f(PEL_MEMORY m0, PEL_MEMORY m1, PEL_MEMORY m2, PEL_STATUS status, const Call call) {\n"
      "  const pel_i64 i = PEL_ID(0) * 16;\n"
      "  if (i >= call.count) return;\n"
      "  const pel_f32x16 in0 = load_pel_f32x16(PEL_AT(const pel_f32, 1), i, call.step[1], call.count);\n"
      "  const pel_f32x16 in1 = load_pel_f32x16(PEL_AT(const pel_f32, 2), i, call.step[2], call.count);\n"
      "  const pel_f32x16 v0 = in0;\n"
      "  const pel_f32x16 v1 = in1;\n"
      "  const pel_f32x16 v2 = add_f32(v0, v1);\n"
      "  store_pel_f32x16(PEL_AT(pel_f32, 0), i, call.count, (v2));\n"
      "}\n");
}

TEST(CLike, AStridedLoopHasOneElementAnItemAndConvertsWhatIsStoredOtherwise) {
  const ScalarExpr body = sum_of_two(kI16);
  EXPECT_EQ(body_of(pointwise_text(opencl_dialect(), {"f", &body, {kI16}, {kU8, std::nullopt}, false, 1})),
            "typedef struct { pel_i64 offset[2]; pel_i64 launch; pel_i64 count; pel_i64 rank; pel_i64 "
            "size[8]; pel_i64 "
            "step[2][8]; pel_i64 number[1]; } Call;\n"
            "PEL_KERNEL void f(PEL_MEMORY m0, PEL_MEMORY m1, PEL_STATUS status, const Call call) {\n"
            "  const pel_i64 i = PEL_ID(0);\n"
            "  if (i >= call.count) return;\n"
            "  pel_i64 at0 = 0;\n"
            "  pel_i64 at1 = 0;\n"
            "  pel_i64 rest = i;\n"
            "  PEL_LOOP for (int axis = 0; axis < call.rank; ++axis) {\n"
            "    const pel_i64 size = call.size[axis], next = rest / size, place = rest - next * size;\n"
            "    rest = next;\n"
            "    at0 += place * call.step[0][axis];\n"
            "    at1 += place * call.step[1][axis];\n"
            "  }\n"
            "  const pel_i16 in0 = convert_pel_i16(PEL_AT(const pel_u8, 1)[at1]);\n"
            "  const pel_i16 in1 = (pel_i16)call.number[0];\n"
            "  const pel_i16 v0 = in0;\n"
            "  const pel_i16 v1 = in1;\n"
            "  const pel_i16 v2 = (pel_i16)((pel_u32)v0 + (pel_u32)v1);\n"
            "  PEL_AT(pel_i16, 0)[at0] = (v2);\n"
            "}\n");
}

TEST(CLike, IntegerDivisionsRunElementByElementAndReportADivisorOfZero) {
  ScalarBuilder builder;
  const Term a = builder.input(kI32), b = builder.input(kI32);
  const Term result = a / b;
  const ScalarExpr body = builder.finish({&result, 1});
  EXPECT_FALSE(has_vector_form(body));
  const std::string text = pointwise_text(opencl_dialect(), {"f", &body, {kI32}, {kI32, kI32}, true, 1});
  EXPECT_NE(text.find("  const pel_i32 v2 = div_pel_i32(v0, v1, &failed);\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  if (failed) pel_report(status, call.launch, 1, 0, 0);\n"), std::string::npos)
      << text;
}

TEST(CLike, MasksHaveTheWidthOfWhatTheyChooseFrom) {
  ScalarBuilder builder;
  const Term a = builder.input(kF64), b = builder.input(kF64);
  const Term result = select(a < b, a, b);
  const ScalarExpr body = builder.finish({&result, 1});
  std::string tables;
  EXPECT_EQ(expr_statements(body, kVectorLanes, "v", "f", tables),
            "  const pel_f64x16 v0 = in0;\n"
            "  const pel_f64x16 v1 = in1;\n"
            "  const pel_boolx16 v2 = convert_pel_i8x16(v0 < v1);\n"
            "  const pel_f64x16 v3 = (convert_pel_i64x16(v2) ? v0 : v1);\n");
  EXPECT_EQ(expr_function(body, "least"),
            "PEL_INLINE pel_f64 least(pel_f64 in0, pel_f64 in1) {\n"
            "  const pel_f64 v0 = in0;\n"
            "  const pel_f64 v1 = in1;\n"
            "  const pel_bool v2 = v0 < v1;\n"
            "  const pel_f64 v3 = (v2 ? v0 : v1);\n"
            "  return v3;\n}\n");
}

TEST(CLike, ARowHasRunningValuesOverBlocks) {
  RowsText rows;
  rows.name = "f";
  rows.value = kF32;
  rows.inputs = rows.stored_inputs = {kF32};
  rows.stored_outputs = {kF32};
  rows.folds.emplace_back();
  ScalarBuilder one;
  const Term element = one.input(kF32);
  rows.folds[0].element = one.finish({&element, 1});
  rows.folds[0].combine = sum_of_two(kF32);
  ScalarBuilder value;
  const Term folded = value.input(kF32);
  rows.outputs.push_back({RowsText::Kind::Value, kF32, value.finish({&folded, 1})});
  rows.is_dense = true;
  const std::string text = rows_text(opencl_dialect(), rows);
  EXPECT_NE(
      text.find(
          "const pel_i64 k = at + l; const pel_f32 e0 = p1[k]; lanes[l] = combine0(lanes[l], element0(e0));"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("  p0[0] = (output0(value0));\n"), std::string::npos) << text;
}

TEST(CLike, HalvesAreCombinedInF32) {
  EXPECT_EQ(combine_function(Combine::Add, kBF16, "combine"),
            "PEL_INLINE pel_bf16 combine(pel_bf16 a, pel_bf16 b) {\n"
            "  const pel_f32 x = as_pel_f32((pel_u32)(a) << 16), y = as_pel_f32((pel_u32)(b) << 16);\n"
            "  const pel_f32 z = add_f32(x, y);\n"
            "  return (pel_bf16)(f32_to_bf16(z));\n}\n");
}

TEST(CLike, DialectsDifferInTheirHeadersAlone) {
  const ScalarExpr body = sum_of_two(kF32);
  const auto texts = [&](const Dialect& dialect) {
    const PointwiseText dense{"f", &body, {kF32}, {kF32, kBF16}, true, 1};
    PointwiseText strided = dense;
    strided.is_dense = false;
    std::vector<std::string> all = {
        pointwise_text(dialect, dense), pointwise_text(dialect, strided),
        item_text(dialect, {"f", 1, "step", "", "  PEL_AT(pel_f32, 0)[i] = 1;\n"})};
    for (std::string& text : all) text = body_of(text);
    return all;
  };
  EXPECT_EQ(texts(opencl_dialect()), texts(cuda_dialect()));
  EXPECT_NE(kernel_header(opencl_dialect(), 1), kernel_header(cuda_dialect(), 1));
}

}  // namespace
}  // namespace pel::codegen
