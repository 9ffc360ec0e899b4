#include "compile/compiled_function.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pellucid/autograd.h"
#include "pellucid/determinism.h"

#include "base/check.h"
#include "base/environment.h"
#include "compile/fused_kernels.h"
#include "compile/pipeline.h"
#include "profile/recorder.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

// What a plan is for: modes, then for each input which earlier one it is, dtype and rank, sizes and strides.
std::int64_t same_as(ArrayView<Tensor> inputs, std::size_t i) {
  for (std::size_t j = 0; j < i; ++j)
    if (inputs[i].is_same(inputs[j])) return static_cast<std::int64_t>(j);
  return static_cast<std::int64_t>(i);
}
std::int64_t kind_of(ArrayView<Tensor> inputs, std::size_t i) {
  const detail::TensorHeader& header = *inputs[i].header();
  return same_as(inputs, i) << 32 | static_cast<std::int64_t>(header.dtype) << 16 |
         static_cast<std::int64_t>(gradient_kind(inputs[i])) << 24 |
         static_cast<std::int64_t>(header.device.type) << 8 | header.rank;
}
std::vector<std::int64_t> signature_of(ArrayView<Tensor> inputs) {
  std::vector<std::int64_t> words{call_modes()};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    words.push_back(kind_of(inputs, i));
    for (const Dim size : inputs[i].sizes()) words.push_back(size.value());
    for (const Dim stride : inputs[i].strides()) words.push_back(stride.value());
  }
  return words;
}
bool has_signature(ArrayView<Tensor> inputs, const std::vector<std::int64_t>& words) {
  const std::int64_t* next = words.data();
  const std::int64_t* const end = next + words.size();
  if (*next++ != call_modes()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (next == end || *next++ != kind_of(inputs, i)) return false;
    const detail::TensorHeader& header = *inputs[i].header();
    const std::size_t bytes = std::size_t{header.rank} * sizeof(Dim);
    if (std::memcmp(next, header.sizes(), bytes) != 0) return false;
    if (std::memcmp(next + header.rank, header.strides(), bytes) != 0) return false;
    next += 2 * std::size_t{header.rank};
  }
  return next == end;
}

}  // namespace

std::int64_t call_modes() {
  const std::optional<DType> casts = autocast_dtype();
  return (is_grad_enabled() ? kGradientMode : 0) | static_cast<std::int64_t>(determinism()) << 8 |
         (casts ? 1 + static_cast<std::int64_t>(*casts) : 0);
}

void log_recompile(std::string_view reason) {
  static const bool logs = log_wants("recompiles");
  if (logs) log_line("recompiles", std::string(reason));
}

std::shared_ptr<CompiledGraph> compile_captured(const std::function<Captured()>& capture, Replays replays,
                                                const PassOptions& options) {
  const profile::CompileSpan span("capture and compile");
  Captured as_called = capture();
  auto made = std::make_shared<CompiledGraph>();
  made->guards = std::move(as_called.guards);
  made->gradients = std::move(as_called.gradients);
  made->modes = call_modes();
  if (replays == Replays::Verified) made->as_captured = to_string(as_called.graph);
  GraphFacts facts;
  made->graph = run_passes(std::move(as_called.graph), facts, made->why, options);
  made->loops = compile_fused(made->graph, facts);
  if (log_wants("recompiles")) log_recompile(fmt::format("captured:\n{}", to_string(made->graph)));
  if (log_wants("guards")) {
    for (const SizeGuard& guard : made->graph.sizes->guards())
      log_line("guards", fmt::format("{}: {}", made->graph.sizes->text(guard), guard.source));
  }
  return made;
}

std::vector<std::shared_ptr<const CompiledGraph>> CompiledFunction::graphs() const {
  const std::shared_lock lock(mutex_);
  return graphs_;
}
std::size_t CompiledFunction::plans() const {
  const std::shared_lock lock(mutex_);
  return ready_.size();
}

std::shared_ptr<const Plan> CompiledFunction::first_plan_of(const CompiledGraph& graph) const {
  const std::shared_lock lock(mutex_);
  const auto& sizes = graph.graph.sizes->hints();
  const auto found = std::ranges::find_if(ready_, [&](const auto& ready) {
    return ready->graph.get() == &graph && ready->plan->symbols() == sizes;
  });
  return found == ready_.end() ? nullptr : (*found)->plan;
}

void CompiledFunction::check_again(const CompiledGraph& captured, ArrayView<Tensor> inputs) const {
  const Captured again = capture(f_, inputs);
  const Graph& now = again.graph;
  std::istringstream before(captured.as_captured), after(to_string(now));
  for (std::string was, is; true;) {
    const bool more_before = static_cast<bool>(std::getline(before, was));
    const bool more_after = static_cast<bool>(std::getline(after, is));
    PEL_CHECK(more_before == more_after && was == is, CaptureError,
              "the function does something else than when it was captured:\n  then{}\n  now {}", was, is);
    if (!more_before) break;
  }
  for (std::size_t i = 0; i < now.constants.size(); ++i) {
    PEL_CHECK(now.constants[i].is_same(captured.graph.constants[i]), CaptureError,
              "the function reads another tensor than when it was captured, for %{}",
              now.constant_values[i].number);
  }
  PEL_CHECK(again.gradients == captured.gradients, CaptureError,
            "the function reads, sets or clears gradients of other leaves than when it was captured");
}

