// Random networks of matmuls: results that share an input, epilogues, results that meet again, weights that
// are inputs or constants and change between calls. They have the bits that eager has with copies of the
// weights, of which nothing is packed. PELLUCID_NETWORKS=N draws N.
#include <array>

#include <gtest/gtest.h>

#include "pellucid/packing.h"
#include "pellucid/pellucid.h"
#include "pellucid/threads.h"

#include "compile/compiled_function.h"
#include "compile/equal_bits.h"
#include "packing/packing_cache.h"
#include "support/random.h"

namespace pel::networks {
namespace {

struct Weight {
  std::int64_t k, n;
  bool is_transposed, is_input;
};
struct Step {
  enum class Kind : std::uint8_t { Matmul, Unary, Binary } kind;
  std::size_t a, b;  // activations; for a matmul b is the weight
  int bias;          // of a matmul: a constant, or -1
  std::int64_t op;
};
struct Network {
  DType dtype{};
  std::vector<std::int64_t> widths;  // of activations: the input, then one for each step
  std::vector<Weight> weights;
  std::vector<std::int64_t> biases;
  std::vector<Step> steps;
  std::vector<std::size_t> outputs;
};

std::string text_of(const Network& net) {
  std::string text = fmt::format("{}, x has {} columns\n", name(net.dtype), net.widths[0]);
  for (std::size_t i = 0; i < net.steps.size(); ++i) {
    const Step& s = net.steps[i];
    if (s.kind == Step::Kind::Matmul) {
      const Weight& w = net.weights[s.b];
      text += fmt::format("  %{} = %{} by weight {}: {} x {}{}{}, bias {}\n", i + 1, s.a, s.b, w.k, w.n,
                          w.is_transposed ? ", transposed" : "", w.is_input ? ", an input" : "", s.bias);
    } else if (s.kind == Step::Kind::Unary) {
      text += fmt::format("  %{} = op {} of %{}\n", i + 1, s.op, s.a);
    } else {
      text += fmt::format("  %{} = op {} of %{}, %{}\n", i + 1, s.op, s.a, s.b);
    }
  }
  return text + fmt::format("  returns {}\n", fmt::join(net.outputs, ", "));
}

Network draw(test::Random& random) {
  constexpr DType kTypes[] = {kF32, kF32, kBF16, kF16, kF64};
  constexpr std::int64_t kWidths[] = {1, 3, 16, 31, 48, 64, 97, 130};
  const auto any_width = [&] { return kWidths[random.between(0, std::ssize(kWidths) - 1)]; };
  Network net;
  net.dtype = kTypes[random.between(0, std::ssize(kTypes) - 1)];
  net.widths = {any_width()};
  const std::int64_t shared_width = any_width();  // so that results meet
  const std::int64_t steps = random.between(1, 9);
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto any = [&] { return static_cast<std::size_t>(random.between(0, std::ssize(net.widths) - 1)); };
    Step step{Step::Kind::Matmul, random.one_in(2) ? any() : net.widths.size() - 1, 0, -1, 0};
    const std::int64_t kind = random.between(0, 9);
    std::vector<std::size_t> equals;  // activations of the same width
    for (std::size_t a = 0; a < net.widths.size(); ++a)
      if (net.widths[a] == net.widths[step.a]) equals.push_back(a);
    if (kind < 2) {
      step.kind = Step::Kind::Unary, step.op = random.between(0, 4);
      net.widths.push_back(net.widths[step.a]);
    } else if (kind < 5) {
      step.kind = Step::Kind::Binary, step.op = random.between(0, 2);
      step.b = equals[static_cast<std::size_t>(random.between(0, std::ssize(equals) - 1))];
      net.widths.push_back(net.widths[step.a]);
    } else {
      if (random.one_in(2)) step.a = 0;
      const std::int64_t k = net.widths[step.a];
      std::vector<std::size_t> fitting;
      for (std::size_t w = 0; w < net.weights.size(); ++w)
        if (net.weights[w].k == k) fitting.push_back(w);
      if (!fitting.empty() && random.one_in(4)) {
        step.b = fitting[static_cast<std::size_t>(random.between(0, std::ssize(fitting) - 1))];
      } else {
        step.b = net.weights.size();
        net.weights.push_back(
            {k, random.one_in(3) ? any_width() : shared_width, random.one_in(2), random.one_in(3)});
      }
      if (random.one_in(3)) {
        step.bias = static_cast<int>(net.biases.size());
        net.biases.push_back(net.weights[step.b].n);
      }
      net.widths.push_back(net.weights[step.b].n);
    }
    net.steps.push_back(step);
  }
  net.outputs = {net.steps.size()};
  while (random.one_in(3))
    net.outputs.push_back(static_cast<std::size_t>(random.between(0, std::ssize(net.steps))));
  return net;
}

std::vector<Tensor> run(const Network& net, const Tensor& x, ArrayView<Tensor> weights,
                        ArrayView<Tensor> biases) {
  std::vector<Tensor> made = {x};
  for (const Step& s : net.steps) {
    const Tensor& a = made[s.a];
    switch (s.kind) {
      case Step::Kind::Matmul: {
        const Tensor weight = net.weights[s.b].is_transposed ? weights[s.b].t() : weights[s.b];
        made.push_back(s.bias < 0 ? mm(a, weight)
                                  : addmm(biases[static_cast<std::size_t>(s.bias)], a, weight));
        break;
      }
      case Step::Kind::Unary:
        made.push_back(s.op == 0   ? gelu(a)
                       : s.op == 1 ? silu(a)
                       : s.op == 2 ? mul(a, 0.5)
                       : s.op == 3 ? neg(a)
                                   : tanh(a));
        break;
      case Step::Kind::Binary:
        made.push_back(s.op == 0 ? mul(a, made[s.b]) : s.op == 1 ? add(a, made[s.b]) : sub(a, made[s.b]));
    }
  }
  std::vector<Tensor> outputs;
  for (const std::size_t output : net.outputs) outputs.push_back(made[output]);
  return outputs;
}

class Values {
 public:
  Values(const Network& net, test::Random& random) : net_(net), random_(random) {
    for (std::size_t w = 0; w < net.weights.size(); ++w) weights.push_back(fresh(w));
    for (const std::int64_t width : net.biases) biases.push_back(noise({width}));
  }
  Tensor noise(std::vector<Dim> sizes) const { return to_copy(mul(randn(sizes), 0.3), net_.dtype); }

