#include "dispatch/choice.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/readable.h"

namespace pel {
namespace {

// The fastest of several runs, after one that warms up.
template <class F>
double fastest_ns(F&& run) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRuns = 5;
  constexpr double kLongNs = 200e6;
  double fastest = 0;
  for (int i = 0; i <= kRuns; ++i) {
    const auto begin = Clock::now();
    run();
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    if (i == 1 || (i > 1 && ns < fastest)) fastest = ns;
    if (ns > kLongNs && i > 0) break;
  }
  return fastest;
}

constexpr double kLongestNs = 2e9;  // predicted; nothing slower is measured

std::string describe_call(const Op& op, const KernelArgs& args) {
  std::string text = std::string(op.name()) + "(";
  for (int i = 0; i < args.input_count; ++i) {
    const Operand& o = input(args, i);
    text += fmt::format("{}{}[", i == 0 ? "" : ", ", name(static_cast<DType>(o.dtype)));
    for (int axis = 0; axis < o.rank; ++axis)
      text += fmt::format("{}{}", axis == 0 ? "" : ", ", o.sizes[axis]);
    text += "]";
  }
  return text + ")";
}

std::string name_of(const Kernel& kernel, const KernelArgs& args) {
  return kernel.describe == nullptr ? kernel.name : kernel.describe(args);
}

}  // namespace

KernelChoice explain_choice(const Op& op, const KernelArgs& given,
                            const std::optional<Computation>& computation, Measure measure) {
  KernelChoice choice;
  choice.call = describe_call(op, given);
  KernelArgs args = given;
  Stream stream(kCpu);
  const Kernel* best = nullptr;
  double least = 0;
  for (const Kernel& kernel : op.kernels(DeviceType::Cpu)) {
    if (!is_candidate(kernel, computation)) continue;
    args.context = kernel.context;
    const Support able = kernel.supports(args), support = takes(kernel, args);
    const double predicted = able && kernel.predict != nullptr ? kernel.predict(args) : 0;
    if (support && (best == nullptr || (kernel.predict != nullptr && predicted < least))) {
      best = &kernel;
      least = predicted;
      choice.winner = choice.candidates.size();
    }
    const std::string refusal = support ? "" : (able ? support : able).reason();
    if (!able) {
      choice.candidates.push_back({kernel.name, refusal, 0, std::nullopt});
      continue;
    }
    if (kernel.variants == nullptr) {
      choice.candidates.push_back({name_of(kernel, args), refusal, predicted, std::nullopt});
      if (measure == Measure::Yes)
        choice.candidates.back().measured_ns = fastest_ns([&] { kernel.run(stream, args); });
      continue;
    }
    for (const KernelVariant& variant : kernel.variants(args)) {
      choice.candidates.push_back({variant.name, refusal, variant.predicted_ns, std::nullopt});
      if (measure == Measure::Yes && variant.predicted_ns < kLongestNs)
        choice.candidates.back().measured_ns = fastest_ns(variant.run);
    }
  }
  if (best == nullptr) {
    choice.reason = "no kernel takes the call";
  } else if (Tuning* tuning = Tuning::active(); tuning != nullptr && best->predict != nullptr) {
    const Kernel* tuned = tuning->choose(op, given, best, computation);
    choice.reason = fmt::format("{} was the fastest of its class when it was measured", tuned->name);
  } else if (best->predict == nullptr) {
    choice.reason = "the first that takes the call";
  } else {
    choice.reason = fmt::format("the least predicted time, {}", readable_ns(least));
  }
  return choice;
}

