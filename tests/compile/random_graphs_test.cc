// Random functions over all ops of the registry: captured at one size, they compute at others the bits that
// they compute without compile, and do to their inputs what they do without. PELLUCID_PROGRAMS=N draws N.
#include <csignal>
#include <cstdio>

#include <gtest/gtest.h>

#include "compile/compiled_function.h"
#include "compile/draw_program.h"
#include "support/random.h"

namespace pel {
namespace {

using fuzz::Extents, fuzz::Inputs, fuzz::Program, fuzz::Ref, fuzz::Step;

struct FuzzCounts {
  std::size_t calls = 0, refused = 0, errors = 0, captures = 0, plans = 0, other_nans = 0, loops = 0,
              without_kernel = 0;
};

// What went wrong, in two words that stay the same while the program is made smaller; and in full.
struct Failure {
  std::string kind, text;
};

// Steps that a result, a write or a random number needs. Of others a compiled function does nothing.
std::vector<bool> needed_steps(const Program& program) {
  std::vector<bool> needed(program.steps.size());
  std::vector<Ref> memories;  // that are seen
  const auto need = [&](Ref ref) {
    if (ref.step >= 0) needed[static_cast<std::size_t>(ref.step)] = true;
  };
  // Whose memory a tensor lies in: that of an argument of its step, where the op gives a view or writes.
  const auto owner = [&](Ref ref) {
    while (ref.step >= 0) {
      const Step& step = program.steps[static_cast<std::size_t>(ref.step)];
      if (step.op->kind() == OpKind::Composite) break;  // a view, or a copy
      const auto& args = step.op->record().schema.args;
      std::optional<Ref> from;
      for (std::size_t a = 0; a < step.args.size() && !from; ++a)
        if (args[a].alias.set != '\0') fuzz::for_refs(step.args[a], [&](Ref each) { from = each; });
      if (!from) break;
      ref = *from;
    }
    return ref;
  };
  const auto need_memory = [&](Ref ref) {
    need(ref);
    memories.push_back(owner(ref));
  };
  for (const Ref ref : program.outputs) need_memory(ref);
  for (std::size_t s = program.steps.size(); s-- > 0;) {
    const auto& schema = program.steps[s].op->record().schema.args;
    for (std::size_t a = 0; a < schema.size(); ++a) {
      if (schema[a].name == "seed") needed[s] = true;
      if (!schema[a].alias.is_written || a >= program.steps[s].args.size()) continue;
      fuzz::for_refs(program.steps[s].args[a], [&](Ref written) {
        const Ref memory = owner(written);
        if (memory.step < 0 || std::ranges::find(memories, memory) != memories.end()) needed[s] = true;
      });
    }
    if (!needed[s]) continue;
    for (std::size_t a = 0; a < program.steps[s].args.size(); ++a) {
      const fuzz::Arg& arg = program.steps[s].args[a];
      if (!fuzz::is_size(arg) && schema[a].name != "out") fuzz::for_refs(arg, need_memory);
    }
  }
  return needed;
}

// Bits, where all NaNs are one: which NaN comes out is not promised (docs/numerics.md), and conformance
// compares so too. In one loop LLVM makes -x * c to x * -c, and x + y has the NaN of the operand that it puts
// first.
std::string difference(const Tensor& wanted, const Tensor& given, bool is_open, FuzzCounts& counts) {
  if (wanted.dtype() != given.dtype())
    return fmt::format("dtype {}, wanted {}", name(given.dtype()), name(wanted.dtype()));
  if (to_string(wanted.sizes()) != to_string(given.sizes()))
    return fmt::format("sizes {}, wanted {}", to_string(given.sizes()), to_string(wanted.sizes()));
  for (std::int64_t axis = 0; !is_open && axis < wanted.dim(); ++axis) {  // those of size 1 say nothing
    if (wanted.numel().value() != 0 && wanted.size(axis) > 1 && wanted.stride(axis) != given.stride(axis))
      return fmt::format("strides {}, wanted {}", to_string(given.strides()), to_string(wanted.strides()));
  }
  const Tensor a = wanted.clone(Layout::RowMajor), b = given.to(kCpu).clone(Layout::RowMajor);
  const auto bytes = static_cast<std::size_t>(a.numel().value() * size_bytes(a.dtype()));
  if (bytes == 0 || std::memcmp(a.raw_data(), b.raw_data(), bytes) == 0) return "";
  for (std::int64_t i = 0; i < a.numel().value(); ++i) {
    if (!conformance::same_bits(a.raw_data(), b.raw_data(), a.dtype(), i))
      return fmt::format("values: element {} of {} is {}, wanted {}", i, describe(wanted),
                         conformance::element<double>(b.raw_data(), a.dtype(), i),
                         conformance::element<double>(a.raw_data(), a.dtype(), i));
  }
  ++counts.other_nans;
  return "";
}

struct Called {
  std::vector<Tensor> outputs;
  Generator::State random;
  std::string error;
  bool is_refused = false;  // what a graph for all sizes cannot hold
};
template <class F>
Called call_with_seed(F&& f, std::uint64_t seed) {
  Called called;
  manual_seed(seed);
  try {
    called.outputs = f();
  } catch (const Error& error) {
    called.error = error.what();
    for (const char* reason :
         {"depends on the values", "without a copy; use reshape", "which begins at", "reaches beyond the"})
      called.is_refused = called.is_refused || called.error.find(reason) != std::string::npos;
  } catch (const std::exception& error) {
    called.error = error.what();
  }
  called.random = default_generator().state();
  return called;
}

// Which outputs and inputs are one tensor or lie in one memory.
std::string sharing(const std::vector<Tensor>& outputs, const Inputs& inputs) {
  std::vector<Tensor> all = inputs.tensors;
  all.insert(all.end(), outputs.begin(), outputs.end());
  std::string text;
  for (std::size_t i = inputs.tensors.size(); i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!all[i].shares_storage(all[j])) continue;
      text +=
          fmt::format("{}{} {} {}", text.empty() ? "" : ", ", i, all[i].is_same(all[j]) ? "is" : "shares", j);
    }
  }
  return text;
}

