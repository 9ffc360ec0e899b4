#include "compile/compiled_function.h"

#include <sstream>

#include <fmt/format.h>

#include "base/check.h"
#include "base/environment.h"
#include "compile/pipeline.h"
#include "compile/replay.h"

namespace pel::compile {

std::vector<std::shared_ptr<const CompiledGraph>> CompiledFunction::graphs() const {
  const std::lock_guard lock(mutex_);
  return graphs_;
}
std::size_t CompiledFunction::captures() const { return graphs().size(); }

void CompiledFunction::check_again(const CompiledGraph& captured, ArrayView<Tensor> inputs) const {
  const Graph now = capture(f_, inputs).graph;
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
}

std::vector<Tensor> CompiledFunction::operator()(ArrayView<Tensor> inputs) {
  static const bool logs = log_wants("recompiles");
  const auto known = graphs();
  std::string reason;
  for (const auto& captured : known) {
    if (const auto symbols = captured->guards.match(captured->graph, inputs, logs ? &reason : nullptr)) {
      if (replays_ == Replays::Verified) check_again(*captured, inputs);
      return replay(captured->graph, inputs, *symbols);
    }
    if (logs) log_line("recompiles", reason);
  }
  Captured as_called = capture(f_, inputs);
  auto made = std::make_shared<CompiledGraph>();
  made->guards = std::move(as_called.guards);
  if (replays_ == Replays::Verified) made->as_captured = to_string(as_called.graph);
  made->graph = run_passes(std::move(as_called.graph), made->why);
  const std::shared_ptr<const CompiledGraph> captured = std::move(made);
  if (logs) log_line("recompiles", fmt::format("captured:\n{}", to_string(captured->graph)));
  {
    const std::lock_guard lock(mutex_);
    graphs_.push_back(captured);
  }
  const auto symbols = captured->guards.match(captured->graph, inputs, &reason);
  if (!symbols) throw InternalError("a graph does not fit the call that it was captured from: " + reason);
  return replay(captured->graph, inputs, *symbols);
}

}  // namespace pel::compile
