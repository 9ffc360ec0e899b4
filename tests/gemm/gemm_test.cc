// Checks every GEMM kernel against sums in long double, over dtypes, layouts, sizes and epilogues. The error
// is relative to the sum of the magnitudes of the products: at most as many roundings as the depth of the
// sum.
#include <cmath>
#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/pellucid.h"

#include "dispatch/op_table.h"
#include "support/bytes.h"
#include "support/environment.h"
#include "support/errors.h"
#include "tensor/convert.h"
#include "tensor/make.h"

namespace pel {
namespace {

enum class Order : std::uint8_t { Rows, Columns, Gaps, Strided, Repeated, Shared, Interleaved };
constexpr std::string_view kOrderNames[] = {"rows",     "columns", "gaps",       "strided",
                                            "repeated", "shared",  "interleaved"};
constexpr int kOrderCount = 7;

// Returns small integers for integer dtypes, fractions for others; deterministic for a seed.
Tensor random_tensor(Dims sizes, DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  if (!is_floating(dtype))
    return to_copy(
        randint(dtype == kU8 || dtype == kBool ? 0 : -4, dtype == kBool ? 2 : 5, sizes, {}, generator),
        dtype);
  return to_copy(randn(sizes, {}, generator), dtype);
}

// Returns a batch of matrices with the memory order `order`.
Tensor laid_out(Order order, std::int64_t batch, std::int64_t rows, std::int64_t columns, DType dtype,
                std::uint64_t seed) {
  switch (order) {
    case Order::Rows:
      return random_tensor({batch, rows, columns}, dtype, seed);
    case Order::Columns:
      return random_tensor({batch, columns, rows}, dtype, seed).transpose(1, 2);
    case Order::Gaps:
      return random_tensor({batch, rows, columns + 3}, dtype, seed).slice(2, 2, columns + 2);
    case Order::Strided:
      return random_tensor({batch, rows, 2 * columns}, dtype, seed).slice(2, 0, 2 * columns, 2);
    case Order::Repeated:
      return random_tensor({batch, 1, columns}, dtype, seed).expand({batch, rows, columns});
    case Order::Shared:  // one matrix for the whole batch
      return random_tensor({1, rows, columns}, dtype, seed).expand({batch, rows, columns});
    case Order::Interleaved:  // row 0 of each, row 1 of each, …
      return random_tensor({rows, batch, columns}, dtype, seed).transpose(0, 1);
  }
  return {};
}

struct Epilogue {
  std::string_view name;
  int added;  // rank of the added tensor; 0: none
  double beta, alpha;
};
constexpr Epilogue kEpilogues[] = {{"plain", 0, 0, 1},      {"alpha", 0, 0, -2}, {"bias", 1, 1, 1},
                                   {"bias_alpha", 1, 1, 3}, {"add", 2, 1, 1},    {"add_beta", 2, 2, -1}};

struct GemmCase {
  DType dtype;
  Order a, b;
  std::int64_t batch, m, n, k;
  Epilogue epilogue;
  std::string name() const {
    return fmt::format("{}/{}/{}/{}x{}x{}x{}/{}", pel::name(dtype), kOrderNames[static_cast<int>(a)],
                       kOrderNames[static_cast<int>(b)], batch, m, n, k, epilogue.name);
  }
};

std::vector<GemmCase> all_cases() {
  constexpr std::int64_t kSizes[][4] = {{1, 1, 1, 1},    {1, 4, 4, 4},    {1, 3, 5, 7},   {1, 17, 33, 65},
                                        {1, 64, 48, 32}, {1, 1, 70, 130}, {1, 90, 1, 40}, {1, 5, 300, 9},
                                        {1, 2, 3, 0},    {1, 0, 3, 4},    {3, 6, 10, 20}, {2, 33, 18, 100}};
  std::vector<GemmCase> cases;
  std::int64_t number = 0;
  for (int d = 0; d < kDTypeCount; ++d) {
    for (int a = 0; a < kOrderCount; ++a) {
      for (int b = 0; b < kOrderCount; ++b) {
        for (const auto& [batch, m, n, k] : kSizes) {
          for (int pick = 0; pick < 2; ++pick) {  // two epilogues each, round-robin
            const Epilogue& epilogue = kEpilogues[static_cast<std::size_t>(number % std::ssize(kEpilogues))];
            if (number++ % test::test_share() == 0)
              cases.push_back({static_cast<DType>(d), static_cast<Order>(a), static_cast<Order>(b), batch, m,
                               n, k, epilogue});
          }
        }
      }
    }
  }
  return cases;
}

long double at(const Tensor& t, std::int64_t b, std::int64_t i, std::int64_t j) {
  const Dims strides = t.strides();
  const std::int64_t offset = b * strides[0].value() + i * strides[1].value() + j * strides[2].value();
  long double value = 0;
  with_type(t.dtype(), [&]<class T>(std::type_identity<T>) {
    const T x =
        load_as<T>(static_cast<const char*>(t.raw_data()) + offset * static_cast<std::int64_t>(sizeof(T)));
    if constexpr (kIsHalf<T>) {
      value = static_cast<long double>(static_cast<float>(x));
    } else {
      value = static_cast<long double>(x);
    }
  });
  return value;
}

struct Operands {
  Tensor a, b, added;
};
Operands make_operands(const GemmCase& c) {
  Operands all{
      laid_out(c.a, c.batch, c.m, c.k, c.dtype, 1), laid_out(c.b, c.batch, c.k, c.n, c.dtype, 2), {}};
  if (c.epilogue.added == 1) all.added = random_tensor({c.n}, c.dtype, 3).expand({c.batch, c.m, c.n});
  if (c.epilogue.added == 2) all.added = random_tensor({c.batch, c.m, c.n}, c.dtype, 3);
  return all;
}

// Returns an empty string or a description of the difference.
std::string compare(const GemmCase& c, const Operands& in, const Tensor& result) {
  const int digits = c.dtype == kF64 ? 52 : c.dtype == kF16 ? 10 : c.dtype == kBF16 ? 7 : 23;
  const int value_digits = c.dtype == kF64 ? 52 : 23;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        long double sum = 0, sizes = 0;
        for (std::int64_t l = 0; l < c.k; ++l) {
          const long double product = at(in.a, b, i, l) * at(in.b, b, l, j);
          sum += product;
          sizes += std::abs(product);
        }
        sum *= c.epilogue.alpha;
        sizes *= std::abs(c.epilogue.alpha);
        if (in.added.defined()) {
          const long double more = c.epilogue.beta * at(in.added, b, i, j);
          sum += more;
          sizes += std::abs(more);
        }
        const long double actual = at(result, b, i, j);
        long double expected = sum, allowed = 0;
        if (c.dtype == kBool) {
          expected = sizes != 0;  // bool: or of ands
        } else if (!is_floating(c.dtype)) {
          const int bits = 8 * static_cast<int>(size_bytes(c.dtype));
          if (bits < 64) {  // integers wrap
            const std::int64_t whole = static_cast<std::int64_t>(sum) & ((std::int64_t{1} << bits) - 1);
            const bool negative = c.dtype != kU8 && (whole >> (bits - 1) & 1) != 0;
            expected = static_cast<long double>(negative ? whole - (std::int64_t{1} << bits) : whole);
          }
        } else {
          allowed = std::ldexp(std::abs(sum), -digits) +
                    std::ldexp(sizes * static_cast<long double>(c.k + 3), -value_digits);
        }
        if (std::abs(actual - expected) > allowed)
          return fmt::format("element ({}, {}, {}) is {}, not {}; {} is allowed", b, i, j,
                             static_cast<double>(actual), static_cast<double>(expected),
                             static_cast<double>(allowed));
      }
    }
  }
  return "";
}