bool fits_first(const compiler::CompiledFunction& compiled, std::vector<Tensor> inputs, std::string* reason) {
  const compiler::CompiledGraph& first = *compiled.graphs()[0];
  if (!first.gradients.fit(inputs, reason)) return false;
  const std::vector<Tensor> read = first.gradients.read(inputs);
  inputs.insert(inputs.end(), read.begin(), read.end());
  return first.guards.match(first.graph, inputs, reason).has_value();
}

std::optional<Failure> check(const Program& program, FuzzCounts& counts) {
  const Device device = program.compiled_on;
  const Program there = fuzz::moved(program, device);
  const compiler::TensorFunction f = [&](ArrayView<Tensor> in) {
    return fuzz::run(there, in, nullptr, device);
  };
  compiler::CompiledFunction compiled(f);
  const std::vector<bool> needed = needed_steps(program);
  const bool writes = std::ranges::any_of(program.steps, [](const Step& step) {
    return std::ranges::any_of(step.op->record().schema.args,
                               [](const SchemaArg& arg) { return arg.alias.is_written; });
  });
  for (std::size_t turn = 0; turn < program.turns.size(); ++turn) {
    const auto fail = [&](std::string kind, const std::string& text) {
      return Failure{
          std::move(kind),
          fmt::format("at call {}: {}\n{}", turn, text,
                      compiled.captures() == 0 ? std::string() : to_string(compiled.graphs().back()->graph))};
    };
    const Inputs eager_in = fuzz::make_inputs(program, turn),
                 compiled_in = fuzz::make_inputs(program, turn, device);
    fuzz::RunFacts facts;
    const Called wanted = call_with_seed([&] { return fuzz::run(program, eager_in.tensors, &facts); }, turn);
    if (turn == 0 && !wanted.error.empty()) return std::nullopt;
    std::string reason;
    const bool fits = turn == 0 || fits_first(compiled, compiled_in.tensors, &reason);
    const Called given = call_with_seed(
        [&] {
          std::vector<Tensor> outputs = compiled(compiled_in.tensors);
          synchronize(device);  // throws what kernels find
          return outputs;
        },
        turn);
    // A device with kernels of its own has not all.
    if (device == kOpenCl && given.error.find("no kernel on opencl") != std::string::npos) {
      ++counts.without_kernel;
      return std::nullopt;
    }
    ++counts.calls;
    if (given.is_refused && wanted.error.empty()) {
      ++counts.refused;
      return std::nullopt;
    }
    if (!wanted.error.empty()) {
      ++counts.errors;
      const bool is_seen = !facts.is_open && (facts.at < 0 || needed[static_cast<std::size_t>(facts.at)]);
      if (given.error.empty() && is_seen)
        return fail("no error", "none, but without compile: " + wanted.error);
      continue;
    }
    if (!given.error.empty()) return fail("an error", given.error);
    // A size of 1 or 0 leaves the order of strides open; else the first graph serves all calls that answer
    // what it has compared as the first one did.
    const bool has_small = std::ranges::any_of(program.turns[turn], [](std::int64_t e) { return e < 2; });
    if (!fits && !has_small && reason.find(" must ") == std::string::npos)
      return fail("captured again", reason);
    if (facts.is_open && writes) continue;
    // So may calls on the way back.
    const bool has_one = std::ranges::any_of(eager_in.tensors, [](const Tensor& t) {
      return std::ranges::any_of(t.sizes(), [](Dim size) { return size.value() <= 1; });
    });
    facts.is_open = facts.is_open || (program.has_gradients && has_one);
    if (wanted.outputs.size() != given.outputs.size()) return fail("outputs", "another number of outputs");
    for (std::size_t i = 0; i < wanted.outputs.size(); ++i) {
      const std::string text = difference(wanted.outputs[i], given.outputs[i], facts.is_open, counts);
      if (!text.empty()) return fail(text.substr(0, 5), fmt::format("output {} has {}", i, text));
    }
    for (std::size_t i = 0; i < eager_in.bases.size(); ++i) {
      const std::string text = difference(eager_in.bases[i], compiled_in.bases[i], false, counts);
      if (!text.empty()) return fail("input", fmt::format("the memory of input {} has {}", i, text));
    }
    for (std::size_t i = 0; i < eager_in.tensors.size(); ++i) {
      const Tensor left = eager_in.tensors[i].grad(), right = compiled_in.tensors[i].grad();
      const std::string text = left.defined() != right.defined() ? "another gradient"
                               : left.defined() ? difference(left, right, facts.is_open, counts)
                                                : "";
      if (!text.empty()) return fail("grad", fmt::format("the gradient of input {} has {}", i, text));
    }
    if (wanted.random != given.random)
      return fail("random",
                  fmt::format("{} random calls, wanted {}", given.random.offset, wanted.random.offset));
    const std::string shared = sharing(wanted.outputs, eager_in),
                      shares = sharing(given.outputs, compiled_in);
    if (shared != shares && !facts.is_open)
      return fail("sharing", fmt::format("tensors, inputs first: {}; wanted: {}", shares, shared));
  }
  for (const auto& graph : compiled.graphs()) counts.loops += graph->loops.kernels.size();
  counts.captures += compiled.captures();
  counts.plans += compiled.plans();
  return std::nullopt;
}

