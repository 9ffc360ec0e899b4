#include "inspect/anatomy.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "pellucid/pellucid.h"

#include "inspect/peer_process.h"

namespace pel::inspect {
namespace {

// Above it, the time before the kernel is smaller than the noise of the kernel's own time. The profile's
// timestamps within one call then separate them better than the difference of two loops.
constexpr double kLongKernelNs = 20'000;

constexpr const char* kDispatchJob = "keys of the arguments, one test, the jump";

// An op with an empty body: the cost of a call that does nothing.
std::int64_t nothing_body(const Tensor& self) { return self.defined() ? 1 : 0; }
const Op& nothing_op() {
  static const Op& op = register_op(
      define_op<nothing_body>(OpKind::Metadata, "inspect::nothing(Tensor self) -> int").not_differentiable());
  return op;
}

// Timestamps of the kernels of one call, in launch order.
class KernelStamps {
 public:
  explicit KernelStamps(Loop loop) : loop_(std::move(loop)) { look(); }

  struct Launch {
    std::string op;
    Anatomy::Kernel facts;
    std::vector<std::vector<Dim>> results;
    std::vector<double> ns, outside_ns;  // per call: the kernel, and the rest of its op
  };
  const std::vector<Launch>& launches() const { return launches_; }
  double stamp_ns() const { return median(empty_ns_); }

  // Returns ns per call, as a timed loop would; the value is unused.
  double record(std::int64_t calls) {
    calls = std::min<std::int64_t>(calls, 400);
    ProfileOptions options;
    options.shapes = false;
    Profile profile(options);
    loop_(2);  // the first events of a profile touch cold buffers
    for (std::int64_t i = 0; i < calls; ++i) {
      loop_(1);
      const Range empty("nothing");
    }
    profile.stop();
    std::size_t seen = 0;
    double kernel_ns = -1;  // of the last kernel, if its op has not ended
    std::size_t next = 0;
    profile.each([&](const ProfileEvent& e) {
      const double span = static_cast<double>(e.end_ns - e.begin_ns);
      const bool is_cold = seen < 2 * launches_.size();
      if (e.kind == ProfileEvent::Kind::Range) {
        empty_ns_.push_back(span);
      } else if (e.kind == ProfileEvent::Kind::Kernel && next < launches_.size()) {
        kernel_ns = span;
        if (!is_cold) launches_[next].ns.push_back(span);
      } else if (e.kind == ProfileEvent::Kind::Op &&
                 kernel_ns >= 0) {  // the op that launched the last kernel
        if (!is_cold) launches_[next].outside_ns.push_back(span - kernel_ns);
        kernel_ns = -1;
        next = (next + 1) % launches_.size();
        ++seen;
      }
    });
    return static_cast<double>(profile.duration_ns()) / static_cast<double>(calls);
  }

 private:
  // The kernels, with the shapes of their outputs.
  void look() {
    loop_(1);
    Profile profile;
    loop_(1);
    profile.stop();
    profile.each([&](const ProfileEvent& e) {
      if (e.kind == ProfileEvent::Kind::Op && !launches_.empty() && launches_.back().op.empty())
        launches_.back().op = e.name;
      if (e.kind != ProfileEvent::Kind::Kernel) return;
      Launch launch;
      launch.facts = {e.name, 0, e.bytes_read + e.bytes_written, e.flops};
      for (std::uint32_t i = 0; i < e.output_count && i < e.shapes.size(); ++i)
        launch.results.emplace_back(e.shapes[i].sizes.begin(), e.shapes[i].sizes.end());
      launches_.push_back(std::move(launch));
    });
  }

