// From an op's operands to a kernel: the checks, the choice from the list, the launch.
#include <array>

#include "pellucid/op.h"

#include "base/check.h"
#include "base/small_vector.h"
#include "dispatch/call_log.h"
#include "profile/recorder.h"
#include "tensor/make.h"
#include "tensor/overlap.h"

namespace pel {
namespace {

constexpr std::size_t kInlineOperands = 8;

Operand operand_of(const Tensor& t) {
  static_assert(sizeof(Dim) == sizeof(std::int64_t));  // plain Dims are int64 in memory
  Operand o{};
  o.data = t.raw_data();
  o.sizes = reinterpret_cast<const std::int64_t*>(t.sizes().data());
  o.strides = reinterpret_cast<const std::int64_t*>(t.strides().data());
  o.rank = static_cast<std::int32_t>(t.dim());
  o.dtype = static_cast<std::uint8_t>(t.dtype());
  return o;
}

PelScalar scalar_of(const Scalar& s) {
  return {s.to_double(), s.to_int(), static_cast<std::uint8_t>(s.kind()), {}};
}

std::string dtype_names(DTypeSet set) {
  std::string text;
  for (int d = 0; d < kDTypeCount; ++d) {
    if (set.contains(static_cast<DType>(d)))
      text += fmt::format("{}{}", text.empty() ? "" : ", ", name(static_cast<DType>(d)));
  }
  return text;
}

void check_operand(const Op& op, const Tensor& t, Device device) {
  PEL_CHECK(t.device() == device, DeviceError, "operands are on {} and {}; move them to one device first",
            to_string(device), to_string(t.device()));
  PEL_CHECK(op.dtypes().contains(t.dtype()), DTypeError, "{} is not taken: {} is {}; the op takes {}",
            name(t.dtype()), "a tensor argument", describe(t), dtype_names(op.dtypes()));
}

std::uint64_t bytes_addressed(const Operand& o) {
  std::int64_t count = 1;
  for (int i = 0; i < o.rank; ++i) {
    if (o.strides[i] != 0 || o.sizes[i] == 0) count *= o.sizes[i];
  }
  return static_cast<std::uint64_t>(count * size_bytes(static_cast<DType>(o.dtype)));
}

[[gnu::cold, gnu::noinline]] void run_recorded(const Op& op, const Kernel& kernel, Stream& stream,
                                               const KernelArgs& args) {
  Event event{};
  event.kind = Event::Kind::Kernel;
  event.device = stream.device();
  event.name = kernel.name;
  event.op = op.name().data();
  for (int i = 0; i < args.output_count; ++i) event.bytes_written += bytes_addressed(output(args, i));
  for (int i = 0; i < args.input_count; ++i) event.bytes_read += bytes_addressed(input(args, i));
  event.begin_ns = profile::now_ns();
  kernel.run(stream, args);
  event.end_ns = profile::now_ns();
  profile::record(event);
}

[[noreturn, gnu::cold, gnu::noinline]] void throw_no_kernel(const Op& op, Device device,
                                                            const KernelArgs& args) {
  std::string reasons;
  for (const Kernel& kernel : op.kernels(device.type)) {
    reasons +=
        fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", kernel.name, kernel.supports(args).reason());
  }
  if (reasons.empty()) reasons = "its list is empty";
  throw NoKernelError(fmt::format("no kernel on {} takes this call ({})", to_string(device), reasons));
}

}  // namespace

void launch(const Op& op, ArrayView<TensorRef> outputs, ArrayView<TensorRef> inputs,
            ArrayView<Scalar> scalars) {
  PEL_ASSERT(!outputs.empty(), "a kernel writes something");
  const Device device = outputs[0].tensor->device();
  SmallVector<Operand, kInlineOperands> operands;
  bool has_data = true, writes_something = false;
  for (const TensorRef& out : outputs) {
    const Tensor& t = *out.tensor;
    check_operand(op, t, device);
    PEL_CHECK(!t.is_read_only(), AliasError, "the output {} is in read-only memory; write to a clone",
              describe(t));
    has_data = has_data && t.has_data();
    writes_something = writes_something || (has_data && t.numel() != 0);
    operands.push_back(operand_of(t));
  }
  for (const TensorRef& in : inputs) {
    check_operand(op, *in.tensor, device);
    has_data = has_data && in.tensor->has_data();
    operands.push_back(operand_of(*in.tensor));
  }
  if (!has_data) return;  // meta device or symbolic sizes: the shape rule was all there is to do

  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PEL_CHECK(!overlaps_itself(operands[i]), AliasError,
              "the output {} with strides {} holds one element at several indices; write to a clone",
              describe(*outputs[i].tensor), to_string(outputs[i].tensor->strides()));
    for (std::size_t j = i + 1; j < operands.size(); ++j) {
      const Overlap shared = overlap(operands[i], operands[j]);
      PEL_CHECK(shared == Overlap::None || (shared == Overlap::Same && j >= outputs.size()), AliasError,
                "the output {} partly overlaps another operand, {}, in memory; clone one of them",
                describe(*outputs[i].tensor),
                describe(j < outputs.size() ? *outputs[j].tensor : *inputs[j - outputs.size()].tensor));
    }
  }
  if (!writes_something) return;

  SmallVector<PelScalar, kInlineOperands> numbers;
  for (const Scalar& s : scalars) numbers.push_back(scalar_of(s));
  KernelArgs args{};
  args.version = PEL_KERNEL_ARGS_VERSION;
  args.output_count = static_cast<std::uint16_t>(outputs.size());
  args.input_count = static_cast<std::uint16_t>(inputs.size());
  args.operands = operands.data();
  args.scalars = numbers.data();
  args.scalar_count = static_cast<std::uint32_t>(numbers.size());

  Stream stream(device);
  for (const Kernel& kernel : op.kernels(device.type)) {
    if (const Support support = kernel.supports(args); !support) {
      CallLog::refusal(kernel.name, support.reason());
      continue;
    }
    CallLog::kernel(kernel.name);
    profile::count_launch();
    if (profile::is_recording()) [[unlikely]]
      return run_recorded(op, kernel, stream, args);
    return kernel.run(stream, args);
  }
  throw_no_kernel(op, device, args);
}

}  // namespace pel
