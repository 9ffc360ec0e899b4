// Optimizer steps: a launch computes the constants of the step from its number and the rate, which are on the
// device, and one launch for each parameter reads them. The arithmetic is that of the CPU
// (backends/cpu/elementwise/optimizer.cc).
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backends/grid/items.h"
#include "backends/grid/loops.h"
#include "dispatch/pointwise.h"

namespace pel::grid {
namespace {

using codegen::ItemText;
using scalar::ScalarBuilder;
using scalar::ScalarExpr;
using scalar::Term;

// Constants of a step, as f64 and then as f32.
constexpr int kMaxConstants = 8;
constexpr std::int64_t kConstantBytes = kMaxConstants * 12;

struct Rule {
  const char* name;
  int states;
  int constants;
  // Statements that set c[0 …] of `double step, lr, x[5]`: the numbers of the op.
  const char* statements;
  // The parameter and the states after the step; from [param, gradient, states, constants].
  std::vector<Term> (*next)(Term param, Term grad, const std::vector<Term>& states,
                            const std::vector<Term>& c);
};

// first_weight, second_decay, second_weight, root_correction, eps, step_size, decay, coupled
constexpr const char* kAdamConstants = R"(
  c[0] = sub_f64(1, x[0]);
  c[1] = x[1];
  c[2] = sub_f64(1, x[1]);
  c[3] = sqrt_f64(sub_f64(1, power(x[1], step)));
  c[4] = x[2];
  c[5] = div_f64(lr, sub_f64(1, power(x[0], step)));
  c[6] = x[4] != 0 ? sub_f64(1, mul_f64(lr, x[3])) : 1;
  c[7] = x[4] != 0 ? 0 : x[3];
)";
std::vector<Term> after_adam(Term p, Term grad, const std::vector<Term>& states, const std::vector<Term>& c) {
  const Term g = grad + c[7] * p;
  const Term m = states[0] + (g - states[0]) * c[0];
  const Term v = states[1] * c[1] + g * g * c[2];
  return {p * c[6] - c[5] * (m / (sqrt(v) / c[3] + c[4])), m, v};
}
// rate, momentum, gradient_factor, coupled, ahead
constexpr const char* kSgdConstants = R"(
  c[0] = lr;
  c[1] = step == 1 ? 0 : x[0];
  c[2] = step == 1 ? 1 : sub_f64(1, x[1]);
  c[3] = x[2];
  c[4] = x[0];
)";
std::vector<Term> after_sgd(Term p, Term grad, const std::vector<Term>&, const std::vector<Term>& c) {
  return {p - c[0] * (grad + c[3] * p)};
}
std::vector<Term> after_momentum(Term p, Term grad, const std::vector<Term>& states,
                                 const std::vector<Term>& c) {
  const Term g = grad + c[3] * p, m = states[0] * c[1] + g * c[2];
  return {p - c[0] * m, m};
}
std::vector<Term> after_nesterov(Term p, Term grad, const std::vector<Term>& states,
                                 const std::vector<Term>& c) {
  const Term g = grad + c[3] * p, m = states[0] * c[1] + g * c[2];
  return {p - c[0] * (g + c[4] * m), m};
}
constexpr Rule kAdam{"adam_step", 2, 8, kAdamConstants, after_adam};
constexpr Rule kSgd{"sgd_step", 0, 5, kSgdConstants, after_sgd};
constexpr Rule kMomentum{"sgd_step_momentum", 1, 5, kSgdConstants, after_momentum};
constexpr Rule kNesterov{"sgd_step_nesterov", 1, 5, kSgdConstants, after_nesterov};

// Over [param, gradient, states, constants].
ScalarExpr expr_of(const Rule& rule, DType dtype) {
  const DType type = value_type(dtype);
  ScalarBuilder builder;
  const Term param = cast(builder.input(dtype), type), grad = cast(builder.input(dtype), type);
  std::vector<Term> states, constants;
  for (int s = 0; s < rule.states; ++s) states.push_back(builder.input(type));
  for (int c = 0; c < rule.constants; ++c) constants.push_back(builder.input(type));
  std::vector<Term> results = rule.next(param, grad, states, constants);
  results[0] = cast(results[0], dtype);
  return builder.finish({results.data(), results.size()});
}