  Loop loop_;
  std::vector<Launch> launches_;
  std::vector<double> empty_ns_;
};

// One op of the call: its loops, and its kernel if it launches one.
struct PartTimes {
  double ns = 0, grad_ns = 0;
  double result_ns = 0;
  const KernelStamps::Launch* launch = nullptr;  // null: it creates a view
  const KernelStamps::Launch* grad_launch = nullptr;
};

void scale(std::vector<Anatomy::Row>& rows, double Anatomy::Row::* member, double wanted, bool& is_scaled) {
  double sum = 0;
  for (const Anatomy::Row& row : rows) sum += row.*member;
  if (sum <= 0 || std::abs(sum - wanted) < 0.5) return;
  is_scaled = true;
  for (Anatomy::Row& row : rows) row.*member *= wanted / sum;
}

// The rows add up to the part's own time.
std::vector<Anatomy::Row> rows_of(const std::string& op, const PartTimes& part, double nothing_ns,
                                  double stamp_ns, bool& is_scaled) {
  using By = Anatomy::By;
  const double dispatch_ns = std::min(nothing_ns, part.ns);
  Anatomy::Row dispatch{op, "dispatch", kDispatchJob, By::Timed, dispatch_ns, dispatch_ns};
  Anatomy::Row autograd{op,
                        "autograd",
                        "saves tensors for backward, records a node",
                        By::Difference,
                        0,
                        std::max(0.0, part.grad_ns - part.ns)};
  Anatomy::Row body{op, "body", "new sizes and strides, same memory; no kernel", By::Difference, 0, 0};
  body.ns = std::max(0.0, part.ns - dispatch.ns);
  std::vector<Anatomy::Row> more;
  if (part.launch != nullptr) {
    body.job = "shape rule, checks, kernel selection";
    const Anatomy::Row result{op,        "result",       "memory and header of the result",
                              By::Timed, part.result_ns, part.result_ns};
    const double kernel_ns = std::max(0.0, median(part.launch->ns) - stamp_ns);
    Anatomy::Row kernel{op, "kernel", part.launch->facts.name, By::Profiled, kernel_ns, kernel_ns};
    if (kernel.ns > kLongKernelNs) {
      const double outside = median(part.launch->outside_ns);
      body.ns = std::max(0.0, outside - stamp_ns - dispatch.ns);
      autograd.grad_ns = std::max(0.0, median(part.grad_launch->outside_ns) - outside);
      kernel.ns = std::max(0.0, part.ns - dispatch.ns - body.ns - result.ns);
      kernel.grad_ns = std::max(0.0, part.grad_ns - dispatch.ns - body.ns - result.ns - autograd.grad_ns);
      body.by = autograd.by = By::Profiled;
      kernel.by = By::Difference;
    } else {
      body.ns = std::max(0.0, body.ns - result.ns - kernel.ns);
    }
    more = {result, kernel};
  }
  body.grad_ns = body.ns;
  std::vector<Anatomy::Row> rows = {dispatch, autograd, body};
  rows.insert(rows.end(), more.begin(), more.end());
  scale(rows, &Anatomy::Row::ns, part.ns, is_scaled);
  scale(rows, &Anatomy::Row::grad_ns, part.grad_ns, is_scaled);
  return rows;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// Returns the composite op's own share of `whole`, at least the cost of its dispatch. Scales the parts to the
// rest.
double own_share(double whole, double rest, double min_own, std::vector<double>& parts, bool& is_scaled) {
  if (whole > kLongKernelNs) rest = 0;  // only the noise of the kernel
  const double own = std::clamp(rest, std::min(min_own, whole), whole);
  is_scaled |= rest < min_own;
  const double sum = sum_of(parts);
  for (double& part : parts) part *= sum > 0 ? (whole - own) / sum : 0;
  return own;
}

struct PeerLoops {
  std::unique_ptr<PeerProcess> process;
  std::string version;
  std::size_t inference = 0, plain = 0, grad = 0;

  PeerLoops(const AnatomyOptions& options, Interleaved& turns) {
    if (!options.wants_peer || options.peer.empty()) return;
    const auto text = [](std::int64_t n) { return std::to_string(n); };
    process = PeerProcess::start({options.peer, options.op, text(options.sizes.rows), text(options.sizes.in),
                                  text(options.sizes.out), text(options.threads)});
    if (!process) return;
    version = process->ask("version");
    const auto add = [&](const char* mode) {
      return turns.add_timed([this, mode](std::int64_t calls) {
        process->run(mode, calls / 2 + 1);  // it slept: its caches are cold
        return process->run(mode, calls);
      });
    };
    inference = add("inference");
    plain = add("plain");
    grad = add("grad");
  }
  PeerLoops(const PeerLoops&) = delete;
  PeerLoops& operator=(const PeerLoops&) = delete;
};

}  // namespace

Anatomy Anatomy::measure(const AnatomyOptions& options) {
  const Subject plain = make_subject(options.op, options.sizes, Recorded::No);
  const Subject recorded = make_subject(options.op, options.sizes, Recorded::Yes);
  const bool is_composite = plain.parts.size() > 1 || plain.parts[0].op != options.op;
  const int threads_before = thread_count();
  set_thread_count(options.threads);

  Interleaved turns(options.burst_ns);
  KernelStamps stamps(plain.loop), grad_stamps(recorded.loop);
  const Tensor probe = ones({4});
  const Op& nothing = nothing_op();
  const std::size_t nothing_number =
      turns.add(loop_of([&] { return call<nothing_body>(nothing, Site::current(), probe); }));
  std::vector<std::size_t> part_numbers, grad_numbers;
  // Times the whole next to its parts, because they are compared.
  for (const Subject::Part& part : plain.parts) part_numbers.push_back(turns.add(part.loop));
  const std::size_t whole = is_composite ? turns.add(plain.loop) : part_numbers[0];
  for (const Subject::Part& part : recorded.parts) grad_numbers.push_back(turns.add(part.loop));
  const std::size_t grad_whole = is_composite ? turns.add(recorded.loop) : grad_numbers[0];
  std::vector<std::vector<std::size_t>> result_numbers;
  for (const KernelStamps::Launch& launch : stamps.launches()) {
    result_numbers.emplace_back();
    for (const std::vector<Dim>& size : launch.results)
      result_numbers.back().push_back(
          turns.add(loop_of([size] { return empty(Dims(size.data(), size.size())); })));
  }
  if (!stamps.launches().empty()) {
    turns.add_timed([&](std::int64_t calls) { return stamps.record(calls); });
    turns.add_timed([&](std::int64_t calls) { return grad_stamps.record(calls); });
  }
  const PeerLoops peer(options, turns);
  turns.run(options.turns, options.progress);
  set_thread_count(threads_before);

  Anatomy anatomy;
  anatomy.op = options.op;
  anatomy.arguments = plain.arguments;
  anatomy.threads = options.threads;
  anatomy.wants_peer = options.wants_peer;
  anatomy.total_ns = turns.median_ns(whole);
  anatomy.total_grad_ns = turns.median_ns(grad_whole);
  const double nothing_ns = turns.median_ns(nothing_number), stamp_ns = stamps.stamp_ns();
  std::vector<double> part_ns, grad_part_ns;
  for (const std::size_t number : part_numbers) part_ns.push_back(turns.median_ns(number));
  for (const std::size_t number : grad_numbers) grad_part_ns.push_back(turns.median_ns(number));
  if (is_composite) {
    Row own{options.op, "body", "", By::Difference, 0, 0};
    for (const Subject::Part& part : plain.parts) own.job += (own.job.empty() ? "calls " : ", ") + part.op;
    own.ns = own_share(anatomy.total_ns, turns.median_rest_ns(whole, part_numbers), nothing_ns, part_ns,
                       anatomy.is_scaled);
    own.grad_ns = own_share(anatomy.total_grad_ns, turns.median_rest_ns(grad_whole, grad_numbers), nothing_ns,
                            grad_part_ns, anatomy.is_scaled);
    const double dispatch = std::min({nothing_ns, own.ns, own.grad_ns});
    own.ns -= dispatch;
    own.grad_ns -= dispatch;
    anatomy.rows.push_back({options.op, "dispatch", kDispatchJob, By::Timed, dispatch, dispatch});
    anatomy.rows.push_back(std::move(own));
  }
  for (std::size_t i = 0; i < plain.parts.size(); ++i) {
    PartTimes part{part_ns[i], grad_part_ns[i]};
    for (std::size_t k = 0; k < stamps.launches().size(); ++k) {
      const KernelStamps::Launch& launch = stamps.launches()[k];
      if (launch.op != plain.parts[i].op) continue;
      part.launch = &launch;
      part.grad_launch = &grad_stamps.launches()[k];
      for (const std::size_t number : result_numbers[k])
        part.result_ns += std::max(0.0, turns.median_ns(number) - nothing_ns);
      anatomy.kernels.push_back(launch.facts);
      anatomy.kernels.back().ns = std::max(0.0, median(launch.ns) - stamp_ns);
    }
    for (Row& row : rows_of(plain.parts[i].op, part, nothing_ns, stamp_ns, anatomy.is_scaled))
      anatomy.rows.push_back(std::move(row));
  }
  if (peer.process)
    anatomy.peer = Peer{peer.version, turns.median_ns(peer.inference), turns.median_ns(peer.plain),
                        turns.median_ns(peer.grad)};
  return anatomy;
}

double Anatomy::kernel_ns() const {
  double sum = 0;
  for (const Row& row : rows) sum += row.layer == "kernel" ? row.ns : 0;
  return sum;
}

}  // namespace pel::inspect
