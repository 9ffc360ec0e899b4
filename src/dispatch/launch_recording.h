// Launches of op bodies whose operands have no data, recorded to be run later: how a plan learns its kernels
// and runs them without ops.
#pragma once

#include <optional>
#include <vector>

#include "pellucid/explain.h"
#include "pellucid/extend/op.h"

#include "device/ordered_device.h"

namespace pel {

struct RecordedLaunch {
  const Op* op = nullptr;
  const Kernel* kernel = nullptr;  // null: the outputs are empty
  std::vector<Tensor> outputs, inputs;
  std::vector<PelScalar> numbers;
  std::optional<Computation> computation;
};

// Records this thread's launches whose operands have no data, while in scope.
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

// Fills the operand for a tensor, which must outlive it.
void fill_operand_of(Operand& operand, const Tensor& tensor);
PelScalar number_argument(const Scalar& number);
// Explains the choice of the kernel for these operands; see explain_choice.
KernelChoice explain_launch(const Op& op, ArrayView<TensorRef> outputs, ArrayView<TensorRef> inputs,
                            ArrayView<Scalar> scalars, Measure measure);

// Runs a kernel that was chosen before. It is counted and recorded like any other, for the line `site`.
void launch_planned(const char* op_name, const Site& site, const Kernel& kernel, Stream& stream,
                    KernelArgs& args);

// The same on an asynchronous device: queues the kernel, which must live until it has ended. `args` are those
// of the launch.
void queue_planned(const DeviceLaunch& launch, OrderedDevice& device, KernelArgs& args,
                   ArrayView<BlockUse> uses);

// While in scope, and if there is a profile, planned kernels are recorded inside one op, pellucid::compiled.
class PlannedLaunches {
 public:
  PlannedLaunches(const Site& site, ArrayView<Tensor> inputs);

 private:
  detail::ArgRef inputs_;
  std::optional<detail::OpSpan> span_;
};

}  // namespace pel
