// From an op's operands to a kernel: the checks, the choice from the list, the launch.
#include <algorithm>

#include "pellucid/extend/op.h"

#include "base/check.h"
#include "base/environment.h"
#include "base/small_vector.h"
#include "choice/choice.h"
#include "choice/tuning.h"
#include "device/registry.h"
#include "device/sync.h"
#include "device/unallocated_memory.h"
#include "dispatch/call_log.h"
#include "dispatch/host_copies.h"
#include "dispatch/launch_recording.h"
#include "packing/packing.h"
#include "profile/kernel_span.h"
#include "profile/recorder.h"
#include "tensor/make.h"
#include "tensor/overlap.h"

namespace pel {

using detail::StorageHeader;

namespace {

constexpr std::size_t kInlineOperands = 8;

// Field by field: a whole Operand, built and then copied, waits for its narrow stores to be loaded as wide
// ones.
[[gnu::always_inline]] inline void fill_operand(Operand& o, const Tensor& t) {
  static_assert(sizeof(Dim) == sizeof(std::int64_t));  // plain Dims are int64 in memory
  const detail::TensorHeader& header = *t.header();
  o.data = t.raw_data();
  o.sizes = reinterpret_cast<const std::int64_t*>(header.sizes());
  o.strides = reinterpret_cast<const std::int64_t*>(header.strides());
  o.rank = header.rank;
  o.dtype = static_cast<std::uint8_t>(header.dtype);
  o.is_row_major = header.is_row_major;
  o.reserved[0] = o.reserved[1] = 0;
}

void fill_number(PelScalar& number, const Scalar& s) {
  number.as_float = s.to_double();
  number.as_int = s.to_int();
  number.kind = static_cast<std::uint8_t>(s.kind());
  std::fill_n(number.reserved, std::size(number.reserved), std::uint8_t{0});
}

// Numbers stay on the CPU in calls on an asynchronous device: their values are copied into the launch. Those
// without data are sizes in a capture.
bool is_host_number(const Tensor& t, Device device) {
  return is_asynchronous(device) && t.header()->is_number && !is_asynchronous(t.device()) &&
         t.device().type != DeviceType::Meta;
}

[[noreturn, gnu::cold, gnu::noinline]] void throw_bad_operand(const Op& op, const Tensor& t, Device device,
                                                              bool is_output) {
  PEL_CHECK(t.device() == device || is_host_number(t, device), DeviceError,
            "operands are on different devices: {} and {}; move them to one device first", to_string(device),
            to_string(t.device()));
  PEL_CHECK(op.dtypes().contains(t.dtype()), DTypeError, "expected operands of dtype {}; one is {}",
            to_string(op.dtypes()), describe(t));
  PEL_ASSERT(is_output && t.is_read_only(), "the caller found one of three faults");
  throw AliasError(fmt::format("the output {} is in read-only memory; write to a clone", describe(t)));
}

// Whether no other view of this memory is alive, as for every new result: then there is nothing to compare it
// with.
bool is_alone(const Tensor& t) {
  return t.header()->is_row_major && t.header()->storage->refs.load(std::memory_order_relaxed) == 1;
}

// Output `i` holds each element once, and shares memory with no other operand, unless it is that operand.
void check_memory(const Op& op, std::size_t i, std::size_t outputs, std::size_t count,
                  const Operand* operands, const Tensor* const* tensors, bool any_external) {
  const Tensor& t = *tensors[i];  // NOLINT(clang-analyzer-core.*): filled up to `count`
  PEL_CHECK(t.header()->is_row_major || op.repeats_writes() || !overlaps_itself(operands[i]), AliasError,
            "the output {} with strides {} holds one element at several indices; write to a clone",
            describe(t), to_string(t.strides()));
  for (std::size_t j = i + 1; j < count; ++j) {
    // Our own storages never overlap; external memory may be anywhere.
    if (!any_external && !t.shares_storage(*tensors[j])) continue;
    const Overlap shared = overlap(operands[i], operands[j]);
    PEL_CHECK(shared == Overlap::None || (shared == Overlap::Same && j >= outputs), AliasError,
              "the output {} partly overlaps another operand, {}, in memory; clone one of them", describe(t),
              describe(*tensors[j]));
  }
}

bool is_empty(const Operand& o) {
  for (int i = 0; i < o.rank; ++i) {
    if (o.sizes[i] == 0) return true;
  }
  return false;
}

[[noreturn, gnu::cold, gnu::noinline]] void throw_no_kernel(Device device, KernelList kernels,
                                                            KernelArgs args,
                                                            const std::optional<Computation>& computation,
                                                            std::string_view advice = "") {
  std::string reasons;
  for (const Kernel& kernel : kernels) {
    if (!is_candidate(kernel, computation)) continue;
    args.context = kernel.context;
    reasons +=
        fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", kernel.name, takes(kernel, args).reason());
  }
  if (reasons.empty()) reasons = "the op has no kernels for this device and dtype";
  throw NoKernelError(
      fmt::format("no kernel on {} takes this call ({}){}", to_string(device), reasons, advice));
}

// Returns the kernel with the shortest predicted time among those from `first` on that take the call, or the
// choice of tuning.
[[gnu::noinline]] const Kernel& chosen_by_time(const Op& op, Device device, const Kernel* first,
                                               KernelArgs args, const std::optional<Computation>& computation,
                                               Tuning* tuning = Tuning::active()) {
  static const bool logs = log_wants("kernels");
  const KernelList list = op.kernels(device.type);
  const Kernel* best = first;
  args.context = first->context;
  double shortest_ns = first->predict(args);
  for (const Kernel* kernel = first + 1; kernel != list.end(); ++kernel) {
    if (!is_candidate(*kernel, computation)) continue;
    args.context = kernel->context;
    if (const Support support = takes(*kernel, args); !support) {
      CallLog::refusal(kernel->name, support.reason());
    } else if (const double ns = kernel->predict(args); ns < shortest_ns) {
      shortest_ns = ns;
      best = kernel;
    }
  }
  if (logs) [[unlikely]]
    log_line("kernels", explain_choice(op, device, args, computation, Measure::No).text());
  return tuning == nullptr ? *best : *tuning->choose(op, device, args, best, computation);
}

[[gnu::always_inline]] inline void run_kernel(const char* op_name, const Kernel& kernel, Stream& stream,
                                              KernelArgs& args) {
  args.context = kernel.context;
  CallLog::kernel(kernel, args);
  profile::count_launch();
  if (profile::is_watched()) [[unlikely]] {
    const bool any_packed = detail::packed_count.load(std::memory_order_relaxed) != 0;
    return profile::run_watched(op_name, kernel, stream, args,
                                any_packed ? profile::Described::ByCall : profile::Described::ByShapes);
  }
  kernel.run(stream, args);
}

constinit thread_local std::vector<RecordedLaunch>* recorded = nullptr;

[[gnu::always_inline]] inline KernelArgs make_args(const Operand* operands, std::size_t outputs,
                                                   std::size_t inputs, const PelScalar* numbers,
                                                   std::size_t scalars) {
  return {PEL_KERNEL_ARGS_VERSION,
          static_cast<std::uint16_t>(outputs),
          static_cast<std::uint16_t>(inputs),
          operands,
          numbers,
          static_cast<std::uint32_t>(scalars),
          0,
          nullptr,
          0,
          nullptr};
}

[[gnu::cold, gnu::noinline]] void record_launch(const Op& op, ArrayView<TensorRef> outputs,
                                                ArrayView<TensorRef> inputs, ArrayView<Scalar> scalars,
                                                const std::optional<Computation>& computation) {
  RecordedLaunch& launch = recorded->emplace_back();
  launch.op = &op;
  launch.computation = computation;
  std::vector<const Tensor*> tensors;
  for (const TensorRef& output : outputs) launch.outputs.push_back(*output.tensor);
  for (const TensorRef& input : inputs) launch.inputs.push_back(*input.tensor);
  for (const Tensor& t : launch.outputs) tensors.push_back(&t);
  for (const Tensor& t : launch.inputs) tensors.push_back(&t);
  for (const Scalar& s : scalars) fill_number(launch.numbers.emplace_back(), s);
  std::vector<Operand> operands(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = *tensors[i];
    fill_operand(operands[i], t);
    if (!t.has_data())
      operands[i].data = unallocated_memory(t.device()) + t.storage_offset().value() * size_bytes(t.dtype());
  }
  bool writes_something = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    check_memory(op, i, outputs.size(), tensors.size(), operands.data(), tensors.data(), false);
    writes_something = writes_something || !is_empty(operands[i]);
  }
  if (!writes_something) return;
  KernelArgs args =
      make_args(operands.data(), outputs.size(), inputs.size(), launch.numbers.data(), launch.numbers.size());
  const Device device = outputs[0].tensor->device(), of_kernels{kernels_of(device), 0};
  for (const Kernel& kernel : op.kernels(of_kernels.type)) {
    if (!is_candidate(kernel, computation)) continue;
    args.context = kernel.context;
    if (!takes(kernel, args)) continue;
    // Without tuning, which would run the kernels; all of them compute the same bits.
    launch.kernel = kernel.predict == nullptr
                        ? &kernel
                        : &chosen_by_time(op, of_kernels, &kernel, args, computation, nullptr);
    return;
  }
  const bool has_fallback = is_asynchronous(device) && has_own_kernels(device_of(device));
  throw_no_kernel(device, op.kernels(of_kernels.type), args, computation,
                  has_fallback ? "; without compile it runs on the CPU, which a compiled function would wait "
                                 "for: call the op outside the function"
                               : "");
}

// Memory for the arguments of a kernel.
struct CallBuffers {
  Operand* operands;
  const Tensor** tensors;
  PelScalar* numbers;
};

// The kernel of a device's list that runs a call on an asynchronous device; null if none takes it, and then
// `reason` says why the last one does not. Without tuning, which would run kernels.
const Kernel* kernel_for_device(const Op& op, DeviceType of_kernels, KernelArgs args,
                                const std::optional<Computation>& computation, const char*& reason) {
  for (const Kernel& kernel : op.kernels(of_kernels)) {
    if (!is_candidate(kernel, computation)) continue;
    args.context = kernel.context;
    if (const Support support = takes(kernel, args); !support) {
      reason = support.reason();
      CallLog::refusal(kernel.name, reason);
      continue;
    }
    return kernel.predict == nullptr
               ? &kernel
               : &chosen_by_time(op, Device{of_kernels, 0}, &kernel, args, computation, nullptr);
  }
  return nullptr;
}

// Runs a call that no kernel of the device takes, on copies of its operands in host memory. Waits.
void run_on_copies(const CallBuffers& buffers, const Op& op, OrderedDevice& on, KernelArgs args,
                   const std::optional<Computation>& computation, const char* reason) {
  const DeviceType type = on.facts().fallback;
  const char* of_last = nullptr;
  const std::size_t count = std::size_t{args.output_count} + args.input_count;
  on.note_fallback(op.name(), profile::thread_state.site, reason);
  HostCopies copies(on, {buffers.tensors, count}, args.output_count, waiting_site());
  std::vector<Operand> operands(buffers.operands, buffers.operands + count);
  for (Operand& operand : operands) operand.data = copies.on_host(operand.data);
  args.operands = operands.data();
  const Kernel* const kernel = kernel_for_device(op, type, args, computation, of_last);
  if (kernel == nullptr) throw_no_kernel(Device{type, 0}, op.kernels(type), args, computation);
  Stream stream{Device{type, 0}};
  run_kernel(zero_ended_name(op), *kernel, stream, args);
  copies.write_back();
}

// As launch_in, for an asynchronous device: numbers may be on the host, and the kernel is queued. Apart from
// it, so that calls on the CPU execute no instruction more.
[[gnu::noinline]] void launch_on_device(const CallBuffers& buffers, const Op& op,
                                        ArrayView<TensorRef> outputs, ArrayView<TensorRef> inputs,
                                        ArrayView<Scalar> scalars,
                                        const std::optional<Computation>& computation) {
  const Device device = outputs[0].tensor->device();
  const std::size_t count = outputs.size() + inputs.size();
  bool has_data = true;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_output = i < outputs.size();
    const Tensor& t = *(is_output ? outputs[i] : inputs[i - outputs.size()]).tensor;
    buffers.tensors[i] = &t;
    if ((t.device() != device && !is_host_number(t, device)) || !op.dtypes().contains(t.dtype()) ||
        (is_output && t.is_read_only())) [[unlikely]]
      throw_bad_operand(op, t, device, is_output);
    has_data = has_data && t.has_data();
    fill_operand(buffers.operands[i], t);
  }
  if (!has_data) {
    if (recorded != nullptr) record_launch(op, outputs, inputs, scalars, computation);
    return;
  }
  bool writes_something = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs.size() > 1 || !is_alone(*outputs[i].tensor))
      check_memory(op, i, outputs.size(), count, buffers.operands, buffers.tensors, false);
    writes_something = writes_something || !is_empty(buffers.operands[i]);
  }
  if (!writes_something) return;
  for (std::size_t i = 0; i < scalars.size(); ++i) fill_number(buffers.numbers[i], scalars[i]);
  KernelArgs args =
      make_args(buffers.operands, outputs.size(), inputs.size(), buffers.numbers, scalars.size());

  OrderedDevice& on = device_of(device);
  const char* reason = "there is no kernel of this op for the device";
  const Kernel* const found = kernel_for_device(op, on.facts().kernels, args, computation, reason);
  if (found == nullptr) [[unlikely]] {
    if (!has_own_kernels(on)) throw_no_kernel(device, op.kernels(on.facts().kernels), args, computation);
    return run_on_copies(buffers, op, on, args, computation, reason);
  }
  const Kernel& kernel = *found;
  args.context = kernel.context;
  CallLog::kernel(kernel, args);
  profile::count_launch();
  SmallVector<BlockUse, kInlineOperands> uses;
  // A device with kernels of its own gets their scratch memory from here: those of the CPU take theirs when
  // they run. Its next owner is ordered after this launch.
  Tensor scratch;
  if (kernel.scratch_bytes != nullptr && has_own_kernels(on)) {
    if (const auto bytes = static_cast<std::int64_t>(kernel.scratch_bytes(args)); bytes > 0) {
      scratch = make_strided({bytes}, {1}, kU8, device);
      args.scratch = scratch.raw_data();
      args.scratch_bytes = static_cast<std::uint64_t>(bytes);
      uses.push_back({block_of(*scratch.header()->storage), Access::Write});
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const StorageHeader& storage = *buffers.tensors[i]->header()->storage;
    if ((storage.flags & StorageHeader::kOnDevice) == 0 || storage.context == nullptr) continue;
    uses.push_back({block_of(storage), i < outputs.size() ? Access::Write : Access::Read});
  }
  const DeviceLaunch launch{&kernel, &args, zero_ended_name(op), profile::thread_state.site};
  on.launch(launch, {uses.data(), uses.size()});
  if (profile::is_watched()) [[unlikely]]
    profile::note_handed_over(launch.op_name, kernel, device, args);
}

