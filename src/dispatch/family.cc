// The family that an op's kernels belong to.
#include <algorithm>

#include "pellucid/expect.h"

#include "dispatch/record.h"

namespace pel {
namespace {

// Kernels of one op count operations on every device or on none.
bool counts_flops(const Op& op) {
  for (int device = 0; device < kDeviceTypeCount; ++device) {
    const KernelList kernels = op.kernels(static_cast<DeviceType>(device));
    if (!kernels.empty()) return kernels[0].flops != nullptr;
  }
  return false;
}

}  // namespace

std::string_view family(const Op& op) {
  if (op.kind() == OpKind::Metadata) return "view";
  if (op.kind() == OpKind::Composite) return "composite";
  if (op.pointwise() != nullptr) return "pointwise";
  if (op.rows() != nullptr) return "reduction";
  if (counts_flops(op)) {
    if (op.name().find("convolution") != std::string_view::npos) return "convolution";
    return op.name().find("attention") != std::string_view::npos ? "attention" : "gemm";
  }
  const auto& args = op.record().schema.args;
  if (std::ranges::any_of(args, [](const SchemaArg& arg) { return arg.name == "seed"; })) return "random";
  for (const std::string_view copy : {"copy_", "clone", "to_copy", "contiguous"})
    if (op.name() == copy) return "copy";
  return "other";
}

}  // namespace pel