// A smaller program that fails in the same way: outputs, steps, calls and arguments go while it does.
class Minimiser {
 public:
  Minimiser(Program program, Failure failure) : best_(std::move(program)), failure_(std::move(failure)) {}

  void run() {
    for (bool is_smaller = true; is_smaller && tries_ < kMaxTries;) {
      is_smaller = false;
      if (best_.accumulates) is_smaller |= attempt([](Program& p) { p.accumulates = false; });
      if (best_.has_gradients) is_smaller |= attempt([](Program& p) { p.has_gradients = false; });
      for (std::size_t t = best_.turns.size(); t-- > 1;)
        is_smaller |= attempt([&](Program& p) { erase(p.turns, t); });
      for (std::size_t o = best_.outputs.size(); o-- > 0;)
        is_smaller |= best_.outputs.size() > 1 && attempt([&](Program& p) { erase(p.outputs, o); });
      for (std::size_t s = best_.steps.size(); s-- > 0;) is_smaller |= without_step(s);
      for (std::size_t i = best_.inputs.size(); i-- > 0;) is_smaller |= simpler_input(i);
      for (std::size_t s = 0; s < best_.steps.size(); ++s) is_smaller |= simpler_arguments(s);
    }
  }
  const Program& program() const { return best_; }
  const Failure& failure() const { return failure_; }