[[gnu::always_inline]] inline void launch_in(const CallBuffers& buffers, const Op& op,
                                             ArrayView<TensorRef> outputs, ArrayView<TensorRef> inputs,
                                             ArrayView<Scalar> scalars,
                                             const std::optional<Computation>& computation) {
  PEL_ASSERT(!outputs.empty(), "a kernel writes something");
  const Device device = outputs[0].tensor->device();
  const std::size_t count = outputs.size() + inputs.size();
  Operand* operands = buffers.operands;
  const Tensor** tensors = buffers.tensors;
  PelScalar* numbers = buffers.numbers;
  for (std::size_t i = 0; i < outputs.size(); ++i) tensors[i] = outputs[i].tensor;
  for (std::size_t i = 0; i < inputs.size(); ++i) tensors[outputs.size() + i] = inputs[i].tensor;

  unsigned storage_flags = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& t = *tensors[i];  // NOLINT(clang-analyzer-core.*): filled up to `count`
    const unsigned flags = t.header()->storage->flags;
    const bool is_output = i < outputs.size();
    if (t.device() != device || !op.dtypes().contains(t.dtype()) ||
        (is_output && (flags & StorageHeader::kReadOnly))) [[unlikely]] {
      if (is_asynchronous(device))
        return launch_on_device(buffers, op, outputs, inputs, scalars, computation);
      throw_bad_operand(op, t, device, is_output);
    }
    storage_flags |= flags;
    fill_operand(operands[i], t);
  }
  if (storage_flags & (StorageHeader::kNoData | StorageHeader::kOnDevice)) [[unlikely]] {
    if (is_asynchronous(device)) return launch_on_device(buffers, op, outputs, inputs, scalars, computation);
    // Meta device or symbolic sizes: only the shape rule applies.
    if (recorded != nullptr) record_launch(op, outputs, inputs, scalars, computation);
    return;
  }
  const bool any_external = (storage_flags & StorageHeader::kExternal) != 0;
  bool writes_something = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (any_external || outputs.size() > 1 || !is_alone(*outputs[i].tensor))
      check_memory(op, i, outputs.size(), count, operands, tensors, any_external);
    writes_something = writes_something || !is_empty(operands[i]);
  }
  if (!writes_something) return;

  for (std::size_t i = 0; i < scalars.size(); ++i) fill_number(numbers[i], scalars[i]);
  KernelArgs args = make_args(operands, outputs.size(), inputs.size(), numbers, scalars.size());

  Stream stream(device);
  for (const Kernel& kernel : op.kernels(device.type)) {
    if (!is_candidate(kernel, computation)) continue;
    args.context = kernel.context;
    if (const Support support = takes(kernel, args); !support) {
      CallLog::refusal(kernel.name, support.reason());
      continue;
    }
    if (kernel.predict != nullptr) [[unlikely]]
      return run_kernel(zero_ended_name(op), chosen_by_time(op, device, &kernel, args, computation), stream,
                        args);
    return run_kernel(zero_ended_name(op), kernel, stream, args);
  }
  throw_no_kernel(device, op.kernels(device.type), args, computation);
}

}  // namespace