// Operands: [step, params, states…], then [lr, grads].
void run_step(const Rule& rule, std::array<std::unique_ptr<Loop>, kDTypeCount>& loops, Functions& functions,
              const KernelArgs& args) {
  const FunctionHandle constants =
      built_items(functions, 0, std::string("pel_constants_of_") + rule.name, [&] {
        return ItemText{std::string("pel_constants_of_") + rule.name, 3, "number[5]", R"(
PEL_INLINE pel_f64 power(pel_f64 base, pel_f64 exponent) {
  pel_f64 result = 1;
  PEL_LOOP for (pel_i64 n = (pel_i64)exponent; n != 0; n >>= 1) {
    if ((n & 1) != 0) result = mul_f64(result, base);
    base = mul_f64(base, base);
  }
  return result;
}
)",
                        std::string(R"(
  PEL_GLOBAL pel_f32* const at = PEL_AT(pel_f32, 0);
  at[0] = add_f32(at[0], 1);
  const pel_f64 step = at[0], lr = PEL_AT(const pel_f32, 1)[0];
  pel_f64 x[5], c[8];
  for (int k = 0; k < 5; ++k) x[k] = as_pel_f64((pel_u64)call.number[k]);
)") + rule.statements +
                            fmt::format(R"(
  for (int k = 0; k < {0}; ++k) PEL_AT(pel_f64, 2)[k] = c[k];
  for (int k = 0; k < {0}; ++k) ((PEL_GLOBAL pel_f32*)(PEL_AT(pel_f64, 2) + {1}))[k] = (pel_f32)c[k];
)",
                                        rule.constants, kMaxConstants)};
      });
  GridCall call;
  for (const void* address : {output(args, 0).data, input(args, 0).data, args.scratch}) call.address(address);
  call.number(1);
  for (int k = 0; k < 5; ++k) {
    PelScalar number =
        k < static_cast<int>(args.scalar_count) ? args.scalars[k] : PelScalar{0, 0, PEL_SCALAR_FLOAT, {}};
    if (number.kind != PEL_SCALAR_FLOAT) number.as_float = number.as_int != 0 ? 1 : 0;
    call.number(number_bits(number, kF64));
  }
  call.launch(constants, 1, 1);

  const int params = args.input_count - 1;
  for (int i = 0; i < params; ++i) {
    const Operand& param = output(args, 1 + i);
    const std::int64_t count = count_of(param), one = 1;
    if (count == 0) continue;
    const DType dtype = dtype_of(param), type = value_type(dtype);
    std::unique_ptr<Loop>& loop = loops[static_cast<std::size_t>(dtype)];
    if (loop == nullptr) loop = std::make_unique<Loop>(Loop::fused(rule.name, expr_of(rule, dtype)));
    // No operand has gaps, and all have one layout.
    std::vector<Operand> operands;
    const auto add = [&](void* data, DType of, const std::int64_t& size, bool is_output) {
      operands.push_back({data,
                          &size,
                          &one,
                          1,
                          static_cast<std::uint8_t>(of),
                          static_cast<std::uint8_t>(is_output ? 1 : 0),
                          {}});
    };
    const auto state = [&](int s) { return output(args, 1 + (1 + s) * params + i).data; };
    add(param.data, dtype, count, true);
    for (int s = 0; s < rule.states; ++s) add(state(s), type, count, true);
    add(param.data, dtype, count, false);
    add(input(args, 1 + i).data, dtype, count, false);
    for (int s = 0; s < rule.states; ++s) add(state(s), type, count, false);
    auto* const values = static_cast<std::byte*>(args.scratch) + (type == kF64 ? 0 : kMaxConstants * 8);
    for (int c = 0; c < rule.constants; ++c) add(values + c * size_bytes(type), type, one, false);
    run_loop(*loop, operands.data(), {});
  }
}

template <const Rule& kRule>
void run_rule(const KernelArgs& args) {
  static std::array<std::unique_ptr<Loop>, kDTypeCount> loops;
  static Functions functions;
  run_step(kRule, loops, functions, args);
}
void run_adam(Stream&, const KernelArgs& args) { run_rule<kAdam>(args); }
void run_sgd(Stream&, const KernelArgs& args) {
  if (args.scalars[0].as_float == 0) return run_rule<kSgd>(args);
  if (args.scalars[3].as_int != 0) return run_rule<kNesterov>(args);
  run_rule<kMomentum>(args);
}

Support supports_step(const KernelArgs& args) {
  const bool has_states = args.output_count > args.input_count;
  if (!has_states && args.scalars[0].as_float != 0) return Support::no("there is no memory for a momentum");
  if (!abilities().has_f64) return Support::no("constants of a step are f64, which the device does not have");
  return supports_memory(args);
}
std::uint64_t scratch_of_step(const KernelArgs&) { return kConstantBytes; }

}  // namespace

KernelLists optimizer_kernels() {
  static const auto kAdamList = [] {
    Kernel step{"adam_step_text", supports_step, run_adam};
    step.scratch_bytes = scratch_of_step;
    return std::to_array<Kernel>({step});
  }();
  static const auto kSgdList = [] {
    Kernel step{"sgd_step_text", supports_step, run_sgd};
    step.scratch_bytes = scratch_of_step;
    return std::to_array<Kernel>({step});
  }();
  static const auto kLists =
      std::to_array<BackendKernels>({{"adam_step_", kAdamList}, {"sgd_step_", kSgdList}});
  return kLists;
}

}  // namespace pel::grid