 private:
  static constexpr int kMaxTries = 3000;

  template <class T>
  static void erase(std::vector<T>& list, std::size_t i) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
  }
  template <class F>
  bool attempt(F&& change) {
    if (++tries_ > kMaxTries) return false;
    Program changed = best_;
    change(changed);
    FuzzCounts counts;
    std::optional<Failure> failure;
    try {
      failure = check(changed, counts);
    } catch (const std::exception&) {
      return false;
    }
    if (!failure || failure->kind != failure_.kind) return false;
    best_ = std::move(changed);
    failure_ = std::move(*failure);
    return true;
  }

  // Its readers read one of its arguments, or an input.
  bool without_step(std::size_t s) {
    std::vector<Ref> instead;
    for (const fuzz::Arg& arg : best_.steps[s].args)
      fuzz::for_refs(arg, [&](Ref ref) { instead.push_back(ref); });
    for (std::size_t i = 0; i < best_.inputs.size(); ++i) instead.push_back({~static_cast<int>(i), 0});
    for (const Ref other : instead) {
      const bool is_gone = attempt([&](Program& p) {
        erase(p.steps, s);
        const auto change = [&](Ref& ref) {
          if (ref.step == static_cast<int>(s)) ref = other;
          if (ref.step > static_cast<int>(s)) --ref.step;
        };
        for (Step& step : p.steps)
          for (fuzz::Arg& arg : step.args) fuzz::for_refs(arg, change);
        for (Ref& ref : p.outputs) change(ref);
      });
      if (is_gone) return true;
    }
    return false;
  }

  bool simpler_input(std::size_t i) {
    bool is_smaller = false;
    const auto set = [&](auto member, auto value) {
      if (best_.inputs[i].*member != value)
        is_smaller |= attempt([&](Program& p) { p.inputs[i].*member = value; });
    };
    set(&fuzz::Input::same_as, -1);
    set(&fuzz::Input::layout, fuzz::InputLayoutKind::RowMajor);
    set(&fuzz::Input::has_extremes, false);
    set(&fuzz::Input::dtype, kF32);
    if (best_.inputs[i].extents.size() > 1)
      is_smaller |= attempt([&](Program& p) { erase(p.inputs[i].extents, 0); });
    const bool is_last = i + 1 == best_.inputs.size() && i > 0;
    if (is_last) is_smaller |= attempt([&](Program& p) { p.inputs.pop_back(); });
    return is_smaller;
  }

  bool simpler_arguments(std::size_t s) {
    bool is_smaller = false;
    const auto& schema = best_.steps[s].op->record().schema.args;
    for (std::size_t a = 0; a < best_.steps[s].args.size(); ++a) {
      const fuzz::Arg& arg = best_.steps[s].args[a];
      if (std::holds_alternative<std::monostate>(arg)) continue;
      if (schema[a].type.is_optional) is_smaller |= attempt([&](Program& p) { p.steps[s].args[a] = {}; });
      if (std::holds_alternative<std::vector<Ref>>(arg) && std::get<std::vector<Ref>>(arg).size() > 1)
        is_smaller |= attempt([&](Program& p) { std::get<std::vector<Ref>>(p.steps[s].args[a]).pop_back(); });
      if (const Ref* ref = std::get_if<Ref>(&arg); ref != nullptr && ref->step >= 0)
        is_smaller |= attempt([&](Program& p) { p.steps[s].args[a] = Ref{~0, 0}; });
    }
    return is_smaller;
  }

  Program best_;
  Failure failure_;
  int tries_ = 0;
};

