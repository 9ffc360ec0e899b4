// One call, layer by layer: what each layer does, what it costs, and how the cost was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "inspect/subject.h"

namespace pel::inspect {

struct AnatomyOptions {
  std::string op = "linear";
  SubjectSizes sizes;
  int threads = 1;
  int turns = 200;
  double burst_ns = 100'000;  // short, so that few are interrupted
  bool wants_peer = true;
  std::string peer;  // path of the program that times the same call in libtorch; empty: none
  Progress progress;
};

struct Anatomy {
  // Timed: alone, in a loop without profiler. Profiled: by the timestamps around a kernel, minus the cost of
  // two timestamps. Difference: a time measured in a loop, minus the other rows.
  enum class By : std::uint8_t { Timed, Profiled, Difference };
  struct Row {
    std::string op, layer, job;
    By by = By::Timed;
    double ns = 0, grad_ns = 0;  // per call; the rows add up to the total
  };
  struct Kernel {
    std::string name;
    double ns = 0;
    std::uint64_t bytes = 0, flops = 0;
  };
  struct Peer {
    std::string version;  // 2.15.0
    double inference_ns = 0, ns = 0, grad_ns = 0;
  };

  std::string op, arguments;
  int threads = 1;
  double total_ns = 0, total_grad_ns = 0;
  std::vector<Row> rows;
  std::vector<Kernel> kernels;  // of one call
  bool wants_peer = true;
  std::optional<Peer> peer;  // none: not requested, or not available
  // Parts took longer alone than inside the whole, where the processor overlaps them: they were scaled.
  bool is_scaled = false;

  static Anatomy measure(const AnatomyOptions& options);
  double kernel_ns() const;
  std::string text(const Terminal& terminal) const;
  std::string json() const;
};

}  // namespace pel::inspect
