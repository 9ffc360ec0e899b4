// The largest error of every op, formula and floating dtype: within the bound of the record, and as
// docs/numerics.md says. PELLUCID_WRITE_DOCS=1 writes the page.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "conformance/cases.h"
#include "conformance/numerics_page.h"
#include "exhaustive/measured.h"
#include "support/page.h"

namespace pel::conformance {
namespace {

constexpr std::int64_t kDrawn = 1 << 18;        // from the domains
constexpr std::int64_t kPatternsF32 = 1 << 20;  // of one tensor, besides
constexpr std::int64_t kPatternsF64 = 1 << 18;
constexpr std::int64_t kBlock = 1 << 12;

struct Job {
  const Op* op;
  std::size_t formula;
  DType compute;
};

struct Worst {
  Deviation deviation = {0, 0, 0};
  std::vector<double> args;
};

// Argument arrays of one block, and what the kernel makes of them.
class Measurement {
 public:
  explicit Measurement(const Job& job)
      : job_(job),
        kernel_(*job.op, job.formula, job.compute),
        source_(std::hash<std::string>()(cpu::kernel_name(*job.op, job.formula, job.compute))) {
    for (const DType dtype : kernel_.input_types()) {
      arrays_.emplace_back(static_cast<std::size_t>(kBlock * size_bytes(dtype)));
      inputs_.push_back({arrays_.back().data(), dtype});
    }
    result_.resize(static_cast<std::size_t>(kBlock * size_bytes(kernel_.result_type())));
  }

  // One out of each `count` even pieces of all bit patterns; all of them where there are so many.
  void over_patterns(std::int64_t count) {
    const std::int64_t bits = 8 * size_bytes(job_.compute);
    const std::int64_t size = size_bytes(job_.compute), pieces = std::bit_width(std::uint64_t(count)) - 1;
    for (std::int64_t i = 0; i < count / test_share(); i += kBlock) {
      for (std::int64_t k = 0; k < kBlock; ++k) {
        const auto n = static_cast<std::uint64_t>((i + k) * test_share() % count);
        std::uint64_t pattern = n << (bits - pieces);
        if (bits > pieces) pattern |= n * 0x9e37'79b9'7f4a'7c15 >> (64 - (bits - pieces));
        std::memcpy(arrays_[0].data() + k * size, &pattern, static_cast<std::size_t>(size));
      }
      measure();
    }
  }
  void over_domains(std::int64_t count) {
    for (std::int64_t i = 0; i < count / test_share(); i += kBlock) {
      for (std::size_t k = 0; k < inputs_.size(); ++k)
        source_.fill(*job_.op->pointwise(), static_cast<int>(k), inputs_[k].dtype, arrays_[k].data(), kBlock);
      measure();
    }
  }
  // Of the first element alone.
  Deviation at(float x) {
    std::memcpy(arrays_[0].data(), &x, sizeof(x));
    kernel_.run(1, result_.data(), inputs_);
    return deviation(0);
  }

  const PrebuiltCall& kernel() const { return kernel_; }
  const Worst& worst() const { return worst_; }

 private:
  Deviation deviation(std::int64_t i) const {
    return deviation_at(job_.op->pointwise()->formulas[job_.formula], inputs_, kernel_.params(),
                        {result_.data(), kernel_.result_type()}, i, job_.compute);
  }
  void measure() {
    kernel_.run(kBlock, result_.data(), inputs_);
    for (std::int64_t i = 0; i < kBlock; ++i) {
      const Deviation d = deviation(i);
      if (!(d.error > worst_.deviation.error)) continue;
      worst_.deviation = d;
      worst_.args.clear();
      for (const Elements& input : inputs_)
        worst_.args.push_back(element<double>(input.data, input.dtype, i));
    }
  }

