// Checks every convolution kernel against sums in long double, over random dtypes, layouts and windows. The
// error is relative to the sum of the magnitudes of the products.
//
// Parts: layouts (laid_out), a case and its operands (ConvCase), the reference and its comparison, random
// cases, and the tests: kernels, threads, instruction sets, gradients, edge cases, errors.
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/ops/internal.h"
#include "pellucid/pellucid.h"

#include "dispatch/op_table.h"
#include "support/bytes.h"
#include "support/environment.h"
#include "support/errors.h"
#include "tensor/convert.h"

namespace pel {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor random_tensor(Dims sizes, DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  if (!is_floating(dtype)) return to_copy(randint(dtype == kU8 ? 0 : -4, 5, sizes, {}, generator), dtype);
  return to_copy(randn(sizes, {}, generator), dtype);
}

// The same values in another layout: 0 row-major, 1 channels last, 2 with gaps, 3 axes reversed.
Tensor laid_out(const Tensor& t, int layout) {
  const auto rank = t.dim();
  if (layout == 1 || layout == 3) {
    std::vector<std::int64_t> order, back(static_cast<std::size_t>(rank));
    if (layout == 1) {
      order.push_back(0);
      for (std::int64_t i = 2; i < rank; ++i) order.push_back(i);
      order.push_back(1);
    } else {
      for (std::int64_t i = rank; i-- > 0;) order.push_back(i);
    }
    for (std::size_t i = 0; i < order.size(); ++i)
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    return t.permute(order).clone(Layout::RowMajor).permute(back);
  }
  if (layout == 2) {
    std::vector<Dim> sizes(t.sizes().begin(), t.sizes().end());
    sizes.back() = sizes.back() * 2 + 1;
    const Tensor wide = zeros(sizes, t.dtype());
    const Tensor part = wide.slice(rank - 1, 1, std::nullopt, 2);
    part.copy_(t);
    return part;
  }
  return t;
}

struct ConvCase {
  DType dtype = kF32;
  int src_layout = 0, weight_layout = 0;
  bool transposed = false, has_bias = false;
  std::int64_t batch = 1, groups = 1, in = 1, out = 1;  // channels of a group
  Ints size, kernel, stride, padding, dilation, more;
  std::vector<Dim> added() const { return {more.begin(), more.end()}; }
  std::string name() const {
    return fmt::format("{}{} layouts {} {} n{} g{} {}->{} size {} kernel {} s{} p{} d{} +{}{}",
                       pel::name(dtype), transposed ? " transposed" : "", src_layout, weight_layout, batch,
                       groups, in, out, size, kernel, stride, padding, dilation, more,
                       has_bias ? " bias" : "");
  }
  std::vector<Dim> sizes_of(std::int64_t first, std::int64_t second, const Ints& rest) const {
    std::vector<Dim> all = {first, second};
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }
  Tensor make_input() const {
    return laid_out(random_tensor(sizes_of(batch, groups * in, size), dtype, 1), src_layout);
  }
  Tensor make_weight() const {
    return laid_out(
        random_tensor(transposed ? sizes_of(groups * in, out, kernel) : sizes_of(groups * out, in, kernel),
                      dtype, 2),
        weight_layout);
  }
  Ints result_size() const {
    Ints result;
    for (std::size_t i = 0; i < size.size(); ++i) {
      const std::int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
      result.push_back(transposed ? (size[i] - 1) * stride[i] - 2 * padding[i] + reach + more[i]
                                  : (size[i] + 2 * padding[i] - reach) / stride[i] + 1);
    }
    return result;
  }
};

// Dense values in row-major order.
std::vector<long double> values_of(const Tensor& t) {
  const Tensor dense = t.clone(Layout::RowMajor);
  std::vector<long double> values;
  with_type(t.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto* p = static_cast<const char*>(dense.raw_data());
    for (std::int64_t i = 0; i < dense.numel().value(); ++i, p += sizeof(T)) {
      if constexpr (kIsHalf<T>) {
        values.push_back(static_cast<long double>(static_cast<float>(load_as<T>(p))));
      } else {
        values.push_back(static_cast<long double>(load_as<T>(p)));
      }
    }
  });
  return values;
}