// Where a kernel crashes, the case is all that is left to say.
volatile std::sig_atomic_t current_case = 0;
void say_case(int signal) {
  std::fprintf(stderr, "signal %d in PELLUCID_CASE=%d\n", signal, static_cast<int>(current_case));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void check_programs(int usual, Device device) {
  const NoGrad no_grad;
  const test::Random random;
  const auto programs =
      test::Random::share_of(static_cast<int>(test::number_from("PELLUCID_PROGRAMS", usual)));
  const char* only = std::getenv("PELLUCID_CASE");
  const int first = only != nullptr ? std::atoi(only) : 0, last = only != nullptr ? first : programs - 1;
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, say_case);
  FuzzCounts counts;
  std::map<std::string_view, int> drawn;
  int failures = 0;
  for (int i = first; i <= last && failures < 5; ++i) {
    current_case = i;
    test::Random of_case = random.of_case(static_cast<std::uint64_t>(i));
    Program program;
    std::optional<Failure> failure;
    try {
      program = fuzz::Drawing(of_case).draw();
      program.compiled_on = device;
      if (only != nullptr) std::cout << to_string(program) << std::endl;
      for (const Step& step : program.steps) ++drawn[step.op->name()];
      failure = check(program, counts);
    } catch (const std::exception& error) {
      ++failures;
      ADD_FAILURE() << of_case.repro() << "\n" << to_string(program) << error.what();
      continue;
    }
    if (!failure) continue;
    ++failures;
    Minimiser minimiser(std::move(program), *failure);
    minimiser.run();
    ADD_FAILURE() << of_case.repro() << "\n" << to_string(minimiser.program()) << minimiser.failure().text;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, SIG_DFL);
  const std::vector<const Op*> ops = all_ops();
  std::cout << fmt::format(
      "{} calls, {} captures, {} plans, {} fused loops, {} of {} ops; {} errors alike, {} programs refused, "
      "{} have an op without a kernel, {} tensors differ in NaNs alone\n",
      counts.calls, counts.captures, counts.plans, counts.loops, drawn.size(),
      std::ranges::count_if(ops, [](const Op* op) { return fuzz::can_be_captured(*op); }), counts.errors,
      counts.refused, counts.without_kernel, counts.other_nans);
  EXPECT_LE(counts.refused, 1 + static_cast<std::size_t>(programs) / 50);
}

TEST(RandomGraphs, GiveTheBitsOfTheFunctionAtEverySize) { check_programs(500, kCpu); }

// The function runs on the CPU without compile, and compiled on an asynchronous device.
TEST(RandomGraphs, GiveTheBitsOfTheCpuOnAQueue) { check_programs(200, kQueue); }

// Few: each op is built for each dtype and layout, in half a second.
TEST(RandomGraphs, GiveTheBitsOfTheCpuOnOpenCl) {
  for (const DeviceInfo& info : devices())
    if (info.device == kOpenCl && !info.refusal.empty()) GTEST_SKIP() << info.refusal;
  check_programs(20, kOpenCl);
}

}  // namespace
}  // namespace pel
