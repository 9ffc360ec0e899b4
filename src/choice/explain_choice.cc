#include <algorithm>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/readable.h"
#include "choice/choice.h"
#include "choice/fastest_run.h"
#include "choice/tuning.h"

namespace pel {
namespace {

constexpr double kMaxMeasuredNs = 2e9;  // predicted; slower variants are not measured

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

KernelChoice explain_choice(const Op& op, Device device, const KernelArgs& given,
                            const std::optional<Computation>& computation, Measure measure) {
  KernelChoice choice;
  choice.call = describe_call(op, given);
  KernelArgs args = given;
  Stream stream(device);
  const Kernel* best = nullptr;
  double shortest_ns = 0;
  for (const Kernel& kernel : op.kernels(device.type)) {
    if (!is_candidate(kernel, computation)) continue;
    args.context = kernel.context;
    const Support able = kernel.supports(args), support = takes(kernel, args);
    const double predicted = able && kernel.predict != nullptr ? kernel.predict(args) : 0;
    if (support && (best == nullptr || (kernel.predict != nullptr && predicted < shortest_ns))) {
      best = &kernel;
      shortest_ns = predicted;
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
        choice.candidates.back().measured_ns = fastest_run_ns([&] { kernel.run(stream, args); });
      continue;
    }
    for (const KernelVariant& variant : kernel.variants(args)) {
      choice.candidates.push_back({variant.name, refusal, variant.predicted_ns, std::nullopt});
      if (measure == Measure::Yes && variant.predicted_ns < kMaxMeasuredNs)
        choice.candidates.back().measured_ns = fastest_run_ns(variant.run);
    }
  }
  if (best == nullptr) {
    choice.reason = "no kernel takes the call";
  } else if (Tuning* tuning = Tuning::active(); tuning != nullptr && best->predict != nullptr) {
    const Kernel* tuned = tuning->choose(op, device, given, best, computation);
    choice.reason = fmt::format("{} was the fastest when calls of this class were measured", tuned->name);
  } else if (best->predict == nullptr) {
    choice.reason = "the first of the list that takes the call";
  } else {
    choice.reason = fmt::format("the shortest predicted time, {}", readable_ns(shortest_ns));
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
  const auto quoted = [](std::string_view plain) {
    std::string text;
    detail::append_quoted(text, plain);
    return text;
  };
  std::string text = fmt::format("{{\"call\": {}, \"candidates\": [", quoted(call));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const KernelCandidate& c = candidates[i];
    text += fmt::format("{}{{\"name\": {}", i == 0 ? "" : ", ", quoted(c.name));
    if (c.predicted_ns > 0) text += fmt::format(", \"predicted_ns\": {:.0f}", c.predicted_ns);
    if (!c.refusal.empty()) text += fmt::format(", \"refusal\": {}", quoted(c.refusal));
    if (c.measured_ns) text += fmt::format(", \"measured_ns\": {:.0f}", *c.measured_ns);
    text += "}";
  }
  return text + fmt::format("], \"winner\": {}, \"reason\": {}}}",
                            winner ? std::to_string(*winner) : std::string("null"), quoted(reason));
}

}  // namespace pel