struct Expected {
  std::vector<long double> sums, sizes;
};

// Scatters each element of the input to the results that it contributes to: valid for both kinds.
Expected reference(const ConvCase& c, const Tensor& input, const Tensor& weight,
                   const std::optional<Tensor>& bias) {
  const std::vector<long double> x = values_of(input), w = values_of(weight);
  const Ints result = c.result_size();
  const std::size_t axes = c.size.size();
  const auto volume = [](const Ints& n) {
    std::int64_t v = 1;
    for (const std::int64_t s : n) v *= s;
    return v;
  };
  const std::int64_t positions = volume(result), input_positions = volume(c.size), taps = volume(c.kernel);
  Expected expected;
  expected.sums.assign(static_cast<std::size_t>(c.batch * c.groups * c.out * positions), 0);
  expected.sizes = expected.sums;
  const auto unravel = [&](std::int64_t flat, const Ints& sizes) {
    Ints at(axes);
    for (std::size_t i = axes; i-- > 0; flat /= sizes[i]) at[i] = flat % sizes[i];
    return at;
  };
  for (std::int64_t input_position = 0; input_position < input_positions; ++input_position) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const Ints at = unravel(input_position, c.size), k = unravel(tap, c.kernel);
      std::int64_t position = 0;
      bool inside = true;
      for (std::size_t i = 0; i < axes; ++i) {
        std::int64_t o = 0;
        if (c.transposed) {
          o = at[i] * c.stride[i] - c.padding[i] + k[i] * c.dilation[i];
        } else {
          const std::int64_t moved = at[i] + c.padding[i] - k[i] * c.dilation[i];
          inside = inside && moved >= 0 && moved % c.stride[i] == 0;
          o = moved / c.stride[i];
        }
        inside = inside && o >= 0 && o < result[i];
        position = position * result[i] + o;
      }
      if (!inside) continue;
      for (std::int64_t n = 0; n < c.batch; ++n) {
        for (std::int64_t g = 0; g < c.groups; ++g) {
          for (std::int64_t i = 0; i < c.in; ++i) {
            const long double element = x[static_cast<std::size_t>(
                ((n * c.groups + g) * c.in + i) * input_positions + input_position)];
            for (std::int64_t o = 0; o < c.out; ++o) {
              const std::int64_t row = c.transposed ? (g * c.in + i) * c.out + o : (g * c.out + o) * c.in + i;
              const long double product = element * w[static_cast<std::size_t>(row * taps + tap)];
              const auto to =
                  static_cast<std::size_t>(((n * c.groups + g) * c.out + o) * positions + position);
              expected.sums[to] += product;
              expected.sizes[to] += std::abs(product);
            }
          }
        }
      }
    }
  }
  if (!bias) return expected;
  const std::vector<long double> b = values_of(*bias);
  for (std::size_t i = 0; i < expected.sums.size(); ++i) {
    const long double more = b[i / static_cast<std::size_t>(positions) % b.size()];
    expected.sums[i] += more;
    expected.sizes[i] += std::abs(more);
  }
  return expected;
}

// Returns an empty string or a description of the difference. `terms` is the number of summands.
std::string compare(DType dtype, const Expected& expected, const Tensor& result, std::int64_t terms) {
  const int digits = dtype == kF64 ? 52 : dtype == kF16 ? 10 : dtype == kBF16 ? 7 : 23;
  const int value_digits = dtype == kF64 ? 52 : 23;
  const std::vector<long double> actual = values_of(result);
  if (actual.size() != expected.sums.size())
    return fmt::format("{} elements, not {}", actual.size(), expected.sums.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    long double sum = expected.sums[i], allowed = 0;
    if (is_floating(dtype)) {
      const long double denormal = dtype == kF16 ? 0x1p-25L : 0x1p-126L;  // oneDNN may flush those of f32
      allowed = denormal + std::ldexp(std::abs(sum), -digits) +
                std::ldexp(expected.sizes[i] * static_cast<long double>(terms + 3), -value_digits);
    } else if (const int bits = 8 * static_cast<int>(size_bytes(dtype)); bits < 64) {  // integers wrap
      const std::int64_t whole = static_cast<std::int64_t>(sum) & ((std::int64_t{1} << bits) - 1);
      const bool negative = dtype != kU8 && (whole >> (bits - 1) & 1) != 0;
      sum = static_cast<long double>(negative ? whole - (std::int64_t{1} << bits) : whole);
    }
    if (!(std::abs(actual[i] - sum) <= allowed))
      return fmt::format("element {} is {}, not {}; {} is allowed", i, static_cast<double>(actual[i]),
                         static_cast<double>(sum), static_cast<double>(allowed));
  }
  return "";
}