void launch(const Op& op, ArrayView<TensorRef> outputs, ArrayView<TensorRef> inputs,
            ArrayView<Scalar> scalars, const std::optional<Computation>& computation) {
  const std::size_t count = outputs.size() + inputs.size();
  if (count <= kInlineOperands && scalars.size() <= kInlineOperands) [[likely]] {
    // Uninitialised arrays: only the entries in use are filled.
    Operand operands[kInlineOperands];
    const Tensor* tensors[kInlineOperands];
    PelScalar numbers[kInlineOperands];
    return launch_in({operands, tensors, numbers}, op, outputs, inputs, scalars, computation);
  }
  std::vector<Operand> operands(count);
  std::vector<const Tensor*> tensors(count);
  std::vector<PelScalar> numbers(scalars.size());
  launch_in({operands.data(), tensors.data(), numbers.data()}, op, outputs, inputs, scalars, computation);
}

KernelChoice explain_launch(const Op& op, ArrayView<TensorRef> outputs, ArrayView<TensorRef> inputs,
                            ArrayView<Scalar> scalars, Measure measure) {
  std::vector<Operand> operands(outputs.size() + inputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) fill_operand(operands[i], *outputs[i].tensor);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    fill_operand(operands[outputs.size() + i], *inputs[i].tensor);
  std::vector<PelScalar> numbers(scalars.size());
  for (std::size_t i = 0; i < scalars.size(); ++i) fill_number(numbers[i], scalars[i]);
  const KernelArgs args =
      make_args(operands.data(), outputs.size(), inputs.size(), numbers.data(), numbers.size());
  const Device device = outputs[0].tensor->device();
  // The host cannot run kernels over memory of an asynchronous device.
  return explain_choice(op, {kernels_of(device), 0}, args, std::nullopt,
                        is_asynchronous(device) ? Measure::No : measure);
}

