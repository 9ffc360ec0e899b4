// Compares every row reduction with the reference in its own record, over dtypes, layouts, axes and sizes;
// and the same bits from every instruction set, number of threads and layout.
#include "ops/shared/rows.h"

#include <cmath>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/threads.h"

#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/isa.h"
#include "conformance/cases.h"

namespace pel::conformance {
namespace {

enum class RowLayout : std::uint8_t { Contiguous, Transposed, Step2, Expanded, Offset };
constexpr std::string_view kRowLayoutNames[] = {"contiguous", "transposed", "step2", "expanded", "offset"};
constexpr int kRowLayoutCount = 5;
// Which of the three axes are reduced, a bit each.
constexpr AxisSet kAxisSets[] = {4, 2, 1, 6, 5, 3, 7};

constexpr std::size_t kBitsShare = 11;

struct RowCase {
  const Op* op;
  std::size_t program;
  DType compute;
  RowLayout layout;
  std::int64_t sizes[3];
  AxisSet reduced;

  const RowProgram& facts() const { return op->rows()->programs[program]; }
  std::string name() const {
    return fmt::format("{}{}{}/{}/{}/{}x{}x{}/axes{}", op->name(), facts().suffix.empty() ? "" : ":",
                       facts().suffix, pel::name(compute), kRowLayoutNames[static_cast<int>(layout)],
                       sizes[0], sizes[1], sizes[2], reduced);
  }
};

std::vector<RowCase> chosen_row_cases() {
  constexpr std::int64_t kSizesOfRows[][3] = {{1, 1, 1},   {2, 3, 5},    {3, 33, 7},   {5, 17, 64},
                                              {2, 9, 129}, {1, 3, 1025}, {1, 1031, 9}, {0, 3, 4},
                                              {3, 0, 2},   {1, 2, 2600}};
  std::vector<RowCase> cases;
  std::size_t number = 0;
  for (const Op* op : all_ops()) {
    if (op->rows() == nullptr || !op->record().is_builtin) continue;
    for (std::size_t p = 0; p < op->rows()->programs.size(); ++p) {
      for (int d = 0; d < kDTypeCount; ++d) {
        const auto dtype = static_cast<DType>(d);
        if (!op->rows()->programs[p].computes.contains(dtype)) continue;
        for (int layout = 0; layout < kRowLayoutCount; ++layout) {
          for (const auto& sizes : kSizesOfRows) {
            for (const AxisSet reduced : kAxisSets) {
              RowCase c{op,     p, dtype, static_cast<RowLayout>(layout), {sizes[0], sizes[1], sizes[2]},
                        reduced};
              bool empty_row = false;
              for (int i = 0; i < 3; ++i) empty_row = empty_row || ((reduced >> i & 1) && sizes[i] == 0);
              if (empty_row && !c.facts().takes_empty) continue;
              const bool wanted = only_case().empty() ? number++ % static_cast<std::size_t>(test_share()) == 0
                                                      : is_chosen(c.name());
              if (wanted) cases.push_back(c);
            }
          }
        }
      }
    }
  }
  return cases;
}

std::vector<Tensor> make_inputs(const RowCase& c) {
  ArgumentSource source(std::hash<std::string>()(c.name()));
  Pointwise domain;
  domain.tries_extremes = false;
  domain.domains = {{c.facts().low, c.facts().high}};
  const auto [a, b, n] = std::tuple(c.sizes[0], c.sizes[1], c.sizes[2]);
  std::vector<Tensor> inputs;
  for (int i = 0; i < c.facts().input_count; ++i) {
    const auto make = [&](Dims sizes) {
      return filled(source, domain, 0, c.facts().stored_input(i, c.compute), sizes);
    };
    switch (c.layout) {
      case RowLayout::Contiguous:
        inputs.push_back(make({a, b, n}));
        break;
      case RowLayout::Transposed:
        inputs.push_back(make({n, a, b}).permute({1, 2, 0}));
        break;
      case RowLayout::Step2:
        inputs.push_back(make({a, b, 2 * n}).slice(2, 0, 2 * n, 2));
        break;
      case RowLayout::Expanded:
        inputs.push_back(make({a, 1, n}).expand({a, b, n}));
        break;
      case RowLayout::Offset:
        inputs.push_back(make({a, b + 1, n}).slice(1, 1, b + 1));
        break;
    }
  }
  return inputs;
}

// As it is stored: integers wrap, and bool is whether it is not 0.
long double wrapped(long double value, DType dtype) {
  const std::int64_t bits = 8 * size_bytes(dtype);
  if (dtype == kBool) return value != 0;
  if (is_floating(dtype) || bits == 64) return value;
  const long double range = std::ldexp(1.0L, static_cast<int>(bits)), least = dtype == kU8 ? 0 : -range / 2;
  return value - range * std::floor((value - least) / range);
}

std::vector<Tensor> run(const RowCase& c, const std::vector<Tensor>& inputs) {
  const std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  std::vector<Scalar> params;
  for (const double value : c.facts().param_values) params.emplace_back(value);
  std::vector<Tensor> results =
      run_rows(*c.op, refs, {c.compute, c.reduced, KeepDims::Yes, c.program}, params);
  for (Tensor& result : results) result = test::on_host(result);
  return results;
}

// The error that a fold adds to the record's bound: each level is at most 37 operations deep.
double depth_of(std::int64_t length) {
  double depth = 37;
  for (std::int64_t blocks = (length + 1023) / 1024; blocks > 1; blocks = (blocks + 1023) / 1024) depth += 37;
  return depth;
}

bool is_too_great(long double value, DType dtype) {
  return with_type(dtype, [&]<class T>(std::type_identity<T>) {
    return std::isinf(convert<double>(convert<T>(static_cast<double>(value))));
  });
}

std::string check(const RowCase& c, const std::vector<Tensor>& inputs, const std::vector<Tensor>& results) {
  const RowProgram& facts = c.facts();
  std::vector<Tensor> dense;
  for (const Tensor& t : inputs) dense.push_back(test::on_host(t.clone(Layout::RowMajor)));
  // Indices of the elements of each row, last axis first.
  std::map<std::array<std::int64_t, 3>, std::vector<std::int64_t>> rows;
  for (std::int64_t i = 0; i < c.sizes[0]; ++i) {
    for (std::int64_t j = 0; j < c.sizes[1]; ++j) {
      for (std::int64_t k = 0; k < c.sizes[2]; ++k) {
        const auto kept = [&](int axis, std::int64_t at) { return c.reduced >> axis & 1 ? 0 : at; };
        rows[{kept(0, i), kept(1, j), kept(2, k)}].push_back((i * c.sizes[1] + j) * c.sizes[2] + k);
      }
    }
  }
  if (c.sizes[0] * c.sizes[1] * c.sizes[2] == 0) {
    // Rows without elements: one for each index of the axes that remain.
    const auto size = [&](int axis) { return c.reduced >> axis & 1 ? 1 : c.sizes[axis]; };
    for (std::int64_t i = 0; i < size(0); ++i)
      for (std::int64_t j = 0; j < size(1); ++j)
        for (std::int64_t k = 0; k < size(2); ++k) rows[{i, j, k}];
  }
  const DType value = facts.value_type(c.compute);
  for (const auto& [place, members] : rows) {
    RowData row;
    for (std::size_t i = 0; i < dense.size(); ++i) {
      row.emplace_back();
      for (const std::int64_t at : members)
        row.back().push_back(element<long double>(dense[i].raw_data(), dense[i].dtype(), at));
    }
    for (std::size_t o = 0; o < results.size(); ++o) {
      const bool is_row = facts.outputs[o].kind == RowOutput::Kind::Row;
      const Tensor& result = results[o];
      // Of a long row some elements, since the reference goes over the whole row for each.
      const std::size_t elements = is_row ? members.size() : 1,
                        step = std::max<std::size_t>(1, elements / 11);
      for (std::size_t e = 0; e < elements; e += step) {
        std::int64_t at = is_row ? members[e] : 0;
        if (!is_row) {
          for (int axis = 0; axis < 3; ++axis)
            at += place[static_cast<std::size_t>(axis)] *
                  result.strides()[static_cast<std::size_t>(axis)].value();
        }
        const auto got = element<long double>(result.raw_data(), result.dtype(), at);
        RowProgram::Wanted wanted = facts.reference(row, facts.param_values, static_cast<int>(o), e);
        wanted.value = wrapped(wanted.value, result.dtype());
        const auto fail = [&] {
          return fmt::format("output {} of row ({}, {}, {}), element {}, is {}, not {}", o, place[0],
                             place[1], place[2], e, static_cast<double>(got),
                             static_cast<double>(wanted.value));
        };
        if (got == wanted.value || (std::isnan(got) && std::isnan(wanted.value))) continue;
        if (std::isinf(got) && is_too_great(wanted.value, result.dtype())) continue;
        if (!is_floating(result.dtype()) || !std::isfinite(got) || facts.max_ulp == 0) return fail();
        const long double scale = std::max(std::abs(wanted.value), wanted.magnitude);
        const int digits = value == kF64 ? 52 : 23;
        const long double fold = (depth_of(static_cast<std::int64_t>(members.size())) + facts.max_ulp) *
                                 std::ldexp(scale, -digits - 1);
        const double of_result = result.dtype() == kF16 || result.dtype() == kBF16 ? facts.half_ulp : 1;
        const long double between = value == c.compute ? 0 : ulp(wanted.rounded, c.compute);
        const long double rounding = facts.max_ulp * ulp(wanted.value, value) +
                                     of_result * ulp(wanted.value, result.dtype()) + between;
        if (std::abs(got - wanted.value) > fold + rounding) return fail();
      }
    }
  }
  return "";
}

TEST(Rows, EveryOpKeepsItsBoundOnEveryLayout) {
  const std::vector<RowCase> cases = chosen_row_cases();
  std::map<std::string, int> failed;
  for (const RowCase& c : cases) {
    std::string why;
    try {
      const std::vector<Tensor> inputs = make_inputs(c);
      why = check(c, inputs, run(c, inputs));
    } catch (const std::exception& error) {
      why = error.what();
    }
    if (!why.empty() && ++failed[std::string(c.op->name())] <= 3)
      ADD_FAILURE() << c.name() << "\n  " << why << "\n  repro: PELLUCID_CASE=" << c.name()
                    << " ./dev test Rows";
  }
  std::printf("%zu cases\n", cases.size());
}

TEST(Rows, ThreadsInstructionSetsAndLayoutsGiveTheSameBits) {
  ASSERT_TRUE(cpu::best_isa().has_value()) << "this processor has no AVX2";
  const int threads_before = thread_count();
  int ran = 0, failures = 0;
  std::size_t number = 0;
  for (const RowCase& c : chosen_row_cases()) {
    if (only_case().empty() && number++ % kBitsShare != 0) continue;  // each is run twelve times
    const std::vector<Tensor> inputs = make_inputs(c);
    std::vector<Tensor> dense, across;
    for (const Tensor& t : inputs) {
      dense.push_back(t.clone(Layout::RowMajor));
      across.push_back(t.permute({2, 1, 0}).clone(Layout::RowMajor).permute({2, 1, 0}));
    }
    std::vector<Tensor> first;
    for (const codegen::Isa isa : {codegen::Isa::Avx2, *cpu::best_isa()}) {
      cpu::register_pointwise(isa);
      for (const int threads : {1, 3}) {
        set_thread_count(threads);
        for (const auto& same : {inputs, dense, across}) {
          const std::vector<Tensor> results = run(c, same);
          if (first.empty()) first = results;
          bool alike = true;
          for (std::size_t o = 0; o < results.size(); ++o) {
            for (std::int64_t i = 0; alike && i < first[o].numel().value(); ++i)
              alike = same_bits(first[o].raw_data(), results[o].raw_data(), first[o].dtype(), i);
          }
          ++ran;
          if (!alike && ++failures < 20)
            ADD_FAILURE() << c.name() << ": " << name(isa) << " with " << threads
                          << " threads gives other bits\n"
                          << "  repro: PELLUCID_CASE=" << c.name() << " ./dev test Rows";
        }
      }
    }
  }
  cpu::register_pointwise(*cpu::active_isa());
  set_thread_count(threads_before);
  std::printf("%d runs\n", ran);
}

// There is nothing to write: the allocator would find out.
TEST(Rows, OfNoElementsAreNotWritten) {
  for (int i = 0; i < 100; ++i) {
    const Tensor x = zeros({28, 0});
    EXPECT_EQ(to_string(layer_norm(x, {0}).sizes()), "[28, 0]");
    EXPECT_EQ(to_string(group_norm(x, 1).sizes()), "[28, 0]");
    EXPECT_EQ(to_string(softmax(x, 1).sizes()), "[28, 0]");
    const std::vector<std::vector<char>> others(100, std::vector<char>(24));
  }
}

}  // namespace
}  // namespace pel::conformance