ConvCase random_case(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<std::int64_t> from) {
    return *(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size()));
  };
  ConvCase c;
  constexpr DType kTypes[] = {kF32, kF32, kF32, kBF16, kBF16, kF16, kF64, kI32, kU8, kI64};
  c.dtype = kTypes[random() % std::size(kTypes)];
  c.src_layout = static_cast<int>(pick({0, 0, 1, 1, 2, 3}));
  c.weight_layout = static_cast<int>(pick({0, 0, 0, 1, 2, 3}));
  c.transposed = random() % 3 == 0;
  c.has_bias = random() % 2 == 0;
  c.batch = pick({1, 1, 2, 3, 5});
  c.groups = pick({1, 1, 1, 2, 3, 8});
  c.in = pick({1, 1, 2, 3, 4, 16, 20});
  c.out = pick({1, 1, 2, 3, 8, 16, 33});
  const std::size_t axes = static_cast<std::size_t>(pick({1, 2, 2, 2, 2, 3}));
  while (true) {
    c.size = c.kernel = c.stride = c.padding = c.dilation = c.more = Ints(axes);
    for (std::size_t i = 0; i < axes; ++i) {
      c.size[i] = pick({1, 2, 3, 5, 7, 8, 13, axes == 3 ? 4 : 20});
      c.kernel[i] = pick({1, 1, 2, 3, 3, 5});
      c.stride[i] = pick({1, 1, 1, 2, 2, 3});
      c.padding[i] = pick({0, 0, 1, 1, 2, 3});
      c.dilation[i] = pick({1, 1, 1, 2, 3});
      c.more[i] =
          c.transposed ? static_cast<std::int64_t>(random()) % std::max(c.stride[i], c.dilation[i]) : 0;
    }
    bool fits = true;
    for (std::size_t i = 0; i < axes; ++i) {
      if (c.transposed) {
        fits = fits && c.result_size()[i] >= 1;
      } else {
        fits = fits && c.size[i] + 2 * c.padding[i] >= (c.kernel[i] - 1) * c.dilation[i] + 1;
      }
    }
    if (fits) return c;
  }
}