LaunchRecording::LaunchRecording() : outer_(recorded) { recorded = &launches_; }
LaunchRecording::~LaunchRecording() { recorded = outer_; }

void fill_operand_of(Operand& operand, const Tensor& tensor) { fill_operand(operand, tensor); }
PelScalar number_argument(const Scalar& number) {
  PelScalar made;
  fill_number(made, number);
  return made;
}

void launch_planned(const char* op_name, const Site& site, const Kernel& kernel, Stream& stream,
                    KernelArgs& args) {
  if (profile::is_watched()) [[unlikely]] {
    struct Shown {
      explicit Shown(const Site& line) { profile::thread_state.site = line; }
      ~Shown() { profile::thread_state.site = before; }
      Site before = profile::thread_state.site;
    } shown(site);
    return run_kernel(op_name, kernel, stream, args);
  }
  run_kernel(op_name, kernel, stream, args);
}

void queue_planned(const DeviceLaunch& launch, OrderedDevice& device, KernelArgs& args,
                   ArrayView<BlockUse> uses) {
  args.context = launch.kernel->context;
  CallLog::kernel(*launch.kernel, args);
  profile::count_launch();
  device.launch(launch, uses);
  if (profile::is_watched()) [[unlikely]]
    profile::note_handed_over(launch.op_name, *launch.kernel, device.device(), args);
}

namespace {

std::vector<Tensor> never_called(ArrayView<Tensor>) {
  throw InternalError("pellucid::compiled only names plans in traces and cannot be called");
}
// The op that the kernels of a plan belong to in a trace.
const Op& compiled_op() {
  static const Op& op = register_op(
      define_op<never_called>(OpKind::Composite, "pellucid::compiled(Tensor[] inputs) -> Tensor[]"));
  return op;
}

}  // namespace

PlannedLaunches::PlannedLaunches(const Site& site, ArrayView<Tensor> inputs)
    : inputs_{inputs, nullptr, nullptr} {
  if (profile::settings().session() != 0) [[unlikely]]
    span_.emplace(compiled_op(), site, ArrayView<detail::ArgRef>(&inputs_, 1), KeySet());
}

}  // namespace pel