  // Writes to some weights, each in one of the ways that there are.
  void change() {
    for (std::size_t w = 0; w < weights.size(); ++w) {
      if (!random_.one_in(5)) continue;
      const Tensor& weight = weights[w];
      switch (random_.between(0, 4)) {
        case 0:
          weight.mul_(1.25);
          break;
        case 1:
          weight.view({-1}).slice(0, 0, 3).fill_(0.5);
          break;
        case 2:
          weight.t().copy_(noise({weight.sizes()[1], weight.sizes()[0]}));
          break;
        case 3:
          compile([&](const Tensor& by) { return weight.sub_(by); })(full({1}, 0.125, net_.dtype));
          break;
        default:
          if (net_.weights[w].is_input) weights[w] = fresh(w);
      }
    }
  }

  std::vector<Tensor> weights, biases;

 private:
  Tensor fresh(std::size_t w) const {
    const Weight& weight = net_.weights[w];
    return weight.is_transposed ? noise({weight.n, weight.k}) : noise({weight.k, weight.n});
  }
  const Network& net_;
  test::Random& random_;
};

// Empty, or what went wrong.
std::string check(const Network& net, test::Random& random) {
  Values values(net, random);
  const std::vector<Tensor> constants = values.weights;  // those that are inputs are replaced
  compiler::CompiledFunction compiled([&](ArrayView<Tensor> in) {
    std::vector<Tensor> weights = constants;
    std::size_t next = 1;
    for (std::size_t w = 0; w < weights.size(); ++w)
      if (net.weights[w].is_input) weights[w] = in[next++];
    return run(net, in[0], weights, values.biases);
  });
  constexpr std::int64_t kRows[] = {1, 2, 5, 31, 64, 65, 130, 200};
  for (int call = 0; call < 7; ++call) {
    const std::int64_t rows = kRows[random.between(0, std::ssize(kRows) - 1)];
    const Tensor x = values.noise({rows, net.widths[0]});
    std::vector<Tensor> copies, inputs = {x};
    for (std::size_t w = 0; w < values.weights.size(); ++w) {
      copies.push_back(values.weights[w].clone());
      if (net.weights[w].is_input) inputs.push_back(values.weights[w]);
    }
    const std::vector<Tensor> expected = run(net, x, copies, values.biases);
    set_thread_count(random.one_in(2) ? 1 : 3);
    const std::vector<Tensor> given = compiled(inputs);
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!test::equal_bits(expected[i], given[i]))
        return fmt::format("call {} with {} rows: output {} differs\n{}", call, rows, i,
                           to_string(compiled.graphs().back()->graph));
    if (random.one_in(2)) values.change();
  }
  return compiled.captures() == 1 ? "" : fmt::format("{} captures", compiled.captures());
}

TEST(RandomMatmuls, HaveTheBitsOfEagerWhileWeightsChange) {
  const NoGrad no_grad;
  const test::Random random;
  const int threads = thread_count();
  reset_packing_cache();
  packing_policy.store(PackingPolicy::Always);
  const auto networks = test::Random::share_of(static_cast<int>(test::number_from("PELLUCID_NETWORKS", 150)));
  const char* only = std::getenv("PELLUCID_CASE");
  const int first = only != nullptr ? std::atoi(only) : 0, last = only != nullptr ? first : networks - 1;
  for (int i = first; i <= last && !testing::Test::HasFailure(); ++i) {
    test::Random of_case = random.of_case(static_cast<std::uint64_t>(i));
    manual_seed(static_cast<std::uint64_t>(i));
    const Network net = draw(of_case);
    const std::string wrong = check(net, of_case);
    EXPECT_EQ(wrong, "") << of_case.repro() << "\n" << text_of(net);
    EXPECT_EQ(packing_cache_bytes(), 0) << "the function is gone, " << of_case.repro();
  }
  packing_policy.store(PackingPolicy::WhereItPays);
  set_thread_count(threads);
}

}  // namespace
}  // namespace pel::networks