TEST(Convolution, EveryKernelIsWithinTheBoundOnRandomWindows) {
  std::mt19937 random(static_cast<unsigned>(test::number_from("PELLUCID_TEST_SEED", 1)));
  std::map<std::string, std::int64_t> ran, refused;
  std::int64_t failures = 0;
  Stream stream(kCpu);
  const std::int64_t cases = 1500 / test::test_share();
  for (std::int64_t i = 0; i < cases && failures < 6; ++i) {
    const ConvCase c = random_case(random);
    const Tensor input = c.make_input(), weight = c.make_weight();
    std::optional<Tensor> bias;
    if (c.has_bias) bias = laid_out(random_tensor({c.groups * c.out}, c.dtype, 3), i % 2 == 0 ? 0 : 2);
    const Expected expected = reference(c, input, weight, bias);
    const std::int64_t terms = c.in * [&] {
      std::int64_t taps = 1;
      for (const std::int64_t k : c.kernel) taps *= k;
      return taps;
    }();
    const auto transposed = c.transposed ? Transposed::Yes : Transposed::No;
    const auto check = [&](std::string_view kernel, const Tensor& result) {
      ++ran[std::string(kernel)];
      if (const std::string wrong = compare(c.dtype, expected, result, terms);
          !wrong.empty() && ++failures < 6)
        ADD_FAILURE() << kernel << " case " << i << ": " << c.name() << ": " << wrong;
    };
    const Tensor result =
        convolution(input, weight, bias, c.stride, c.padding, c.dilation, transposed, c.added(), c.groups);
    check("chosen", result);
    // Runs each kernel by itself, into the memory of another call.
    std::vector<const Tensor*> tensors = {&result, &input, &weight};
    if (bias) tensors.push_back(&*bias);
    const Tensor out = full_like(result, 1);
    tensors[0] = &out;
    std::vector<Operand> operands(tensors.size());
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      operands[t].data = tensors[t]->raw_data();
      operands[t].sizes = reinterpret_cast<const std::int64_t*>(tensors[t]->sizes().data());
      operands[t].strides = reinterpret_cast<const std::int64_t*>(tensors[t]->strides().data());
      operands[t].rank = static_cast<std::int32_t>(tensors[t]->dim());
      operands[t].dtype = static_cast<std::uint8_t>(c.dtype);
    }
    const auto number = [](std::int64_t x) {
      return PelScalar{static_cast<double>(x), x, PEL_SCALAR_INT, {}};
    };
    std::vector<PelScalar> scalars = {number(c.groups), number(c.transposed ? 1 : 0)};
    for (std::size_t a = 0; a < c.size.size(); ++a)
      for (const std::int64_t x : {c.stride[a], c.padding[a], c.dilation[a]}) scalars.push_back(number(x));
    const KernelArgs args = {PEL_KERNEL_ARGS_VERSION,
                             1,
                             static_cast<std::uint16_t>(tensors.size() - 1),
                             operands.data(),
                             scalars.data(),
                             static_cast<std::uint32_t>(scalars.size()),
                             0,
                             nullptr,
                             0,
                             nullptr};
    for (const Kernel& kernel : op<"convolution">().kernels(DeviceType::Cpu)) {
      if (const Support support = kernel.supports(args); !support) {
        ++refused[fmt::format("{}: {}", kernel.name, support.reason())];
        continue;
      }
      out.fill_(1);
      kernel.run(stream, args);
      check(kernel.name, out);
    }
  }
  EXPECT_EQ(failures, 0);
  for (const auto& [name, count] : ran) std::printf("%-60s %6ld ran\n", name.c_str(), count);
  for (const auto& [name, count] : refused) std::printf("%-60s %6ld refused\n", name.c_str(), count);
}

// The random cases rarely are 1x1 windows with channels last. f64 never uses this kernel.
TEST(Convolution, OneGemmServesPointwiseWindows) {
  struct Shape {
    std::int64_t batch, in, out, side;
  };
  int served = 0;  // the predictions decide which calls
  for (const Shape s :
       {Shape{1, 512, 2048, 7}, Shape{8, 96, 100, 5}, Shape{3, 17, 33, 1}, Shape{1, 5, 7, 9}}) {
    const Tensor x = randn({s.batch, s.side, s.side, s.in}).permute({0, 3, 1, 2}),
                 w = randn({s.out, s.in, 1, 1}), bias = randn({s.out});
    for (const bool has_bias : {false, true}) {
      const auto optional_bias = has_bias ? std::optional<Tensor>(bias) : std::nullopt;
      const auto wide_bias = has_bias ? std::optional<Tensor>(to_copy(bias, kF64)) : std::nullopt;
      Recording recording;
      const Tensor y = conv2d(x, w, optional_bias);
      std::string names;
      for (const Event& event : recording.events()) names += std::string(event.name) + " ";
      served += names.find("_gemm") != std::string::npos ? 1 : 0;
      const Tensor expected = conv2d(to_copy(x, kF64), to_copy(w, kF64), wide_bias);
      const Tensor off = amax(abs(to_copy(y, kF64) - expected)).contiguous();
      EXPECT_LT(*static_cast<const double*>(off.raw_data()), 1e-5 * static_cast<double>(s.in + 3));
    }
  }
  EXPECT_GT(served, 0);
}

