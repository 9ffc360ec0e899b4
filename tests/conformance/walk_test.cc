// Every pointwise op against the reference in its own record, on every dtype, layout and size.
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/threads.h"

#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/isa.h"
#include "conformance/cases.h"
#include "tensor/layout.h"

namespace pel::conformance {
namespace {

constexpr std::size_t kMinCases = 60'000;
constexpr int kShownPerOp = 3;

std::vector<Case> chosen_cases() {
  std::vector<Case> cases;
  std::size_t number = 0;
  for (const Case& c : all_cases()) {
    if (only_case().empty() ? number++ % static_cast<std::size_t>(test_share()) == 0 : is_chosen(c.name()))
      cases.push_back(c);
  }
  return cases;
}

// Inputs as dense arrays of the broadcast sizes, in the dtype that is computed in.
std::vector<Tensor> dense_inputs(const Case& c, const Call& call, Dims sizes) {
  std::vector<Tensor> dense;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const bool condition = c.op->pointwise()->takes_condition && i == 0;
    const Tensor converted = call.inputs[i].to(condition ? kBool : c.compute);
    dense.push_back(test::on_host(converted.expand(sizes).clone(Layout::RowMajor)));
  }
  return dense;
}

// What is wrong with a result, or nothing.
std::string check(const Case& c, const std::vector<Tensor>& tensors, const Tensor& result) {
  const Pointwise& facts = *c.op->pointwise();
  const Formula& formula = facts.formulas[c.formula];
  const std::vector<double> params = test_params(facts);
  std::vector<Elements> inputs;
  for (const Tensor& t : tensors) inputs.push_back({t.raw_data(), t.dtype()});
  const DType dtype = result.dtype();
  const auto describe = [&](std::int64_t i, double got, double wanted, const std::string& by) {
    std::string text = "element " + std::to_string(i) + " of (";
    for (const Elements& input : inputs)
      text += fmt::format("{}{:.9g}", text.back() == '(' ? "" : ", ",
                          element<double>(input.data, input.dtype, i));
    return text + fmt::format(") is {:.17g}, not {:.17g}{}", got, wanted, by);
  };
  const double bound = bound_of(formula, c.compute);
  for (std::int64_t i = 0; i < result.numel().value(); ++i) {
    if (!is_floating(c.compute)) {
      const auto& reference =
          c.compute == kBool && formula.reference_bool ? formula.reference_bool : formula.reference_int;
      if (!reference) return "the record has no reference for integers";
      const WideInt wide = reference_at<WideInt>(reference, inputs, params, i, c.compute);
      const bool same = with_type(dtype, [&]<class T>(std::type_identity<T>) {
        if constexpr (std::is_integral_v<T>) {
          const T wanted = std::is_same_v<T, bool> ? static_cast<T>(wide != 0) : static_cast<T>(wide);
          return load_as<T>(static_cast<const std::byte*>(result.raw_data()) +
                            i * static_cast<std::int64_t>(sizeof(T))) == wanted;
        } else {
          return false;
        }
      });
      if (!same)
        return describe(i, element<double>(result.raw_data(), dtype, i), static_cast<double>(wide), "");
      continue;
    }
    if (!formula.reference) return "the record has no reference";
    const Deviation d = deviation_at(formula, inputs, params, {result.raw_data(), dtype}, i, c.compute);
    if (is_within(d.error, bound)) continue;
    return describe(i, d.got, d.wanted,
                    dtype == kBool
                        ? ""
                        : fmt::format(": {:.4g} units of the last place, {} are allowed", d.error, bound));
  }
  return "";
}

struct Outcome {
  std::size_t ran = 0;
  std::map<std::string, int> failed_by_op;
  void fail(const Case& c, const std::string& why) {
    if (++failed_by_op[std::string(c.op->name())] <= kShownPerOp)
      ADD_FAILURE() << c.name() << "\n  " << why << "\n  repro: " << repro(c.name());
  }
};

TEST(Conformance, EveryOpKeepsItsBoundOnEveryLayout) {
  Outcome outcome;
  std::map<std::string, std::size_t> by_layout;
  for (const Case& c : chosen_cases()) {
    ++outcome.ran;
    ++by_layout[std::string(kLayoutNames[static_cast<int>(c.layout)])];
    try {
      const Call call = make_call(c);
      Dims sizes = call.inputs.back().sizes();
      for (const Tensor& t : call.inputs) {
        if (t.dim() > static_cast<std::int64_t>(sizes.size()) ||
            (t.dim() == static_cast<std::int64_t>(sizes.size()) && t.numel() > product(sizes)))
          sizes = t.sizes();
      }
      // Taken before the call: it may write into an input.
      const std::vector<Tensor> inputs = dense_inputs(c, call, sizes);
      const Tensor result = test::on_host(run(c, call).clone(Layout::RowMajor));
      if (const std::string why = check(c, inputs, result); !why.empty()) outcome.fail(c, why);
    } catch (const std::exception& error) {
      outcome.fail(c, error.what());
    }
  }
  std::printf("%zu cases\n", outcome.ran);
  for (const auto& [layout, count] : by_layout) std::printf("  %-11s %6zu\n", layout.c_str(), count);
  if (only_case().empty() && test_share() == 1) {
    EXPECT_GE(outcome.ran, kMinCases);
  }
  if (!only_case().empty() && only_case().find(kErrors) == std::string::npos) {
    EXPECT_GE(outcome.ran, 1u) << "no case has this name";
  }
}

// A hash of the result, in which all NaNs are one.
std::uint64_t fingerprint(const Tensor& result) {
  const Tensor dense = test::on_host(result.clone(Layout::RowMajor));
  std::uint64_t hash = 14695981039346656037u;
  const std::int64_t size = size_bytes(dense.dtype());
  for (std::int64_t i = 0; i < dense.numel().value(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const std::byte*>(dense.raw_data()) + i * size,
                static_cast<std::size_t>(size));
    if (is_floating(dense.dtype()) && std::isnan(element<double>(dense.raw_data(), dense.dtype(), i)))
      bits = 1;
    hash = (hash ^ bits) * 1099511628211u;
  }
  return hash;
}

TEST(Conformance, ThreadsAndInstructionSetsGiveTheSameBits) {
  using codegen::Isa;
  ASSERT_TRUE(cpu::best_isa().has_value()) << "this processor has no AVX2";
  struct Run {
    Isa isa;
    int threads;
  };
  std::vector<Run> runs = {{Isa::Avx2, 1}, {Isa::Avx2, 3}};
  if (*cpu::best_isa() == Isa::Avx512) {
    runs.push_back({Isa::Avx512, 1});
    runs.push_back({Isa::Avx512, 3});
  } else {
    std::printf("this processor has no AVX-512: AVX2 is compared with itself alone\n");
  }
  const int threads_before = thread_count();
  Outcome outcome;
  std::vector<std::uint64_t> first;
  const std::vector<Case> cases = chosen_cases();
  for (std::size_t r = 0; r < runs.size(); ++r) {
    cpu::register_pointwise(runs[r].isa);
    set_thread_count(runs[r].threads);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Call call = make_call(cases[i]);
      const std::uint64_t hash = fingerprint(run(cases[i], call));
      if (r == 0) {
        first.push_back(hash);
      } else if (hash != first[i]) {
        outcome.fail(cases[i],
                     fmt::format("{} with {} threads gives other bits than {} with {}", name(runs[r].isa),
                                 runs[r].threads, name(runs[0].isa), runs[0].threads));
      }
      ++outcome.ran;
    }
  }
  set_thread_count(threads_before);
  cpu::register_pointwise(*cpu::active_isa());
  std::printf("%zu runs of %zu cases\n", outcome.ran, cases.size());
}

}  // namespace
}  // namespace pel::conformance
