// Checks every op of one tensor over all 2^32 f32 numbers against the reference in its own record.
// PELLUCID_EXHAUSTIVE_OPS=exp,gelu:tanh runs only those. PELLUCID_TEST_SHARE=64 tests one block of numbers
// in 64 and does not update the file of results.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/thread_pool.h"
#include "conformance/cases.h"
#include "exhaustive/measured.h"

namespace pel::exhaustive {
namespace {

using namespace conformance;

constexpr double kMaxUlp = 4;
constexpr std::uint32_t kSign = 0x8000'0000;
constexpr std::int64_t kBlock = 1 << 16;
constexpr std::int64_t kBlocks = kSign / kBlock;  // of numbers with one sign

// f(-x) is f(x) or -f(x): then the reference is evaluated only for x, which halves the time. The kernel runs
// for both, and both results are compared with it. A test below checks that the references have this
// property.
enum class Parity : std::uint8_t { None, Even, Odd };
const std::map<std::string, Parity> kParity = {
    {"asin", Parity::Odd}, {"asinh", Parity::Odd},      {"atan", Parity::Odd},   {"atanh", Parity::Odd},
    {"cos", Parity::Even}, {"cosh", Parity::Even},      {"erf", Parity::Odd},    {"erfinv", Parity::Odd},
    {"sin", Parity::Odd},  {"sinc", Parity::Even},      {"sinh", Parity::Odd},   {"tan", Parity::Odd},
    {"tanh", Parity::Odd}, {"tanhshrink", Parity::Odd}, {"square", Parity::Even}};

struct TestedOp {
  const Op* op;
  std::size_t formula;
  std::string name;

  const Formula& facts() const { return op->pointwise()->formulas[formula]; }
  Parity parity() const {
    const auto found = kParity.find(name);
    return found == kParity.end() ? Parity::None : found->second;
  }
};

std::vector<TestedOp> all_tested_ops() {
  std::vector<TestedOp> tested_ops;
  for_each_formula([&](const Op& op, std::size_t formula, DType compute) {
    const Pointwise& facts = *op.pointwise();
    if (compute == kF32 && facts.input_count == 1 && facts.gives == Pointwise::Gives::Same)
      tested_ops.push_back({&op, formula, label(op, formula)});
  });
  return tested_ops;
}
std::vector<TestedOp> selected_ops() {
  const char* text = std::getenv("PELLUCID_EXHAUSTIVE_OPS");
  std::vector<TestedOp> all = all_tested_ops();
  if (!text || !*text) return all;
  std::vector<TestedOp> chosen;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    const auto found = std::ranges::find(all, name, &TestedOp::name);
    if (found == all.end()) {
      ADD_FAILURE() << "there is no op of one tensor named " << name;
    } else {
      chosen.push_back(*found);
    }
  }
  return chosen;
}

float number(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// The largest error seen, and its argument; of equal errors the argument with the smaller bits, so that the
// order of blocks does not matter.
struct Worst {
  double error = 0;
  std::uint32_t bits = 0;

  void take(double other, std::uint32_t at) {
    if (other > error || (other == error && at < bits)) *this = {other, at};
  }
};

// The arguments of a reference: x, then the params in the kernel's precision.
class Reference {
 public:
  Reference(const std::function<double(const double*)>& function, const std::vector<double>& params)
      : function_(function) {
    for (std::size_t i = 0; i < params.size(); ++i) args_[i + 1] = static_cast<float>(params[i]);
  }
  double operator()(float x) {
    args_[0] = x;
    return function_(args_);
  }

 private:
  const std::function<double(const double*)>& function_;
  double args_[8] = {};
};

// Tests one block of numbers, and the same with the sign set.
class BlockSweep {
 public:
  BlockSweep(const TestedOp& tested, const PrebuiltCall& kernel)
      : kernel_(kernel),
        parity_(tested.parity()),
        reference_(tested.facts().reference, kernel.params()),
        magnitude_(tested.facts().magnitude, kernel.params()),
        has_magnitude_(tested.facts().magnitude != nullptr) {}

  void run(std::uint32_t first, Worst& worst) {
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      x_[i] = number(first + i);
      negative_x_[i] = number((first + i) | kSign);
    }
    kernel_.run(kBlock, y_.get(), {{x_.get(), kF32}});
    kernel_.run(kBlock, negative_y_.get(), {{negative_x_.get(), kF32}});
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      const double expected = reference_(x_[i]);
      worst.take(error(x_[i], y_[i], expected), first + i);
      const double negative = parity_ == Parity::None  ? reference_(negative_x_[i])
                              : parity_ == Parity::Odd ? -expected
                                                       : expected;
      worst.take(error(negative_x_[i], negative_y_[i], negative), (first + i) | kSign);
    }
  }