TEST(Convolution, ThreadCountsProduceTheSameBits) {
  struct Shape {
    std::int64_t batch, in, out, size, kernel, stride, groups;
  };
  for (const DType dtype : {kF32, kBF16, kF64}) {
    for (const int layout : {0, 1}) {
      for (const Shape& s : {Shape{1, 32, 48, 40, 3, 1, 1}, Shape{5, 16, 64, 20, 1, 1, 1},
                             Shape{3, 24, 24, 33, 3, 2, 24}, Shape{9, 64, 40, 7, 3, 1, 2}}) {
        const Tensor x = laid_out(random_tensor({s.batch, s.in, s.size, s.size}, dtype, 1), layout),
                     w = random_tensor({s.out, s.in / s.groups, s.kernel, s.kernel}, dtype, 2),
                     b = random_tensor({s.out}, dtype, 3);
        set_thread_count(1);
        const std::vector<char> one = test::bytes_of(conv2d(x, w, b, {s.stride}, {1}, {1}, s.groups));
        for (const int threads : {2, 3}) {
          set_thread_count(threads);
          EXPECT_EQ(one, test::bytes_of(conv2d(x, w, b, {s.stride}, {1}, {1}, s.groups)))
              << name(dtype) << " " << layout << " " << s.kernel << " on " << threads;
        }
        set_thread_count(1);
      }
    }
  }
}

// Runs with the older instruction set, in a process of its own.
TEST(Convolution, Avx2AloneIsWithinTheBound) {
  const std::string command =
      "PELLUCID_ISA=avx2 PELLUCID_TEST_SHARE=" + std::to_string(7 * test::test_share()) + " /proc/" +
      std::to_string(getpid()) + "/exe --gtest_filter=Convolution.Every*";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

// Compares gradients with finite differences of a weighted sum of the result.
TEST(Convolution, GradientsAreThoseOfTheDefinition) {
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    ConvCase c = random_case(random);
    c.dtype = kF64;
    c.in = std::min<std::int64_t>(c.in, 3);
    c.out = std::min<std::int64_t>(c.out, 3);
    c.groups = std::min<std::int64_t>(c.groups, 3);
    for (std::int64_t& size : c.size) size = std::min<std::int64_t>(size, 7);
    bool fits = true;
    for (const std::int64_t size : c.result_size()) fits = fits && size >= 1;
    if (!fits) continue;
    const auto transposed = c.transposed ? Transposed::Yes : Transposed::No;
    const Tensor x = c.make_input(), w = c.make_weight(), b = random_tensor({c.groups * c.out}, kF64, 3);
    const auto forward = [&](const Tensor& input, const Tensor& weight, const Tensor& bias) {
      return convolution(input, weight, bias, c.stride, c.padding, c.dilation, transposed, c.added(),
                         c.groups);
    };
    const Tensor result = forward(x, w, b);
    const Tensor grad = laid_out(random_tensor(result.sizes(), kF64, 4), c.src_layout);
    const auto [of_x, of_w, of_b] = internal::convolution_backward(
        grad, x, w, std::nullopt, c.stride, c.padding, c.dilation, transposed, c.added(), c.groups);
    EXPECT_EQ(to_string(of_x.sizes()), to_string(x.sizes())) << c.name();
    EXPECT_EQ(to_string(of_w.sizes()), to_string(w.sizes())) << c.name();
    // The convolution is linear in each operand: the directional derivative is its result for the direction.
    const auto along = [&](const Tensor& gradient, const Tensor& direction) {
      return sum(gradient * direction).item().to_double();
    };
    const Tensor dx = random_tensor(x.sizes(), kF64, 5), dw = random_tensor(w.sizes(), kF64, 6),
                 db = random_tensor(b.sizes(), kF64, 7);
    const Tensor zero = zeros(b.sizes(), kF64);
    const auto expect_near = [&](double actual, double expected) {
      EXPECT_NEAR(actual, expected, 1e-10 * (1 + std::abs(expected))) << c.name();
    };
    expect_near(along(of_x, dx), along(grad, forward(dx, w, zero)));
    expect_near(along(of_w, dw), along(grad, forward(x, dw, zero)));
    expect_near(along(of_b, db), along(grad, forward(x, w, db) - forward(x, w, zero)));
  }
}