// Arguments as launch() builds them.
struct Arguments {
  Arguments(const Tensor& out, const Operands& in, const GemmCase& c) {
    for (const Tensor* t : {&out, &in.a, &in.b, &in.added}) {
      if (!t->defined()) continue;
      Operand& o = operands[count++];
      o = {};
      o.data = t->raw_data();
      o.sizes = reinterpret_cast<const std::int64_t*>(t->sizes().data());
      o.strides = reinterpret_cast<const std::int64_t*>(t->strides().data());
      o.rank = 3;
      o.dtype = static_cast<std::uint8_t>(t->dtype());
    }
    const auto number = [](double x) {
      return PelScalar{x, static_cast<std::int64_t>(x), PEL_SCALAR_FLOAT, {}};
    };
    scalars[0] = number(c.epilogue.beta);
    scalars[1] = number(c.epilogue.alpha);
    args = {PEL_KERNEL_ARGS_VERSION,
            1,
            static_cast<std::uint16_t>(count - 1),
            operands,
            scalars,
            2,
            0,
            nullptr,
            0,
            nullptr};
  }
  Operand operands[4];
  PelScalar scalars[2];
  std::size_t count = 0;
  KernelArgs args;
};

TEST(Gemm, EveryKernelIsWithinTheBoundOnEveryLayout) {
  std::map<std::string, std::int64_t> ran, refused;
  std::int64_t failures = 0;
  Stream stream(kCpu);
  for (const GemmCase& c : all_cases()) {
    if (c.m * c.n == 0) continue;
    const Operands in = make_operands(c);
    for (const Kernel& kernel : op<"bmm">().kernels(DeviceType::Cpu)) {
      const Tensor out = full({c.batch, c.m, c.n}, 1, c.dtype);
      const Arguments arguments(out, in, c);
      if (const Support support = kernel.supports(arguments.args); !support) {
        ++refused[fmt::format("{}: {}", kernel.name, support.reason())];
        continue;
      }
      try {
        kernel.run(stream, arguments.args);
      } catch (const Error& error) {
        ADD_FAILURE() << kernel.name << " " << c.name() << ": " << error.what();
        if (++failures > 5) return;
        continue;
      }
      ++ran[kernel.name];
      if (const std::string wrong = compare(c, in, out); !wrong.empty() && ++failures <= 5)
        ADD_FAILURE() << kernel.name << " " << c.name() << ": " << wrong;
    }
  }
  EXPECT_EQ(failures, 0);
  for (const auto& [name, count] : ran) std::printf("%-60s %6ld ran\n", name.c_str(), count);
  for (const auto& [name, count] : refused) std::printf("%-60s %6ld refused\n", name.c_str(), count);
}