 private:
  double error(float x, float y, double expected) {
    return error_in_ulp<double>(y, expected, has_magnitude_ ? magnitude_(x) : 0, kF32);
  }

  const PrebuiltCall& kernel_;
  Parity parity_;
  Reference reference_, magnitude_;
  bool has_magnitude_;
  std::unique_ptr<float[]> x_ = std::make_unique<float[]>(kBlock), y_ = std::make_unique<float[]>(kBlock);
  std::unique_ptr<float[]> negative_x_ = std::make_unique<float[]>(kBlock),
                           negative_y_ = std::make_unique<float[]>(kBlock);
};

// "exp  43 %", on a terminal.
class Progress {
 public:
  Progress(std::string name, std::int64_t total) : name_(std::move(name)), total_(total) {}
  void step() {
    const std::int64_t done = ++done_;
    if (is_terminal_ && done * 100 / total_ != (done - 1) * 100 / total_) {
      const auto bars = static_cast<std::size_t>(done * 40 / total_);
      fmt::print(stderr, "\r{:<16} [{:<40}] {:3} %", name_, std::string(bars, '#'), done * 100 / total_);
    }
  }
  ~Progress() {
    if (is_terminal_) fmt::print(stderr, "\r\033[K");
  }

 private:
  std::string name_;
  std::int64_t total_;
  std::atomic<std::int64_t> done_ = 0;
  bool is_terminal_ = isatty(STDERR_FILENO) != 0;
};

Worst sweep(const TestedOp& tested) {
  const PrebuiltCall kernel(*tested.op, tested.formula, kF32);
  Worst worst;
  std::mutex mutex;
  const std::int64_t count = kBlocks / test_share();
  Progress progress(tested.name, count);
  parallel_for(count, Grain::whole(), [&](std::int64_t begin, std::int64_t end) {
    BlockSweep blocks(tested, kernel);
    Worst own;
    for (std::int64_t i = begin; i < end; ++i) {
      // Numbers of one magnitude take the same time, so adjacent blocks go to different threads.
      const auto block = static_cast<std::uint32_t>(i * 12'345 % kBlocks);
      blocks.run(block * static_cast<std::uint32_t>(kBlock), own);
      progress.step();
    }
    const std::lock_guard lock(mutex);
    worst.take(own.error, own.bits);
  });
  return worst;
}

TEST(Exhaustive, ReferencesAreEvenOrOddWhereTheSweepReliesOnIt) {
  for (const TestedOp& tested : all_tested_ops()) {
    if (tested.parity() == Parity::None) continue;
    Reference reference(tested.facts().reference, test_params(*tested.op->pointwise()));
    for (std::uint32_t bits = 0; bits < kSign; bits += 32'771) {
      const double a = reference(number(bits)), b = reference(number(bits | kSign));
      EXPECT_TRUE(b == (tested.parity() == Parity::Odd ? -a : a) || (std::isnan(a) && std::isnan(b)))
          << tested.name << " of " << number(bits);
    }
  }
}

TEST(Exhaustive, EveryValueIsWithinTheBoundOfItsOp) {
  const std::vector<TestedOp> tested_ops = selected_ops();
  for (const TestedOp& tested : tested_ops) {
    const auto start = std::chrono::steady_clock::now();
    const Worst worst = sweep(tested);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    const float x = number(worst.bits);
    fmt::print("{:<16} {:8.5f} ulp at {:<15} {:6.1f} s\n", tested.name, worst.error, x, time.count());
    std::fflush(stdout);
    const double bound = std::min(bound_of(tested.facts(), kF32), kMaxUlp);
    EXPECT_TRUE(is_within(worst.error, bound))
        << tested.name << " of " << x << " has an error of " << worst.error << " ULP; at most " << bound
        << " is allowed\n  repro: PELLUCID_EXHAUSTIVE_OPS=" << tested.name << " ./dev test exhaustive";
    if (test_share() != 1) continue;
    MeasuredByOp measured = read_measured();
    measured[tested.name] = {worst.error, x};
    write_measured(measured);
  }
}

}  // namespace
}  // namespace pel::exhaustive