TEST(Convolution, GradientsThatAreNotRequestedAreUndefined) {
  const Tensor x = ones({1, 2, 4, 4}), w = ones({3, 2, 3, 3});
  const auto [of_x, of_w, of_b] = internal::convolution_backward(
      ones({1, 3, 2, 2}), x, w, std::nullopt, {1}, {0}, {1}, Transposed::No, {0}, 1, {false, true, false});
  EXPECT_FALSE(of_x.defined());
  EXPECT_TRUE(of_w.defined());
  EXPECT_FALSE(of_b.defined());
  using Numbers = std::vector<Dim>;
  EXPECT_EQ(test::thrown_by<ValueError>([&] {
              call_boxed(*find_op("convolution_backward"),
                         {ones({1, 3, 2, 2}), x, w, Value(), Numbers{1}, Numbers{0}, Numbers{1}, false,
                          Numbers{0}, Dim(1), Numbers{1, 0}});
            }).message(),
            "a list of 3 numbers is expected, not of 2");
}

TEST(Convolution, AnEmptyBatchIsEmptyAndWithoutChannelsTheResultIsTheBias) {
  EXPECT_EQ(to_string(conv2d(ones({0, 2, 5, 5}), ones({3, 2, 3, 3})).sizes()), "[0, 3, 3, 3]");
  const Tensor none = conv2d(ones({1, 0, 4, 4}), ones({2, 0, 3, 3}), tensor({1.5, 2.5}));
  EXPECT_EQ(to_string(none.sizes()), "[1, 2, 2, 2]");
  EXPECT_EQ(sum(none).item().to_double(), 16);
}

TEST(Convolution, TheResultHasTheLayoutOfTheInput) {
  const Tensor w = ones({8, 4, 3, 3});
  EXPECT_EQ(to_string(conv2d(ones({2, 4, 6, 6}), w).strides()), "[128, 16, 4, 1]");
  EXPECT_EQ(to_string(conv2d(laid_out(ones({2, 4, 6, 6}), 1), w).strides()), "[128, 1, 32, 8]");
}

TEST(Convolution, ErrorsSayWhatToDo) {
  using test::thrown_by;
  const Tensor x = ones({1, 4, 5, 5}), w = ones({2, 4, 3, 3});
  EXPECT_EQ(thrown_by<ShapeError>([&] { conv2d(x, ones({2, 3, 3, 3})); }).message(),
            "the input f32[1, 4, 5, 5] has 4 channels, the weight f32[2, 3, 3, 3] takes 3: it is [out, in / "
            "groups, …], "
            "in 1 groups");
  EXPECT_EQ(thrown_by<ShapeError>([&] { conv2d(x, ones({2, 4, 7, 7})); }).message(),
            "the kernel reaches over 7 elements of spatial axis 0, the padded input has 5: pad it more");
  EXPECT_EQ(thrown_by<ShapeError>([&] { conv2d(ones({4}), w); }).message(),
            "the input has 4 axes, or 3 without a batch; f32[4] has 1");
  EXPECT_EQ(thrown_by<DTypeError>([&] { conv2d(x, to_copy(w, kF64)); }).message(),
            "input, weight and bias have one dtype; f32[1, 4, 5, 5] and f64[2, 4, 3, 3] do not: convert one "
            "of them");
  EXPECT_EQ(thrown_by<ValueError>([&] { conv2d(x, w, std::nullopt, {0}); }).message(),
            "stride must be at least 1, not 0");
  EXPECT_EQ(thrown_by<ValueError>([&] { conv2d(x, w, std::nullopt, {1, 1, 1}); }).message(),
            "stride must have one number, or one for each of 2 spatial axes, not 3");
  EXPECT_EQ(thrown_by<ShapeError>([&] { conv2d(x, w, ones({3})); }).message(),
            "the bias must have one number for each of 2 channels of the result, not f32[3]");
  EXPECT_EQ(
      thrown_by<ShapeError>([&] { conv2d(x, ones({3, 2, 3, 3}), std::nullopt, {1}, {0}, {1}, 2); }).message(),
      "the first axis of the weight f32[3, 2, 3, 3] is not a multiple of 2 groups");
  EXPECT_EQ(thrown_by<ValueError>([&] {
              conv_transpose2d(x, ones({4, 2, 3, 3}), std::nullopt, {2}, {0}, {2});
            }).message(),
            "output_padding is less than stride or dilation; 2 is neither less than 2 nor than 1");
}

}  // namespace
}  // namespace pel