  Job job_;
  PrebuiltCall kernel_;
  ArgumentSource source_;
  std::vector<std::vector<std::byte>> arrays_;
  std::vector<Elements> inputs_;
  std::vector<std::byte> result_;
  Worst worst_;
};

Worst measure(const Job& job) {
  Measurement measurement(job);
  const bool is_unary = job.op->pointwise()->input_count == 1;
  const bool is_half = size_bytes(job.compute) == 2;
  if (is_unary)
    measurement.over_patterns(is_half ? 1 << 16 : job.compute == kF32 ? kPatternsF32 : kPatternsF64);
  if (!is_unary || !is_half) measurement.over_domains(kDrawn);
  return measurement.worst();
}

std::vector<Job> all_jobs() {
  std::vector<Job> jobs;
  for_each_formula([&](const Op& op, std::size_t formula, DType compute) {
    if (is_floating(compute)) jobs.push_back({&op, formula, compute});
  });
  return jobs;
}

// "softplus(x, 2, 20)": with the numbers that were given, where the formula looks at them.
std::string title(const Job& job) {
  const PrebuiltCall kernel(*job.op, job.formula, job.compute);
  std::string text = label(*job.op, job.formula);
  if (!kernel.uses_params()) return text;
  const std::string_view tensors[] = {"x", "x, y", "x, y, z", "x, y, z, w"};
  return fmt::format("{}({}, {})", text, tensors[kernel.input_types().size() - 1],
                     fmt::join(kernel.params(), ", "));
}

// What all f32 numbers gave, if that still holds: the error at the worst of them, and nothing worse here.
std::optional<double> exhaustive_error(const Job& job, const exhaustive::MeasuredByOp& all, double sampled) {
  const std::string name = label(*job.op, job.formula);
  const auto found = all.find(name);
  if (found == all.end()) return std::nullopt;
  const auto [error, x] = found->second;
  const double again = Measurement(job).at(x).error;
  EXPECT_NEAR(again, error, 1e-6) << name << " of " << x << " has changed";
  EXPECT_LE(sampled, error + 1e-6) << name;
  if (std::abs(again - error) > 1e-6 || sampled > error + 1e-6)
    ADD_FAILURE() << "measure again: PELLUCID_EXHAUSTIVE_OPS=" << name << " ./dev test exhaustive";
  return error;
}

TEST(Numerics, ErrorsAreWithinTheirBoundsAndAsThePageSays) {
  const std::vector<Job> jobs = all_jobs();
  std::vector<Worst> worst(jobs.size());
  parallel_for(static_cast<std::int64_t>(jobs.size()), Grain::whole(),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i)
                   worst[static_cast<std::size_t>(i)] = measure(jobs[static_cast<std::size_t>(i)]);
               });

  const exhaustive::MeasuredByOp measured = exhaustive::read_measured();
  std::map<std::string, NumericsRow> rows;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    const Pointwise& facts = *job.op->pointwise();
    const Deviation& d = worst[i].deviation;
    const double bound = bound_of(facts.formulas[job.formula], job.compute);
    EXPECT_TRUE(is_within(d.error, bound)) << fmt::format(
        "{}/{} of ({:.17g}) is {:.17g}, not {:.17g}: {:.4g} units of the last place, {} are allowed",
        label(*job.op, job.formula), name(job.compute), fmt::join(worst[i].args, ", "), d.got, d.wanted,
        d.error, bound);
    NumericsRow& row = rows[label(*job.op, job.formula)];
    row.title = title(job);
    row.tensors = facts.input_count;
    row.gives_bool = facts.gives == Pointwise::Gives::Bool;
    double& error = row.errors[static_cast<int>(job.compute)];
    error = d.error;
    if (job.compute != kF32 || row.gives_bool || facts.input_count > 1) continue;
    if (const auto all = exhaustive_error(job, measured, d.error)) {
      error = *all;
      row.is_exhaustive_f32 = true;
    }
  }
  std::printf("%zu ops and formulas\n", rows.size());
  if (test_share() == 1) test::expect_page("numerics.md", numerics_page(rows), "Numerics");
}

}  // namespace
}  // namespace pel::conformance
