// What bodies of ops would launch if their operands had data, and launching it later: how a plan learns its
// kernels, and runs them without ops.
#pragma once

#include <optional>
#include <vector>

#include "pellucid/extend/op.h"

namespace pel {

struct RecordedLaunch {
  const Op* op = nullptr;
  const Kernel* kernel = nullptr;  // null: nothing is written
  std::vector<Tensor> outputs, inputs;
  std::vector<PelScalar> numbers;
  std::optional<Computation> computation;
};

// While in scope, on this thread: launches whose operands have no data are kept.
class LaunchRecording {
 public:
  LaunchRecording();
  ~LaunchRecording();
  LaunchRecording(const LaunchRecording&) = delete;
  LaunchRecording& operator=(const LaunchRecording&) = delete;

  std::vector<RecordedLaunch> take() { return std::exchange(launches_, {}); }

 private:
  std::vector<RecordedLaunch> launches_;
  std::vector<RecordedLaunch>* outer_;
};

inline const char* zero_ended_name(const Op& op) { return op.name().data(); }  // as names of ops are

// As a kernel sees a tensor, which lives at least as long.
void fill_operand_of(Operand& operand, const Tensor& tensor);
PelScalar number_argument(const Scalar& number);
// What a kernel reads and writes, as the profiler counts it: elements that repeat count once.
void fill_bytes(const KernelArgs& args, std::uint64_t& read, std::uint64_t& written);

// Runs a kernel that was chosen before, counted and recorded like any other, for the line `site`.
void launch_planned(const char* op_name, const Site& site, const Kernel& kernel, Stream& stream,
                    KernelArgs& args);

// While in scope, and if there is a profile, planned kernels are recorded inside one op, pellucid::compiled.
class PlannedLaunches {
 public:
  PlannedLaunches(const Site& site, ArrayView<Tensor> inputs);

 private:
  detail::ArgRef inputs_;
  std::optional<detail::OpSpan> span_;
};

}  // namespace pel