// Checks the ops, with the kernel that dispatch chooses.
TEST(Gemm, OpsAgreeWithTheirDefinition) {
  for (const GemmCase& c : all_cases()) {
    if (c.a != Order::Rows && c.b != Order::Columns) continue;
    const Operands in = make_operands(c);
    const bool whole = !is_floating(c.dtype);
    const Scalar beta = whole ? Scalar(static_cast<std::int64_t>(c.epilogue.beta)) : Scalar(c.epilogue.beta),
                 alpha =
                     whole ? Scalar(static_cast<std::int64_t>(c.epilogue.alpha)) : Scalar(c.epilogue.alpha);
    if (!in.added.defined() && c.epilogue.alpha != 1) continue;
    const Tensor batched = in.added.defined() ? baddbmm(in.added, in.a, in.b, beta, alpha) : bmm(in.a, in.b);
    EXPECT_EQ(compare(c, in, batched), "") << c.name();
    if (c.batch != 1) continue;
    const Tensor a = in.a.select(0, 0), b = in.b.select(0, 0);
    const Tensor single = in.added.defined() ? addmm(in.added.select(0, 0), a, b, beta, alpha) : mm(a, b);
    EXPECT_EQ(compare(c, in, single.unsqueeze(0)), "") << c.name();
    if (in.added.defined()) continue;
    EXPECT_EQ(compare(c, in, matmul(a, b).unsqueeze(0)), "") << c.name();
    EXPECT_EQ(compare(c, in, einsum("ik,kj->ij", {a, b}).unsqueeze(0)), "") << c.name();
    if (c.n != 1) continue;
    EXPECT_EQ(compare(c, in, mv(a, b.select(1, 0)).view({1, c.m, 1})), "") << c.name();
  }
}

