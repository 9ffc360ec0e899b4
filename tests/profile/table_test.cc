// Sums of a profile, compared with values computed by hand.
#include <string>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

namespace pel {
namespace {

template <class F>
std::vector<ProfileRow> rows_of(F&& f, ProfileBy by) {
  Profile profile;
  f();
  return profile.rows(by);
}

const ProfileRow& row(const std::vector<ProfileRow>& rows, const std::string& name) {
  for (const ProfileRow& each : rows) {
    if (each.name == name) return each;
  }
  throw std::runtime_error("no row " + name);
}

ProfileRow total(const std::vector<ProfileRow>& rows) {
  ProfileRow sum;
  for (const ProfileRow& each : rows) {
    sum.own_kernels += each.own_kernels;
    sum.own_kernel_ns += each.own_kernel_ns;
    sum.self_ns += each.self_ns;
    sum.bytes += each.bytes;
    sum.flops += each.flops;
  }
  return sum;
}

TEST(Table, AnOpHasTheKernelsInsideAndThoseOfItsOwn) {
  const Tensor x = ones({4, 6}), w = ones({5, 6}), bias = ones({5});
  const auto rows = rows_of([&] { linear(x, w, bias); }, ProfileBy::Op);
  EXPECT_EQ(row(rows, "linear").calls, 1u);
  EXPECT_EQ(row(rows, "linear").kernels, 1u);
  EXPECT_EQ(row(rows, "linear").own_kernels, 0u);
  EXPECT_EQ(row(rows, "addmm").own_kernels, 1u);
  EXPECT_EQ(row(rows, "addmm").flops, 2u * 4 * 5 * 6);
  EXPECT_EQ(row(rows, "t").kernels, 0u);
  EXPECT_EQ(row(rows, "t").kernel_ns, 0u);
  // Each moment belongs to one op.
  EXPECT_LE(total(rows).self_ns, row(rows, "linear").total_ns + 3);
  EXPECT_GE(total(rows).self_ns + 3, row(rows, "linear").total_ns);
  EXPECT_GE(row(rows, "addmm").total_ns, row(rows, "addmm").kernel_ns + row(rows, "addmm").before_kernel_ns);
}

// Rows r, width d, hidden width h; f32.
TEST(Table, TheGegluMlpIsFiveKernelsWithTheseBytesAndFlops) {
  constexpr std::uint64_t r = 24, d = 16, h = 40;
  const nn::GEGLU mlp(d, h);
  const Tensor x = ones({r, d});
  const NoGrad no_grad;
  mlp(x);
  const std::uint64_t matmuls = 2 * (r * d + d * h + r * h) + (r * h + h * d + r * d);
  const std::uint64_t gelu = 2 * r * h, mul = 3 * r * h;
  for (const ProfileBy by : {ProfileBy::Op, ProfileBy::Kernel, ProfileBy::Site, ProfileBy::Module}) {
    const ProfileRow sum = total(rows_of([&] { mlp(x); }, by));
    EXPECT_EQ(sum.own_kernels, 5u);
    EXPECT_EQ(sum.bytes, 4 * (matmuls + gelu + mul));
    EXPECT_EQ(sum.flops, 3 * 2 * r * d * h);
  }
  const auto modules = rows_of([&] { mlp(x); }, ProfileBy::Module);
  EXPECT_EQ(row(modules, "model").kernels, 5u);
  EXPECT_EQ(row(modules, "model").own_kernels, 2u);
  EXPECT_EQ(row(modules, "down").own_kernels, 1u);
}

// Batch b, tokens t, width d in heads of w, hidden width 4 d; f32.
TEST(Table, ATransformerBlockHasTheKernelsBytesAndFlopsOfItsFormulas) {
  constexpr std::int64_t b = 2, t = 10, heads = 3, w = 8, d = heads * w;
  const NoGrad no_grad;
  const Tensor x = ones({b, t, d}), scale = ones({d}), shift = ones({d});
  const Tensor qkv = ones({3 * d, d}), out = ones({d, d}), up = ones({4 * d, d}), down = ones({d, 4 * d});
  const auto block = [&] {
    const Tensor n = layer_norm(x, {d}, scale, shift);
    const std::vector<Tensor> parts = linear(n, qkv).view({b, t, 3 * heads, w}).transpose(1, 2).chunk(3, 1);
    const Tensor a = scaled_dot_product_attention(parts[0], parts[1], parts[2]);
    const Tensor y = add(x, linear(a.transpose(1, 2).contiguous().view({b, t, d}), out));
    const Tensor m = layer_norm(y, {d}, scale, shift);
    return add(y, linear(gelu(linear(m, up)), down));
  };
  block();
  constexpr std::uint64_t rows = b * t;
  const ProfileRow sum = total(rows_of(block, ProfileBy::Kernel));
  EXPECT_EQ(sum.flops, 2 * rows * d * (3 * d + d + 4 * d + 4 * d) + 2 * b * heads * t * t * (w + w));
  const auto ops = rows_of(block, ProfileBy::Op);
  EXPECT_EQ(row(ops, "linear").calls, 4u);
  EXPECT_EQ(row(ops, "linear").kernels, 4u);
  EXPECT_EQ(row(ops, "transpose").kernels, 0u);
  EXPECT_EQ(sum.own_kernels, 10u);
  const std::uint64_t norms =
      2 * (rows * d + 2 * d + rows * d + 2 * rows);  // with a mean and a scale for each row
  const std::uint64_t matmuls = (rows * d + 3 * d * d + rows * 3 * d) + (rows * d + d * d + rows * d) +
                                (rows * d + 4 * d * d + rows * 4 * d) + (rows * 4 * d + 4 * d * d + rows * d);
  const std::uint64_t attention = 4 * rows * d + b * heads * t;  // with a sum for each row of scores
  const std::uint64_t pointwise = 2 * (3 * rows * d) + 2 * (rows * 4 * d);
  EXPECT_EQ(sum.bytes, 4 * (norms + matmuls + attention + pointwise));
}

TEST(Table, FitsATerminalAndSaysWhatItLeavesOut) {
  const Tensor x = ones({8, 8});
  Profile profile;
  neg(x);
  mm(x, x);
  {
    const Range range("one");
    add(x, x);
  }
  const std::string text = profile.table(ProfileBy::Op, 2);
  EXPECT_NE(text.find("and 1 more"), std::string::npos) << text;
  EXPECT_NE(text.find("3 kernels in "), std::string::npos) << text;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }), 100)
        << line;
    begin = end + 1;
  }
}

}  // namespace
}  // namespace pel
