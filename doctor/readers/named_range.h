// Ranges that a program names itself, with NVTX or roctx: ops of PyTorch, steps, or annotations.
#pragma once

#include <string>
#include <string_view>

#include "doctor/readers/trace_event.h"

namespace pel::doctor {

// Sets name, category and sequence number of the event. `scratch` keeps the name if it differs from the text.
//   "aten::add, seq = 12, op_id = 7"   an op, as torch.autograd.profiler.emit_nvtx() writes it
//   "step 3", "iteration_3"            a step
void read_named_range(std::string_view text, TraceEvent& event, std::string& scratch);

}  // namespace pel::doctor