TEST(Gemm, ThreadCountsProduceTheSameBits) {
  for (const DType dtype : {kF32, kBF16, kF64, kI32}) {
    for (const std::int64_t rows : {1, 64, 700}) {
      const Tensor a = random_tensor({rows, 512}, dtype, 1), b = random_tensor({1700, 512}, dtype, 2).t();
      set_thread_count(1);
      const std::vector<char> one = test::bytes_of(mm(a, b));
      set_thread_count(2);
      EXPECT_EQ(one, test::bytes_of(mm(a, b))) << name(dtype) << " " << rows;
      set_thread_count(1);
    }
  }
}

// The parts of grouped_mm as their groups: a slice of the result, and the operands that mm makes it of.
struct GroupPart {
  Tensor result, a, b;
};
std::vector<GroupPart> parts_of(const Tensor& result, const Tensor& a, const Tensor& b,
                                const std::vector<std::int32_t>& ends) {
  std::vector<GroupPart> parts;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < ends.size(); begin = ends[i++]) {
    const auto g = static_cast<std::int64_t>(i);
    const Dim end = ends[i];
    if (b.dim() == 3) {
      parts.push_back({result.slice(0, begin, end), a.slice(0, begin, end), b.select(0, g)});
    } else if (a.dim() == 3) {
      parts.push_back({result.slice(1, begin, end), a.select(0, g), b.slice(1, begin, end)});
    } else {
      parts.push_back({result.select(0, g), a.slice(1, begin, end), b.slice(0, begin, end)});
    }
  }
  return parts;
}

TEST(Gemm, EachGroupHasTheBitsOfMm) {
  // The second group is empty, and rows remain after the last one.
  const std::vector<std::int32_t> ends = {3, 3, 70, 131};
  const Tensor offs = from_data(ends, {4});
  for (const DType dtype : {kF32, kBF16, kF16, kF64}) {
    const Tensor experts = random_tensor({4, 96, 80}, dtype, 1),
                 weights = random_tensor({4, 80, 96}, dtype, 2);
    const Tensor rows = random_tensor({140, 96}, dtype, 3), columns = random_tensor({80, 140}, dtype, 4);
    struct Call {
      Tensor a, b;
    };
    for (const Call& c :
         {Call{rows, experts}, Call{rows, weights.transpose(1, 2)}, Call{rows.t().contiguous().t(), experts},
          Call{experts, columns}, Call{rows.t(), columns.t()}, Call{columns, rows}}) {
      const Tensor result = grouped_mm(c.a, c.b, offs);
      for (const GroupPart& part : parts_of(result, c.a, c.b, ends))
        EXPECT_EQ(test::bytes_of(part.result.contiguous()), test::bytes_of(mm(part.a, part.b)))
            << name(dtype) << " " << to_string(c.a.sizes()) << " " << to_string(c.b.sizes());
      if (c.a.dim() == c.b.dim()) continue;
      const Tensor after = result.slice(c.b.dim() == 3 ? 0 : 1, 131, 140);
      EXPECT_EQ(test::bytes_of(after.contiguous()), test::bytes_of(zeros(after.sizes(), dtype)));
    }
    EXPECT_EQ(test::bytes_of(grouped_mm(experts, weights)), test::bytes_of(bmm(experts, weights)));
  }
}

// A weight [groups, out, in] whose transpose was multiplied gets a dense gradient.
TEST(Gemm, GradientsOfGroupsHaveTheLayoutOfTheWeights) {
  const Tensor weight = ones({2, 5, 4}).requires_grad_(), x = ones({3, 4}).requires_grad_();
  const Tensor offs = from_data(std::vector<std::int32_t>{1, 3}, {2});
  sum(grouped_mm(x, weight.transpose(1, 2), offs)).backward();
  EXPECT_TRUE(weight.grad().is_contiguous());
  EXPECT_EQ(to_string(weight.grad().select(1, 0)),
            to_string(tensor({{1.f, 1.f, 1.f, 1.f}, {2.f, 2.f, 2.f, 2.f}})));
  EXPECT_EQ(to_string(x.grad()), to_string(full({3, 4}, 5.0)));
}

