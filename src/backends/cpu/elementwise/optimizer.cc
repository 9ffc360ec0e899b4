// Optimizer steps: all parameters of a group in one pass over their memory.
//
// Operands: [step, params, states…], then [lr, grads]. Elements are independent, so the bits do not depend on
// how the work is split; eight at a time use the same operations as one at a time.
#include <array>
#include <cmath>
#include <cstdint>

#include "backends/cpu/grains.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/lanes.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

PEL_LANES_INLINE F32x8 root(F32x8 x) { return square_root(x); }
PEL_LANES_INLINE float root(float x) { return std::sqrt(x); }
PEL_LANES_INLINE double root(double x) { return std::sqrt(x); }
PEL_LANES_INLINE void broadcast(float x, float& to) { to = x; }
PEL_LANES_INLINE void broadcast(double x, double& to) { to = x; }
PEL_LANES_INLINE void broadcast(float x, F32x8& to) { to = all_lanes<F32x8>(x); }

// base^exponent for a whole exponent, with the bits that any device computes; those of std::pow depend on the
// library. Relative to 1, errors of decays are below 1e-13.
double power(double base, double exponent) {
  double result = 1;
  for (auto n = static_cast<std::uint64_t>(exponent); n != 0; n >>= 1) {
    if ((n & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

// The constants of one step, rounded once to the compute type.
template <class C>
struct Adam {
  static constexpr int kStates = 2;
  C first_weight, second_decay, second_weight, root_correction, eps, step_size, decay, coupled;

  Adam(const KernelArgs& args, double lr, double step) {
    const double beta1 = args.scalars[0].as_float, beta2 = args.scalars[1].as_float;
    const double weight_decay = args.scalars[3].as_float;
    const bool decoupled = args.scalars[4].as_int != 0;
    first_weight = static_cast<C>(1 - beta1);
    second_decay = static_cast<C>(beta2);
    second_weight = static_cast<C>(1 - beta2);
    root_correction = static_cast<C>(std::sqrt(1 - power(beta2, step)));
    eps = static_cast<C>(args.scalars[2].as_float);
    step_size = static_cast<C>(lr / (1 - power(beta1, step)));
    decay = static_cast<C>(decoupled ? 1 - lr * weight_decay : 1);
    coupled = static_cast<C>(decoupled ? 0 : weight_decay);
  }
  template <class V>
  PEL_LANES_INLINE void operator()(V& p, V g, V* const (&state)[kStates]) const {
    V weight1, decay2, weight2, correction, small, size, decay_factor, added;
    broadcast(first_weight, weight1);
    broadcast(second_decay, decay2);
    broadcast(second_weight, weight2);
    broadcast(root_correction, correction);
    broadcast(eps, small);
    broadcast(step_size, size);
    broadcast(decay, decay_factor);
    broadcast(coupled, added);
    g = g + added * p;
    V &m = *state[0], &v = *state[1];
    m = m + (g - m) * weight1;
    v = v * decay2 + g * g * weight2;
    p = p * decay_factor - size * (m / (root(v) / correction + small));
  }
};

template <class C>
struct Sgd {
  static constexpr int kStates = 1;
  C lr, momentum, gradient_factor, coupled;
  bool has_momentum, is_nesterov;

  Sgd(const KernelArgs& args, double rate, double step) {
    const double mu = args.scalars[0].as_float, dampening = args.scalars[1].as_float;
    lr = static_cast<C>(rate);
    has_momentum = mu != 0;
    momentum = static_cast<C>(step == 1 ? 0 : mu);  // the first momentum is the gradient itself
    gradient_factor = static_cast<C>(step == 1 ? 1 : 1 - dampening);
    coupled = static_cast<C>(args.scalars[2].as_float);
    is_nesterov = args.scalars[3].as_int != 0;
    ahead = static_cast<C>(mu);
  }
  C ahead;
  template <class V>
  PEL_LANES_INLINE void operator()(V& p, V g, V* const (&state)[kStates]) const {
    V rate, mu, factor, added, next;
    broadcast(lr, rate);
    broadcast(momentum, mu);
    broadcast(gradient_factor, factor);
    broadcast(coupled, added);
    broadcast(ahead, next);
    g = g + added * p;
    if (has_momentum) {
      V& m = *state[0];
      m = m * mu + g * factor;
      g = is_nesterov ? g + next * m : m;
    }
    p = p - rate * g;
  }
};

struct Rows {
  void* param;
  const void* grad;
  void* states[2];
};

template <class Rule>
PEL_LANES std::int64_t run_lanes(const Rule& rule, const Rows& rows, std::int64_t begin, std::int64_t end) {
  auto* p = static_cast<float*>(rows.param);
  const auto* g = static_cast<const float*>(rows.grad);
  std::int64_t i = begin;
  for (; i + 8 <= end; i += 8) {
    auto value = load<F32x8>(p + i);
    F32x8 states[Rule::kStates];
    F32x8* pointers[Rule::kStates];
    for (int s = 0; s < Rule::kStates; ++s) {
      const auto* from = static_cast<const float*>(rows.states[s]);
      states[s] = from == nullptr ? F32x8{} : load<F32x8>(from + i);
      pointers[s] = &states[s];
    }
    rule(value, load<F32x8>(g + i), pointers);
    store(p + i, value);
    for (int s = 0; s < Rule::kStates; ++s) {
      if (rows.states[s] != nullptr) store(static_cast<float*>(rows.states[s]) + i, states[s]);
    }
  }
  return i;
}

template <class T, class C, class Rule>
PEL_LANES void run_each(const Rule& rule, const Rows& rows, std::int64_t begin, std::int64_t end) {
  auto* p = static_cast<char*>(rows.param);
  const auto* g = static_cast<const char*>(rows.grad);
  for (std::int64_t i = begin; i < end; ++i) {
    C value = convert<C>(load_as<T>(p + i * static_cast<std::int64_t>(sizeof(T))));
    const C slope = convert<C>(load_as<T>(g + i * static_cast<std::int64_t>(sizeof(T))));
    C states[Rule::kStates] = {};
    C* pointers[Rule::kStates];
    for (int s = 0; s < Rule::kStates; ++s) {
      if (rows.states[s] != nullptr)
        states[s] = load_as<C>(static_cast<char*>(rows.states[s]) + i * static_cast<std::int64_t>(sizeof(C)));
      pointers[s] = &states[s];
    }
    rule(value, slope, pointers);
    store_as(p + i * static_cast<std::int64_t>(sizeof(T)), convert<T>(value));
    for (int s = 0; s < Rule::kStates; ++s) {
      if (rows.states[s] != nullptr)
        store_as(static_cast<char*>(rows.states[s]) + i * static_cast<std::int64_t>(sizeof(C)), states[s]);
    }
  }
}

template <template <class> class Rule>
void run_step(Stream&, const KernelArgs& args) {
  auto* step = static_cast<float*>(output(args, 0).data);
  *step += 1;
  const double lr = *static_cast<const float*>(input(args, 0).data);
  const int params = args.input_count - 1;
  const int states = params == 0 ? 0 : (args.output_count - 1) / params - 1;
  // Numbers the elements of all parameters consecutively.
  std::vector<std::int64_t> ends;
  std::int64_t total = 0;
  for (int i = 0; i < params; ++i) {
    const Operand& param = output(args, 1 + i);
    std::int64_t count = 1;
    for (int axis = 0; axis < param.rank; ++axis) count *= param.sizes[axis];
    ends.push_back(total += count);
  }
  const Rule<float> in_f32(args, lr, *step);
  const Rule<double> in_f64(args, lr, *step);
  parallel_for(total, kGrainElements, [&](std::int64_t begin, std::int64_t end) {
    auto at = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    while (begin < end) {
      const std::int64_t base = at == 0 ? 0 : ends[at - 1];
      const std::int64_t from = begin - base, to = std::min(end, ends[at]) - base;
      const int i = static_cast<int>(at);
      Rows rows{output(args, 1 + i).data, input(args, 1 + i).data, {}};
      for (int s = 0; s < states; ++s) rows.states[s] = output(args, 1 + (1 + s) * params + i).data;
      switch (static_cast<DType>(output(args, 1 + i).dtype)) {
        case DType::F64:
          run_each<double, double>(in_f64, rows, from, to);
          break;
        case DType::F32:
          run_each<float, float>(in_f32, rows, run_lanes(in_f32, rows, from, to), to);
          break;
        case DType::F16:
          run_each<Float16, float>(in_f32, rows, from, to);
          break;
        default:
          run_each<BFloat16, float>(in_f32, rows, from, to);
      }
      begin = base + to;
      ++at;
    }
  });
}

}  // namespace

KernelLists optimizer_kernels() {
  static const auto kAdam = std::to_array<Kernel>({{"cpu_adam_step", supports_any, run_step<Adam>}});
  static const auto kSgd = std::to_array<Kernel>({{"cpu_sgd_step", supports_any, run_step<Sgd>}});
  static const auto kLists = std::to_array<BackendKernels>({{"adam_step_", kAdam}, {"sgd_step_", kSgd}});
  return kLists;
}

}  // namespace pel::cpu
