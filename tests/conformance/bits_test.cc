// One kernel, four ways to the same bits: built ahead of time for two instruction sets, compiled in process,
// and the scalar interpreter.
#include <gtest/gtest.h>

#include "backends/cpu/generated/kernel_set.h"
#include "backends/cpu/generated/prebuilt_code.h"
#include "backends/cpu/isa.h"
#include "codegen/llvm/jit.h"
#include "conformance/cases.h"

namespace pel::conformance {
namespace {

using codegen::Isa;

struct Data {
  std::vector<std::vector<std::byte>> arrays;  // outputs, then inputs
  std::vector<void*> pointers;
  std::vector<std::int64_t> strides;
};

DType result_type(const scalar::ScalarExpr& expr, std::size_t result) {
  return expr.nodes[static_cast<std::size_t>(expr.results[result])].type;
}

constexpr std::int64_t kCount = 1027;

Data make_data(const scalar::ScalarExpr& expr, const Pointwise& facts, std::uint64_t seed) {
  Data data;
  for (std::size_t r = 0; r < expr.results.size(); ++r)
    data.arrays.emplace_back(static_cast<std::size_t>(kCount * size_bytes(result_type(expr, r))));
  ArgumentSource source(seed);
  for (std::size_t i = 0; i < expr.inputs.size(); ++i) {
    auto& array = data.arrays.emplace_back(static_cast<std::size_t>(kCount * size_bytes(expr.inputs[i])));
    source.fill(facts, static_cast<int>(i), expr.inputs[i], array.data(), kCount);
  }
  for (auto& array : data.arrays) {
    data.pointers.push_back(array.data());
    data.strides.push_back(1);
  }
  return data;
}

// Facts of the op of a kernel, so that arguments come from its domain; casts and folds take any number.
const Pointwise& facts_of(const std::string& kernel, std::map<std::string, const Op*>& ops) {
  static const Pointwise kAny = [] {
    Pointwise any;
    any.domains.push_back({-70000, 70000});
    return any;
  }();
  const auto found = ops.find(kernel);
  return found == ops.end() ? kAny : *found->second->pointwise();
}

TEST(Bits, PrebuiltCompiledAndInterpretedAgree) {
  const auto best = cpu::best_isa();
  ASSERT_TRUE(best.has_value()) << "this processor has no AVX2";
  std::map<std::string, const Op*> ops;
  for_each_formula([&](const Op& op, std::size_t formula, DType compute) {
    ops[cpu::kernel_name(op, formula, compute)] = &op;
  });
  std::vector<cpu::KernelSpec> specs = cpu::kernel_set();
  std::erase_if(specs, [](const cpu::KernelSpec& spec) { return spec.fold.has_value(); });
  for (const Isa isa : {Isa::Avx2, Isa::Avx512}) {
    if (isa > *best) continue;
    std::vector<codegen::LoopKernel> kernels;
    for (const cpu::KernelSpec& spec : specs) kernels.push_back(spec.lower(isa));
    const codegen::CompiledKernels compiled = codegen::compile_in_process(kernels, isa);
    for (std::size_t k = 0; k < specs.size(); ++k) {
      const scalar::ScalarExpr& expr = specs[k].body;
      const cpu::PrebuiltKernel* prebuilt = cpu::find_prebuilt(specs[k].name, isa);
      ASSERT_NE(prebuilt, nullptr) << specs[k].name;
      const Pointwise& facts = facts_of(specs[k].name, ops);
      std::vector<PelScalar> scalars;
      std::vector<std::uint64_t> values(expr.params.size());
      std::vector<const void*> params;
      for (std::size_t p = 0; p < expr.params.size(); ++p) {
        const double value = p < facts.param_values.size() ? facts.param_values[p] : 1.0;
        scalars.push_back({value, convert<std::int64_t>(value), PEL_SCALAR_FLOAT, {}});
        with_type(expr.params[p],
                  [&]<class T>(std::type_identity<T>) { store_as(&values[p], convert<T>(value)); });
        params.push_back(&values[p]);
      }
      Data data = make_data(expr, facts, k);
      const std::size_t results = expr.results.size();
      const std::vector<const void*> inputs(data.pointers.begin() + static_cast<std::ptrdiff_t>(results),
                                            data.pointers.end());
      std::vector<std::vector<std::byte>> wanted(data.arrays.begin(),
                                                 data.arrays.begin() + static_cast<std::ptrdiff_t>(results));
      std::vector<std::vector<std::byte>> ahead = wanted, in_process = wanted;
      const auto write_to = [&](std::vector<std::vector<std::byte>>& outputs) {
        for (std::size_t r = 0; r < results; ++r) data.pointers[r] = outputs[r].data();
      };
      write_to(wanted);
      const bool fine = scalar::evaluate(expr, kCount, inputs.data(), params.data(), data.pointers.data());
      write_to(ahead);
      const auto ahead_status =
          prebuilt->function(kCount, data.pointers.data(), data.strides.data(), scalars.data());
      write_to(in_process);
      const auto status = compiled[k](kCount, data.pointers.data(), data.strides.data(), scalars.data());
      EXPECT_EQ(status, fine ? 0 : codegen::kDividedByZero) << specs[k].name;
      EXPECT_EQ(ahead_status, status) << specs[k].name;
      for (std::size_t r = 0; r < results; ++r) {
        const DType type = result_type(expr, r);
        for (std::int64_t i = 0; i < kCount; ++i) {
          if (same_bits(wanted[r].data(), ahead[r].data(), type, i) &&
              same_bits(wanted[r].data(), in_process[r].data(), type, i))
            continue;
          ADD_FAILURE() << specs[k].name << " " << name(isa) << ": element " << i << " is "
                        << element<double>(wanted[r].data(), type, i) << " interpreted, "
                        << element<double>(ahead[r].data(), type, i) << " built ahead, "
                        << element<double>(in_process[r].data(), type, i) << " compiled in process";
          break;
        }
      }
    }
    std::printf("%zu kernels for %s\n", specs.size(), std::string(name(isa)).c_str());
  }
}

// Runs that lie apart, each with numbers of its own, against one call for each.
TEST(Bits, RunsAreOneCallEach) {
  const auto best = cpu::best_isa();
  ASSERT_TRUE(best.has_value()) << "this processor has no AVX2";
  constexpr std::int64_t kRuns = 3, kMaxInRun = 70, kGap = 5;
  std::size_t tried = 0;
  for (const cpu::KernelSpec& spec : cpu::kernel_set()) {
    if (!spec.has_runs) continue;
    const std::vector<PelScalar> scalars(spec.body.params.size() + 1, {2.0, 2, PEL_SCALAR_FLOAT, {}});
    const auto elements = static_cast<std::size_t>(kRuns * (kMaxInRun + kGap));
    std::vector<std::vector<std::uint64_t>> inputs;  // large enough for any dtype
    for (std::size_t i = 0; i < spec.body.inputs.size(); ++i) {
      inputs.emplace_back(elements);
      with_type(spec.body.inputs[i], [&]<class T>(std::type_identity<T>) {
        for (std::size_t e = 0; e < elements; ++e)
          store_as(reinterpret_cast<char*>(inputs[i].data()) + e * sizeof(T),
                   convert<T>(static_cast<double>((e * 7 + i * 3) % 11) - 3.0));
      });
    }
    const std::size_t results = spec.body.results.size();
    for (const Isa isa : {Isa::Avx2, Isa::Avx512}) {
      if (isa > *best) continue;
      const cpu::PrebuiltKernel* prebuilt = cpu::find_prebuilt(spec.name, isa);
      for (const std::int64_t count : {1, 7, 49, 64, 70}) {
        using Outputs = std::vector<std::vector<char>>;
        Outputs apart(results, std::vector<char>(elements * 8, 77)), together = apart;
        std::vector<void*> data;
        std::vector<std::int64_t> strides(results, 1), steps;
        for (std::size_t o = 0; o < results; ++o) {
          const DType type = spec.body.nodes[static_cast<std::size_t>(spec.body.results[o])].type;
          data.push_back(together[o].data());
          steps.push_back((spec.fold && o == 0 ? 1 : count + kGap) * size_bytes(type));
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          data.push_back(inputs[i].data());
          strides.push_back(i == 0 ? 1 : 0);
          steps.push_back((i == 0 ? count + kGap : 1) * size_bytes(spec.body.inputs[i]));
        }
        prebuilt->runs(count, data.data(), scalars.data(), kRuns, steps.data());
        for (std::size_t o = 0; o < results; ++o) data[o] = apart[o].data();
        for (std::int64_t r = 0; r < kRuns; ++r) {
          prebuilt->function(count, data.data(), strides.data(), scalars.data());
          for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char*>(data[i]) + steps[i];
        }
        EXPECT_EQ(apart, together) << spec.name << " " << name(isa) << ", runs of " << count;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 0U);
}

}  // namespace
}  // namespace pel::conformance
