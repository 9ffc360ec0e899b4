#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "pellucid/pellucid.h"

#include "inspect/tour.h"

namespace pel::inspect {
namespace {

// Returns what one warm `call` launches; times are medians over several.
template <class Call>
Evidence seen(std::string what, Call call) {
  constexpr std::size_t kRepeats = 7;
  call();
  Evidence evidence{std::move(what)};
  Profile profile;
  for (std::size_t i = 0; i < kRepeats; ++i) call();
  profile.stop();
  std::vector<Launch> all;
  profile.each([&](const ProfileEvent& e) {
    if (e.kind == ProfileEvent::Kind::Op) {
      evidence.syncs += e.is_sync ? 1 : 0;
      // Events inside a span come before it: the first op after a kernel launched it. A plan is not an op.
      const bool is_plan = std::string_view(e.name) == "pellucid::compiled";
      if (!all.empty() && all.back().op.empty() && !is_plan) all.back().op = e.name;
    }
    if (e.kind != ProfileEvent::Kind::Kernel) return;
    all.push_back({"", e.name, e.bytes_read + e.bytes_written, static_cast<double>(e.end_ns - e.begin_ns)});
  });
  evidence.syncs /= static_cast<int>(kRepeats);
  const std::size_t count = all.size() / kRepeats;
  evidence.launches.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> ns;
    for (std::size_t at = i; at < all.size(); at += count) ns.push_back(all[at].ns);
    evidence.launches[i].ns = median(std::move(ns));
  }
  return evidence;
}

Finding transpose(Pace pace) {
  const std::int64_t side = pace == Pace::Quick ? 256 : 2048;
  const Tensor x = ones({side, side});
  Finding found;
  found.evidence = {seen("t(x)", [&] { return t(x); }),
                    seen("a copy of t(x)", [&] { return t(x).contiguous(); })};
  const Evidence &view = found.evidence[0], &copy = found.evidence[1];
  found.holds = view.launches.empty() && view.bytes() == 0;
  found.verdict =
      fmt::format("{} kernels and {} bytes; a copy would move {} in {}", view.launches.size(), view.bytes(),
                  readable_bytes(static_cast<double>(copy.bytes())), readable_ns(copy.kernel_ns()));
  return found;
}

Finding bias(Pace pace) {
  const std::int64_t rows = pace == Pace::Quick ? 8 : 64;
  const Tensor x = randn({rows, 256}), weight = randn({256, 256}), b = randn({256});
  Finding found;
  found.evidence = {seen("linear(x, weight, bias)", [&] { return linear(x, weight, b); }),
                    seen("mm(x, t(weight)) + bias", [&] { return add(mm(x, t(weight)), b); })};
  const Evidence &one = found.evidence[0], &two = found.evidence[1];
  found.holds = one.launches.size() == 1 && two.launches.size() == 2 && one.bytes() < two.bytes();
  found.verdict =
      fmt::format("{} kernel instead of {}; the addition in the epilogue saves {} of traffic",
                  one.launches.size(), two.launches.size(),
                  readable_bytes(static_cast<double>(two.bytes()) - static_cast<double>(one.bytes())));
  return found;
}

Finding geglu(Pace pace) {
  const std::int64_t width = pace == Pace::Quick ? 64 : 768;
  const nn::GEGLU mlp(width, 4 * width);
  const Tensor x = randn({8, width});
  const NoGrad no_grad;
  Finding found;
  found.evidence = {seen("mlp(x)", [&] { return mlp(x); })};
  const std::vector<Launch>& launches = found.evidence[0].launches;
  const auto matmuls =
      std::count_if(launches.begin(), launches.end(), [](const Launch& l) { return l.op == "mm"; });
  found.holds = launches.size() == 5 && matmuls == 3;
  found.verdict = fmt::format("{} kernels, {} of them matmuls", launches.size(), matmuls);
  return found;
}

Finding sync(Pace pace) {
  constexpr int kCalls = 100;
  const Tensor x = ones({1});
  const auto without = [&] {
    for (int i = 0; i < kCalls; ++i) static_cast<void>(add(x, x));
  };
  const auto with = [&] {
    for (int i = 0; i < kCalls; ++i) static_cast<void>(add(x, x).item());
  };
  const Evidence plain = seen("add", without), reading = seen("add, item()", with);
  Interleaved turns(50'000);
  const std::size_t plain_number = turns.add(loop_of([&] { return add(x, x); }));
  const std::size_t reading_number = turns.add(loop_of([&] { return add(x, x).item(); }));
  turns.run(pace == Pace::Quick ? 20 : 200);
  const double add_ns = turns.median_ns(plain_number),
               item_ns = std::max(0.0, turns.median_rest_ns(reading_number, {plain_number}));
  Finding found;
  found.figures = {fmt::format("{:<22}{:>4} kernels{:>6} syncs{:>14} per iteration", "add",
                               plain.launches.size(), plain.syncs, readable_ns(add_ns)),
                   fmt::format("{:<22}{:>4} kernels{:>6} syncs{:>14} per iteration", "add, then item()",
                               reading.launches.size(), reading.syncs, readable_ns(add_ns + item_ns))};
  found.holds = plain.syncs == 0 && reading.syncs == kCalls && plain.launches.size() == kCalls &&
                reading.launches.size() == kCalls && item_ns < add_ns;
  found.verdict = fmt::format("{} syncs and no additional kernel; item() takes {}, the add before it {}",
                              reading.syncs, readable_ns(item_ns), readable_ns(add_ns));
  return found;
}

// For add: the time from its start to its kernel, and the kernel time; medians.
struct Shares {
  double before_ns, kernel_ns;
  double share() const { return before_ns / (before_ns + kernel_ns); }
};
Shares measure_add(std::int64_t elements, int calls) {
  const Tensor a = ones({elements}), b = ones({elements});
  for (int i = 0; i < 3; ++i) static_cast<void>(add(a, b));
  ProfileOptions options;
  options.shapes = false;
  Profile profile(options);
  for (int i = 0; i < calls; ++i) static_cast<void>(add(a, b));
  profile.stop();
  std::vector<double> before, kernel;
  std::uint64_t kernel_begin = 0;
  profile.each([&](const ProfileEvent& e) {
    if (e.kind == ProfileEvent::Kind::Kernel) {
      kernel_begin = e.begin_ns;
      kernel.push_back(static_cast<double>(e.end_ns - e.begin_ns));
    } else if (e.kind == ProfileEvent::Kind::Op) {
      before.push_back(static_cast<double>(kernel_begin - e.begin_ns));
    }
  });
  return {median(std::move(before)), median(std::move(kernel))};
}

Finding overhead(Pace pace) {
  constexpr double kLittle = 0.1, kMuch = 0.5;
  const int calls = pace == Pace::Quick ? 40 : 200;
  const int max_power = pace == Pace::Quick ? 20 : 22;
  Finding found;
  found.figures.push_back(
      fmt::format("{:>12}{:>14}{:>12}{:>10}", "elements", "before kernel", "kernel", "share"));
  std::int64_t from = 0;
  double first = 0, last = 0;
  for (int power = 4; power <= max_power; power += 2) {
    const std::int64_t elements = std::int64_t{1} << power;
    const Shares shares = measure_add(elements, calls);
    if (power == 4) first = shares.share();
    last = shares.share();
    if (last >= kLittle) from = 0;
    if (last < kLittle && from == 0) from = elements;
    found.figures.push_back(
        fmt::format("{:>12}{}{}{:>8.0f} %  {}", elements, pad_left(readable_ns(shares.before_ns), 14),
                    pad_left(readable_ns(shares.kernel_ns), 12), 100 * last, bar(last, 20)));
  }
  found.holds = first > kMuch && last < kLittle;
  found.verdict = found.holds ? fmt::format("under 10 % of the call from {} elements on", from)
                              : fmt::format("{:.0f} % of the smallest call and {:.0f} % of the largest",
                                            100 * first, 100 * last);
  return found;
}

Finding fusion(Pace pace) {
  const std::int64_t rows = pace == Pace::Quick ? 64 : 2048;
  const Tensor gate = randn({rows, 3072}), up = randn({rows, 3072});
  const auto gated = [](const Tensor& a, const Tensor& b) { return mul(gelu(a, GeluApproximate::Tanh), b); };
  const auto fast = compile(gated);
  Finding found;
  found.evidence = {seen("mul(gelu(gate), up)", [&] { return gated(gate, up); }),
                    seen("the same, compiled", [&] { return fast(gate, up); })};
  const Evidence &two = found.evidence[0], &one = found.evidence[1];
  found.holds = two.launches.size() == 2 && one.launches.size() == 1 && 5 * one.bytes() == 3 * two.bytes();
  found.verdict = fmt::format("{} kernel instead of {}, {} of traffic instead of {}", one.launches.size(),
                              two.launches.size(), readable_bytes(static_cast<double>(one.bytes())),
                              readable_bytes(static_cast<double>(two.bytes())));
  return found;
}

Finding sizes(Pace pace) {
  const std::int64_t width = pace == Pace::Quick ? 64 : 768;
  const nn::GEGLU mlp(width, 4 * width);
  const NoGrad no_grad;
  const auto fast = compile(mlp);
  Finding found;
  found.figures.push_back(
      fmt::format("{:>8}{:>10}{:>10}{:>14}", "rows", "compiles", "kernels", "first call"));
  bool is_right = true;
  for (const std::int64_t rows : {8, 1, 2, 3, 20, 512}) {
    const Tensor x = randn({rows, width});
    const auto begin = std::chrono::steady_clock::now();
    static_cast<void>(fast(x));
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    const std::size_t kernels = fast.kernels(x).size();
    found.figures.push_back(fmt::format("{:>8}{:>10}{:>10}{}", rows, fast.compiles(), kernels,
                                        pad_left(readable_ns(taken.count()), 14)));
    is_right = is_right && kernels == 2;
  }
  found.holds = is_right && fast.compiles() == 1;
  found.verdict = fmt::format("{} compile for six numbers of rows, 2 kernels instead of 5", fast.compiles());
  return found;
}

// A call on a device: what it launches, when it returns, and for how long a wait after it takes.
struct DeviceCall {
  std::uint64_t launches, waits;
  double returns_ns, left_ns;
};
template <class Call>
DeviceCall measure_on(Device device, Call call) {
  constexpr int kRepeats = 7;
  call();  // builds its kernels
  std::vector<double> returns, left;
  DeviceStats stats;
  for (int i = 0; i < kRepeats; ++i) {
    synchronize(device);
    reset_device_stats(device);
    const auto begin = std::chrono::steady_clock::now();
    call();
    const auto end = std::chrono::steady_clock::now();
    stats = device_stats(device);
    synchronize(device);
    const auto idle = std::chrono::steady_clock::now();
    returns.push_back(std::chrono::duration<double, std::nano>(end - begin).count());
    left.push_back(std::chrono::duration<double, std::nano>(idle - end).count());
  }
  return {stats.launches, stats.waits, median(std::move(returns)), median(std::move(left))};
}

// On OpenCL where it is installed, else on the CPU as a queue.
Finding device(Pace pace) {
  constexpr int kCalls = 20;
  const std::int64_t side = pace == Pace::Quick ? 512 : 2048;
  Device on = kQueue;
  for (const DeviceInfo& info : devices())
    if (info.device == kOpenCl && info.refusal.empty()) on = kOpenCl;
  const NoGrad no_grad;
  const Tensor x = ones({side, side}).to(on);
  const auto chain = [](const Tensor& a) {
    Tensor sum = a;
    for (int i = 0; i < kCalls; ++i) sum = sum + a;
    return sum;
  };
  const auto fast = compile(chain);
  const DeviceCall eager = measure_on(on, [&] { return chain(x); }),
                   replayed = measure_on(on, [&] { return fast(x); }), waiting = measure_on(on, [&] {
                                                                         Tensor sum = x;
                                                                         for (int i = 0; i < kCalls; ++i) {
                                                                           sum = sum + x;
                                                                           synchronize(on);
                                                                         }
                                                                         return sum;
                                                                       });
  Finding found;
  found.figures.push_back(
      fmt::format("{:<22}{:>10}{:>8}{:>15}{:>14}", "", "launches", "waits", "returns after", "then waits"));
  const auto add_row = [&](std::string_view name, const DeviceCall& call) {
    found.figures.push_back(fmt::format("{:<22}{:>10}{:>8}{}{}", name, call.launches, call.waits,
                                        pad_left(readable_ns(call.returns_ns), 15),
                                        pad_left(readable_ns(call.left_ns), 14)));
  };
  add_row("20 adds", eager);
  add_row("the same, compiled", replayed);
  add_row("a wait after each", waiting);
  found.holds = eager.launches == kCalls && eager.waits == 0 && replayed.launches == 1 &&
                replayed.waits == 0 && waiting.waits == kCalls && eager.returns_ns < waiting.returns_ns;
  found.verdict =
      fmt::format("20 calls return after {}, kernels take {} more; with 20 waits: {}",
                  readable_ns(eager.returns_ns), readable_ns(eager.left_ns), readable_ns(waiting.returns_ns));
  return found;
}

}  // namespace

const std::vector<TourStep>& tour_steps() {
  static const std::vector<TourStep> steps = {
      {"transpose", "A transpose is free",
       "t changes only sizes and strides: no kernel runs, and no byte moves.",
       "t of a matrix, and a copy of it", transpose},
      {"bias", "The bias is added in the epilogue",
       "linear with a bias is one kernel; a separate matmul and add are two, and move more bytes.",
       "linear, and mm with add, on the same operands", bias},
      {"geglu", "A GeGLU MLP is five kernels",
       "down(gelu(gate(x)) · up(x)) launches three matmuls, one gelu and one mul; no copy, no transpose.",
       "nn::GEGLU on 8 rows", geglu},
      {"sync", "The cost of reading a result back",
       "item() launches no kernel. On the CPU the kernel has ended before it, so it costs less than a tiny "
       "add. On "
       "an asynchronous device the same call would wait for everything that was issued.",
       "100 adds of one element, with and without item() after each", sync},
      {"overhead", "When overhead stops mattering",
       "The time before the kernel is the same at every size: most of a tiny add, under 10 % of a large one.",
       "add over sizes, by the timestamps of a Profile", overhead},
      {"fusion", "A fused loop saves a trip to memory",
       "mul(gelu(a), b) writes the result of gelu and reads it again. Compiled, it is one loop with the same "
       "bits.",
       "both, on the same operands", fusion},
      {"sizes", "One compile serves all sizes",
       "A compiled function is not specialized on sizes: another number of rows needs a new plan, but no new "
       "code.",
       "a compiled nn::GEGLU on six numbers of rows", sizes},
      {"device", "A launch returns before its kernel ends",
       "On an asynchronous device a call only queues its kernel, and a wait takes as long as all that is "
       "queued. A "
       "compiled function queues fewer kernels and waits for none.",
       "20 adds on OpenCL, or else the CPU as a queue: eager, compiled, a wait after each", device}};
  return steps;
}

}  // namespace pel::inspect