std::string KernelChoice::text() const {
  std::size_t width = 20;
  for (const KernelCandidate& c : candidates) width = std::max(width, c.name.size());
  std::string lines = call + "\n";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const KernelCandidate& c = candidates[i];
    lines += fmt::format("  {} {:<{}}  ", winner == i ? '*' : ' ', c.name, width);
    if (c.predicted_ns > 0) lines += fmt::format("predicted {:>8}  ", readable_ns(c.predicted_ns));
    if (c.measured_ns) lines += fmt::format("measured {:>8}  ", readable_ns(*c.measured_ns));
    if (!c.refusal.empty()) lines += "refused: " + c.refusal;
    lines.erase(lines.find_last_not_of(' ') + 1);
    lines += "\n";
  }
  return lines + fmt::format("  chosen: {}\n", reason);
}

std::string KernelChoice::json() const {
  std::string text = fmt::format("{{\"call\": \"{}\", \"candidates\": [", call);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const KernelCandidate& c = candidates[i];
    text += fmt::format("{}{{\"name\": \"{}\"", i == 0 ? "" : ", ", c.name);
    if (c.predicted_ns > 0) text += fmt::format(", \"predicted_ns\": {:.0f}", c.predicted_ns);
    if (!c.refusal.empty()) text += fmt::format(", \"refusal\": \"{}\"", c.refusal);
    if (c.measured_ns) text += fmt::format(", \"measured_ns\": {:.0f}", *c.measured_ns);
    text += "}";
  }
  return text + fmt::format("], \"winner\": {}, \"reason\": \"{}\"}}",
                            winner ? std::to_string(*winner) : std::string("null"), reason);
}

// One line a class: "CLASS KERNEL NANOSECONDS", below a line with the version.
struct Tuning::State {
  static constexpr std::string_view kHeader = "pellucid tuning 1";

  struct Entry {
    std::string kernel;
    double ns;
  };
  std::string path;
  std::mutex mutex;
  std::map<std::string, Entry> entries;

  void read() {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) return;
    if (line != kHeader) {
      log_line("tune", fmt::format("{} is not of this version ('{}'); it is written anew", path, kHeader));
      return;
    }
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string key;
      Entry entry;
      if (words >> key >> entry.kernel >> entry.ns) entries[key] = entry;
    }
  }
  // Whole and at once: another process never reads half a file.
  void write() const {
    const std::string next = path + ".new";
    {
      std::ofstream file(next);
      file << kHeader << "\n";
      for (const auto& [key, entry] : entries)
        file << fmt::format("{} {} {:.0f}\n", key, entry.kernel, entry.ns);
    }
    if (std::rename(next.c_str(), path.c_str()) != 0)
      log_line("tune", fmt::format("{} cannot be written; what was measured is lost at exit", path));
  }
};

Tuning::Tuning(std::string path) : state_(new State) {
  state_->path = std::move(path);
  state_->read();
}

Tuning* Tuning::active() {
  static Tuning* const instance = [] {
    const char* path = std::getenv("PELLUCID_TUNE");
    return path == nullptr || *path == '\0' ? nullptr : new Tuning(path);
  }();
  return instance;
}

const Kernel* Tuning::choose(const Op& op, KernelArgs args, const Kernel* best,
                             const std::optional<Computation>& computation) {
  if (best->shape_class == nullptr) return best;
  const std::string key = best->shape_class(args);
  const std::lock_guard lock(state_->mutex);
  auto found = state_->entries.find(key);
  if (found == state_->entries.end()) {
    State::Entry entry{best->name, 0};
    Stream stream(kCpu);
    for (const Kernel& kernel : op.kernels(DeviceType::Cpu)) {
      args.context = kernel.context;
      if (!is_candidate(kernel, computation) || !takes(kernel, args)) continue;
      const double ns = fastest_ns([&] { kernel.run(stream, args); });
      if (entry.ns == 0 || ns < entry.ns) entry = {kernel.name, ns};
    }
    found = state_->entries.emplace(key, entry).first;
    state_->write();
  }
  for (const Kernel& kernel : op.kernels(DeviceType::Cpu)) {
    args.context = kernel.context;
    if (kernel.name == found->second.kernel && takes(kernel, args)) return &kernel;
  }
  return best;  // the class is wider than what that kernel takes
}

}  // namespace pel