TEST(Gemm, ErrorsOfGroupsSayWhatToDo) {
  using test::thrown_by;
  const Tensor x = ones({6, 4}), experts = ones({2, 4, 3});
  const auto ends = [](std::vector<std::int32_t> values) { return from_data(values, {2}); };
  EXPECT_EQ(
      thrown_by<ValueError>([&] { grouped_mm(x, experts); }).message(),
      "offs divides the axis of a matrix into groups; f32[6, 4] @ f32[2, 4, 3] has a matrix, but offs is "
      "missing");
  EXPECT_EQ(
      thrown_by<ValueError>([&] { grouped_mm(experts, ones({2, 3, 3}), ends({1, 2})); }).message(),
      "offs divides the axis of a matrix into groups; f32[2, 4, 3] @ f32[2, 3, 3] has no matrix, so pass no "
      "offs");
  EXPECT_EQ(thrown_by<ValueError>([&] { grouped_mm(x, experts, ends({4, 7})); }).message(),
            "group 1 ends at 7; expected 4 to 6: ends do not decrease and stay inside the axis");
  EXPECT_EQ(thrown_by<ValueError>([&] { grouped_mm(x, experts, ends({4, 2})); }).message(),
            "group 1 ends at 2; expected 4 to 6: ends do not decrease and stay inside the axis");
  EXPECT_EQ(thrown_by<ShapeError>([&] { grouped_mm(x, ones({3, 4, 3}), ends({4, 6})); }).message(),
            "f32[3, 4, 3] has a matrix for each of 3 groups, but offs has 2");
  EXPECT_EQ(thrown_by<ValueError>([&] { grouped_mm(x, experts, ends({4, 6}), ones({3})); }).message(),
            "bias is not supported, as in PyTorch: add it to the result");
}

// Runs with the older instruction set, in a process of its own.
TEST(Gemm, Avx2AloneIsWithinTheBound) {
  const std::string command =
      "PELLUCID_ISA=avx2 PELLUCID_TEST_SHARE=" + std::to_string(7 * test::test_share()) + " /proc/" +
      std::to_string(getpid()) + "/exe --gtest_filter=Gemm.Every*:Gemm.Ops*";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(Gemm, ErrorsSayWhatToDo) {
  using test::thrown_by;
  const Tensor a = ones({2, 3}), b = ones({4, 5});
  EXPECT_EQ(thrown_by<ShapeError>([&] { mm(a, b); }).message(),
            "inner sizes differ: f32[2, 3] @ f32[4, 5] (3 and 4)");
  EXPECT_EQ(thrown_by<ShapeError>([&] { mm(a, ones({3})); }).message(),
            "the operands must have 2 axes; f32[3] has 1");
  EXPECT_EQ(thrown_by<DTypeError>([&] { mm(a, ones({3, 2}, kF64)); }).message(),
            "the operands must have one dtype, not f32[2, 3] and f64[3, 2]: convert one of them");
  EXPECT_EQ(thrown_by<ShapeError>([&] { addmm(ones({4}), a, ones({3, 2})); }).message(),
            "axis 1 has size 4 and cannot become 2: only an axis of size 1 expands (from [4] to [2, 2])");
  EXPECT_EQ(thrown_by<DTypeError>([&] {
              addmm(ones({2}, kI32), ones({2, 2}, kI32), ones({2, 2}, kI32), 0.5);
            }).message(),
            "alpha and beta must be integers for operands of i32");
  EXPECT_EQ(thrown_by<ShapeError>([&] { matmul(ones({2, 2, 3}), ones({3, 3, 2})); }).message(),
            "batches [2] and [3] do not broadcast");
  EXPECT_EQ(thrown_by<ValueError>([&] { einsum("ij,jk->il", {a, ones({3, 2})}); }).message(),
            "no operand has the 'l' of the result");
}

}  // namespace
}  // namespace pel
