// The form of kernels that graphs have: what is changed in their PTX, and that they compute the same.
#include "backends/cuda/table_form.h"

#include <array>

#include <gtest/gtest.h>

#include "backends/cuda/nvrtc.h"
#include "support/cuda_driver/ptx_module.h"

namespace pel::cuda {
namespace {

constexpr const char* kPtx = R"(.visible .entry f(
	.param .u64 f_param_0,
	.param .u64 f_param_1,
	.param .u64 f_param_2,
	.param .align 8 .b8 f_param_3[24]
)
{
	ld.param.u64 	%rd1, [f_param_0];
	@%p1 ld.param.u64 	%rd2, [f_param_1];
	ld.param.u64 	%rd3, [f_param_2];
	ld.param.u64 	%rd4, [f_param_3+8];
	cvta.to.global.u64 	%rd5, %rd1;
}
)";

TEST(TableForm, LoadsEachAddressOnceMore) {
  const std::optional<std::string> form = with_address_table(kPtx, "f", 2);
  ASSERT_TRUE(form.has_value());
  std::string wanted = kPtx;
  const auto after = [&](std::string_view line, std::string_view added) {
    const std::size_t at = wanted.find(line) + line.size();
    wanted.insert(at, added);
  };
  after("%rd1, [f_param_0];\n", "\tld.u64 %rd1, [%rd1];\n");
  after("%rd2, [f_param_1];\n", "\t@%p1 ld.u64 %rd2, [%rd2];\n");
  EXPECT_EQ(*form, wanted);
}

TEST(TableForm, AUseThatIsNotKnownIsRefused) {
  for (const char* const bad :
       {"\tmov.b64 \t%rd1, f_param_0;\n", "\tld.param.u32 \t%r1, [f_param_0];\n",
        "\tld.param.v2.u64 \t{%rd1, %rd2}, [f_param_0];\n", "\tld.param.u64 \t%rd1, [f_param_0+8];\n"})
    EXPECT_FALSE(with_address_table(bad, "f", 1).has_value()) << bad;
  EXPECT_TRUE(with_address_table("\tmov.b64 \t%rd1, f_param_10;\n", "f", 2).has_value());
}

TEST(TableForm, ComputesTheSame) {
  if (const std::string& refusal = nvrtc_refusal(); !refusal.empty()) GTEST_SKIP() << refusal;
  const std::string ptx = compile_to_ptx(
      "f",
      "extern \"C\" __global__ void f(int* to, const int* from) { to[threadIdx.x] = 3 * from[threadIdx.x]; }",
      "compute_80");
  const std::optional<std::string> form = with_address_table(ptx, "f", 2);
  ASSERT_TRUE(form.has_value());
  std::array<int, 8> from{1, 2, 3, 4, 5, 6, 7, 8}, plain{}, by_table{};
  const auto run = [&](const std::string& text, const void* to, const void* source) {
    const test::ptx::Module module(text);
    const void* parameters[] = {static_cast<const void*>(&to), static_cast<const void*>(&source)};
    test::ptx::run(
        *module.find("f"), {1, 1, 1}, {8, 1, 1}, parameters, [](std::uint64_t, std::size_t) { return true; },
        1);
  };
  run(ptx, plain.data(), from.data());
  const void* table[] = {by_table.data(), from.data()};
  run(*form, &table[0], &table[1]);
  EXPECT_EQ(plain[7], 24);
  EXPECT_EQ(by_table, plain);
}

}  // namespace
}  // namespace pel::cuda
