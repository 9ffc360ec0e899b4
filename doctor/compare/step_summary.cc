#include "doctor/compare/step_summary.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/sort_stably.h"
#include "doctor/compare/typical_step.h"
#include "doctor/diagnosis/diagnose.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMaxDepth = 48;  // of ops that are told apart

// "(GraphLaunch)" of cudaGraphLaunch and hipGraphLaunch.
std::string_view call_without_vendor(std::string_view name) {
  for (const std::string_view vendor : {"cuda", "hip", "cu"}) {
    if (name.starts_with(vendor)) return name.substr(vendor.size());
  }
  return name;
}

std::string device_of(const Model& model) {
  const std::span<const std::int32_t> devices = model.active_devices();
  if (devices.empty() || model.devices().empty()) return "";
  const DeviceProperties* properties = model.device(devices[0]);
  return properties == nullptr ? model.devices()[0].name : properties->name;  // some number them anew
}

class Summarizer {
 public:
  explicit Summarizer(const Examined& examined)
      : examined_(examined), model_(examined.model), events_(examined.model.events()) {}

  StepSummary run() {
    const TypicalStep step = typical_step(examined_);
    summary_.step = step.name;
    summary_.steps = step.steps;
    summary_.time = step.time;
    summary_.device = device_of(model_);
    summary_.counts = count(examined_);
    add_text("");
    find_ops(step);
    for (const auto& [row, thread] : threads_) add_op(thread, StepOp::kNone);
    count_launches(step);
    return std::move(summary_);
  }

 private:
  struct Node {
    EventId op = kNoEvent;
    std::uint32_t name = 0;
    std::vector<std::uint32_t> children{}, activities{};  // activities of the model
  };

  std::uint32_t add_text(std::string_view text) {
    const auto [at, is_new] =
        texts_.try_emplace(std::string(text), static_cast<std::uint32_t>(summary_.texts.size()));
    if (is_new) summary_.texts.emplace_back(text);
    return at->second;
  }

  void find_ops(const TypicalStep& step) {
    std::unordered_map<EventId, std::uint32_t> ids;
    constexpr RowId kNoRow = ~RowId{0};
    std::vector<EventId> chain;
    for (const std::uint32_t w : step.activities) {
      const Activity& activity = model_.activities()[w];
      chain.clear();
      for (EventId e = model_.op_of_activity(activity); e != kNoEvent && chain.size() < 1000;
           e = model_.parent(e)) {
        if (events_.category(e) == Category::CpuOp && !events_.name(e).starts_with("ProfilerStep"))
          chain.push_back(e);
      }
      const bool has_op = !chain.empty();
      if (!has_op) chain.push_back(activity.launch == kNoEvent ? activity.event : activity.launch);
      const RowId row = !has_op && activity.launch == kNoEvent ? kNoRow : events_.row(chain.back());
      const auto [thread, is_new_thread] =
          threads_.try_emplace(row, static_cast<std::uint32_t>(nodes_.size()));
      if (is_new_thread) nodes_.push_back({});
      std::uint32_t node = thread->second;
      for (std::size_t i = chain.size(), depth = 0; i-- > 0 && depth < kMaxDepth; ++depth) {
        const auto [at, is_new] = ids.try_emplace(chain[i], static_cast<std::uint32_t>(nodes_.size()));
        if (is_new) {
          const std::string_view name = events_.name(chain[i]);
          nodes_.push_back({.op = chain[i], .name = add_text(has_op ? name : call_without_vendor(name))});
          nodes_[node].children.push_back(at->second);
        }
        node = at->second;
      }
      nodes_[node].activities.push_back(w);
    }
    for (Node& node : nodes_) {
      sort_stably(node.children, [&](std::uint32_t a, std::uint32_t b) {
        return events_.begin_ns(nodes_[a].op) < events_.begin_ns(nodes_[b].op);
      });
    }
  }

  void add_op(std::uint32_t node, std::uint32_t parent) {  // as deep as kMaxDepth
    const auto op = static_cast<std::uint32_t>(summary_.ops.size());
    summary_.ops.push_back({.name = nodes_[node].name, .parent = parent});
    for (const std::uint32_t w : nodes_[node].activities) {
      summary_.ops[op].activities.push_back(static_cast<std::uint32_t>(summary_.activities.size()));
      const Activity& activity = model_.activities()[w];
      summary_.activities.push_back({.kernel = add_kernel(activity.event),
                                     .chain = add_text(launch_chain(activity)),
                                     .duration_ns = activity.end_ns - activity.begin_ns});
    }
    for (const std::uint32_t child : nodes_[node].children) add_op(child, op);
  }

  std::uint32_t add_kernel(EventId activity) {
    const auto [at, is_new] =
        kernels_.try_emplace(std::pair(events_.name_id(activity), events_.category(activity)),
                             static_cast<std::uint32_t>(summary_.kernels.size()));
    if (is_new) summary_.kernels.emplace_back(events_.name(activity), events_.category(activity));
    return at->second;
  }

  std::string launch_chain(const Activity& activity) const {
    std::string chain = model_.op_chain(activity.launch);
    if (!chain.empty()) return chain;
    return activity.launch == kNoEvent ? "(launched before the trace)"
                                       : fmt::format("({})", events_.name(activity.launch));
  }

  void count_launches(const TypicalStep& step) {
    std::vector<EventId> calls;
    for (const std::uint32_t w : step.activities) {
      if (model_.activities()[w].launch != kNoEvent) calls.push_back(model_.activities()[w].launch);
    }
    std::sort(calls.begin(), calls.end());
    summary_.launches = std::unique(calls.begin(), calls.end()) - calls.begin();
  }

  const Examined& examined_;
  const Model& model_;
  const EventTable& events_;
  StepSummary summary_;
  std::vector<Node> nodes_;
  std::map<RowId, std::uint32_t> threads_;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::map<std::pair<NameId, Category>, std::uint32_t> kernels_;
};

}  // namespace

StepKernel::StepKernel(std::string_view kernel_name, Category of)
    : name(kernel_name), category(of), title(kernel_name) {
  if (category != Category::Kernel) {
    family = category == Category::Memset ? KernelFamily::Fill : KernelFamily::Copy;
    return;
  }
  const KernelName decoded = decode_kernel_name(kernel_name);
  family = *decoded.family;
  title = decoded.title;
}

StepSummary summarize(const Examined& examined) { return Summarizer(examined).run(); }

}  // namespace pel::doctor
