// The mean cross entropy of logits and classes, and its gradient: one kernel each. The rows are those of
// cross_entropy_rows and its gradient; the rest is of the size of the target.
#include <array>

#include "backends/cpu/kernels.h"
#include "backends/cpu/losses/class_rows.h"
#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"

namespace pel::cpu {
namespace {

// Scalars: the axis of classes, the target that is ignored.
struct Call {
  Call(const KernelArgs& args, const Operand& logits, const Operand& target)
      : rows(logits, args.scalars[0].as_int),
        targets{static_cast<const char*>(target.data), static_cast<DType>(target.dtype), rows.classes(),
                args.scalars[1].as_int},
        bytes_of_values(rows.count() * size_bytes(value_type(rows.dtype()))) {}

  ClassRows rows;
  Targets targets;
  std::int64_t bytes_of_values;
};
std::uint64_t bytes_of_rows(const Call& call, std::int64_t values) {
  return static_cast<std::uint64_t>(values * KernelScratch::rounded(call.bytes_of_values));
}

// Outputs: the mean, and of how many rows it is. Inputs: logits, targets.
Call forward_call(const KernelArgs& args) { return Call(args, input(args, 0), input(args, 1)); }
std::uint64_t forward_scratch(const KernelArgs& args) { return bytes_of_rows(forward_call(args), 3); }
void run_forward(Stream& stream, const KernelArgs& args) {
  const Call call = forward_call(args);
  KernelScratch scratch(args, static_cast<std::int64_t>(bytes_of_rows(call, 3)));
  char* const largest = scratch.take(call.bytes_of_values);
  char* const log_sums = scratch.take(call.bytes_of_values);
  char* const losses = scratch.take(call.bytes_of_values);
  call.rows.to_values(stream, op<"cross_entropy_rows">(), "", {largest, log_sums});
  write_losses(call.rows, call.targets, largest, log_sums, losses);
  write_mean(call.targets, call.rows.count(), losses, output(args, 0), output(args, 1));
}

// Output: the gradient of the logits. Inputs: that of the mean, logits, targets, of how many rows the mean
// is.
Call backward_call(const KernelArgs& args) { return Call(args, input(args, 1), input(args, 2)); }
std::uint64_t backward_scratch(const KernelArgs& args) { return bytes_of_rows(backward_call(args), 1); }
void run_backward(Stream& stream, const KernelArgs& args) {
  const Call call = backward_call(args);
  KernelScratch scratch(args, static_cast<std::int64_t>(bytes_of_rows(call, 1)));
  char* const gradients = scratch.take(call.bytes_of_values);
  write_gradients(call.targets, call.rows.count(), input(args, 0), input(args, 3), gradients);
  call.rows.to_rows(stream, op<"cross_entropy_rows_backward">(), "", output(args, 0), {gradients});
  subtract_at_targets(call.rows, call.targets, gradients, 0, output(args, 0));
}

}  // namespace

KernelLists softmax_cross_entropy_kernels() {
  static const auto kForward = [] {
    Kernel kernel{"cpu_softmax_cross_entropy", supports_any, run_forward};
    kernel.scratch_bytes = forward_scratch;
    return std::to_array<Kernel>({kernel});
  }();
  static const auto kBackward = [] {
    Kernel kernel{"cpu_softmax_cross_entropy_backward", supports_any, run_backward};
    kernel.scratch_bytes = backward_scratch;
    return std::to_array<Kernel>({kernel});
  }();
  static const auto kLists = std::to_array<BackendKernels>(
      {{"native_softmax_cross_entropy", kForward}, {"softmax_cross_entropy_backward", kBackward}});
  return kLists;
}

}  // namespace pel::cpu