std::shared_ptr<const CompiledFunction::Ready> CompiledFunction::find(ArrayView<Tensor> inputs) {
  const std::shared_lock lock(mutex_);
  for (auto ready = ready_.rbegin(); ready != ready_.rend(); ++ready)
    if (has_signature(inputs, (*ready)->signature) && (*ready)->graph->gradients.fit(inputs) &&
        ((*ready)->of_gradients.empty() ||
         has_signature((*ready)->graph->gradients.read(inputs), (*ready)->of_gradients)))
      return *ready;
  return nullptr;
}

bool CompiledFunction::has_modes_of(const CompiledGraph& captured) const {
  std::int64_t other = captured.modes ^ call_modes();
  const auto has_gradient = [](const InputClass& input) { return input.gradient != InputGradient::None; };
  // Constants of a file require no gradient: if no input does, there is nothing to record.
  if (!f_ && std::ranges::none_of(captured.guards.inputs, has_gradient)) other &= ~kGradientMode;
  return other == 0;
}

void CompiledFunction::refuse(ArrayView<Tensor> inputs, ArrayView<std::string> reasons) const {
  std::vector<std::string> given;
  for (const Tensor& input : inputs) given.push_back(describe(input));
  std::string text = fmt::format("{} has no graph for ({})", file_, fmt::join(given, ", "));
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const Graph& graph = graphs_[i]->graph;
    text += fmt::format("\n  graph {}: {}", i + 1, reasons[i]);
    text += fmt::format("\n    takes {}", inputs_text(graph));
    for (const SizeGuard& guard : graph.sizes->guards())
      text +=
          fmt::format("\n    {}{}{}", words_of(graph, guard), guard.source.empty() ? "" : ": ", guard.source);
  }
  throw ValueError(text);
}

std::shared_ptr<const CompiledFunction::Ready> CompiledFunction::make(ArrayView<Tensor> inputs) {
  static const bool logs = log_wants("recompiles");
  const std::lock_guard making(making_);
  if (auto found = find(inputs)) return found;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    PEL_CHECK(inputs[i].defined() && inputs[i].has_data(), CaptureError, "input {} has no data", i);
  std::shared_ptr<const CompiledGraph> serving;
  std::optional<std::vector<std::int64_t>> symbols;
  std::vector<std::string> reasons;  // why each graph does not serve
  const bool asks_why = logs || !f_;
  const auto match = [&](const CompiledGraph& captured, std::string* why) {
    std::optional<std::vector<std::int64_t>> none;
    if (inputs.size() > captured.guards.inputs.size()) {
      if (why != nullptr)
        *why = fmt::format("{} inputs, captured with {}", inputs.size(), captured.guards.inputs.size());
      return none;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (captured.guards.inputs[i].gradient != gradient_kind(inputs[i])) {
        if (why != nullptr)
          *why = fmt::format("input {} {}, unlike at capture", i, gradient_words(gradient_kind(inputs[i])));
        return none;
      }
    return captured.gradients.fit(inputs, why)
               ? captured.guards.match(captured.graph, captured.gradients.after(inputs), why)
               : none;
  };
  for (const auto& captured : graphs()) {
    std::string& reason = reasons.emplace_back();
    if (!has_modes_of(*captured)) {
      reason = kOtherModes;
    } else if ((symbols = match(*captured, asks_why ? &reason : nullptr))) {
      serving = captured;
      break;
    }
    log_recompile(reason);
  }
  const bool is_new = serving == nullptr;
  if (is_new && !f_) refuse(inputs, reasons);
  if (is_new) {
    std::string reason;
    serving = compile_captured([&] { return capture(f_, inputs); }, replays_, options_);
    symbols = match(*serving, &reason);
    if (!symbols) throw InternalError("a graph does not fit the call that it was captured from: " + reason);
  }
  auto ready = std::make_shared<Ready>();
  ready->graph = serving;
  ready->signature = signature_of(inputs);
  const std::vector<Tensor> gradients = serving->gradients.read(inputs);
  if (!gradients.empty()) ready->of_gradients = signature_of(gradients);
  ready->plan = std::make_shared<Plan>(serving->graph, serving->loops, *symbols, serving->weights.get());
  const std::lock_guard lock(mutex_);
  if (is_new) graphs_.push_back(serving);
  if (ready_.size() == kMaxPlans) ready_.erase(ready_.begin());
  ready_.push_back(ready);
  return ready;
}

std::shared_ptr<const CompiledFunction::Ready> CompiledFunction::ready_for(ArrayView<Tensor> inputs) {
  std::shared_ptr<const Ready> ready = find(inputs);
  return ready != nullptr ? ready : make(inputs);
}

std::shared_ptr<const Plan> CompiledFunction::plan_for(ArrayView<Tensor> inputs) {
  return ready_for(inputs)->plan;
}
std::shared_ptr<const CompiledGraph> CompiledFunction::graph_for(ArrayView<Tensor> inputs) {
  return ready_for(inputs)->graph;
}

std::vector<Tensor> CompiledFunction::operator()(ArrayView<Tensor> inputs) {
  if (is_capturing()) {
    PEL_CHECK(f_, CaptureError, "{} is a compiled function, which another one cannot call", file_);
    return f_(inputs);
  }
  const std::shared_ptr<const Ready> ready = ready_for(inputs);
  if (replays_ == Replays::Verified) check_again(*ready->graph, inputs);
  const LeafGradients& gradients = ready->graph->gradients;
  if (gradients.list.empty()) return ready->plan->run(inputs);
  const std::vector<Tensor> given = gradients.after(inputs);
  gradients.release(inputs);
  std::vector<Tensor> outputs = ready->plan->run(given);
  gradients.store(inputs, outputs);
  return outputs;
}

}  // namespace pel::compiler
