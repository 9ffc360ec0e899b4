// A run of a plan: checks of inputs, random numbers, then for each step its allocations, its kernel and what
// is freed after it; at last views of the results.
#include <optional>

#include "base/check.h"
#include "base/small_vector.h"
#include "compile/plan.h"
#include "device/registry.h"
#include "dispatch/launch_recording.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

// Adds the path and the line of a captured call to errors of `f`.
template <class F>
void in_call(const UserCall& call, F&& f) {
  try {
    f();
  } catch (Error& error) {
    error.leave_call(call.path, call);
    throw;
  }
}

// A run that an asynchronous device may take as one command.
class DeviceRun {
 public:
  DeviceRun(OrderedDevice& device, PlanReplay& replay) : device_(device), run_{&replay, 0, false} {
    device_.begin_run(run_);
  }
  ~DeviceRun() {
    if (!has_ended_) device_.abandon_run(run_);
  }
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;
  ReplayRun* run() { return &run_; }
  void end() {
    has_ended_ = true;
    device_.end_run(run_);
  }

 private:
  OrderedDevice& device_;
  ReplayRun run_;
  bool has_ended_ = false;
};

}  // namespace

std::vector<Tensor> Plan::run(ArrayView<Tensor> inputs, const AfterLastUse& after_last_use) const {
  check_inputs(inputs);
  if (!weights_.empty()) packed_weights_->before_run(weights_in_call(inputs));
  std::vector<PelScalar> drawn;
  if (!plan_.draws.empty()) {
    drawn = plan_.numbers;
    draw(drawn);
  }
  std::vector<Tensor> outputs(plan_.outputs.size());
  std::size_t step = kBeforeSteps;
  std::optional<StepLoops::Watch> watch;
  // Kernels of an asynchronous device do not run on this thread.
  if (loops_.are_unknown() && queued_ == nullptr) [[unlikely]]
    watch.emplace(loops_, step);
  try {
    run_steps(drawn.empty() ? plan_.numbers.data() : drawn.data(), inputs, outputs, step, after_last_use);
  } catch (Error& error) {
    if (const UserCall* const call = call_of(step)) error.leave_call(call->path, *call);
    throw;
  }
  if (watch) [[unlikely]] {
    watch->publish();
    watch.reset();
  }
  add_views(inputs, outputs);
  return outputs;
}

void Plan::check_inputs(ArrayView<Tensor> inputs) const {
  for (const auto& [step, number, call, output] : plan_.written_inputs) {
    in_call(*call, [&] {
      PEL_CHECK(!inputs[number].is_read_only(), AliasError,
                "the output {} is in read-only memory; write to a clone", output);
      // A graph does not know that memory of the function and of an input is the same.
      PEL_CHECK(!held_memory_.contains(inputs[number].header()->storage), AliasError,
                "input {}, {}, is written to, and memory that the function holds; pass a clone", number,
                describe(inputs[number]));
    });
  }
  for (std::size_t i = 0; i < inputs.size() && !plan_.written_constants.empty(); ++i)
    PEL_CHECK(!written_memory_.contains(inputs[i].header()->storage), AliasError,
              "input {}, {}, is memory that the function holds and writes to; pass a clone", i,
              describe(inputs[i]));
  // A plan knows an input from its first element on.
  for (const auto& [number, call] : plan_.inputs_from_storage) {
    in_call(*call, [&] {
      PEL_CHECK(
          inputs[number].storage_offset() == 0, ValueError,
          "the offset is into the storage of input {}, {}, which begins at {} of it; omit the offset, or "
          "pass a clone",
          number, describe(inputs[number]), to_string(inputs[number].storage_offset()));
    });
  }
}

// The call that an error at a step is about. An arena that does not fit into memory is about the call with
// the largest value in it.
const UserCall* Plan::call_of(std::size_t step) const {
  if (step != kBeforeSteps) return step < plan_.steps.size() ? plan_.steps[step].call : nullptr;
  const PlanBuffer* largest = nullptr;
  for (const PlanBuffer& buffer : plan_.buffers) {
    if (buffer.home == PlanBuffer::Home::Temporary && (largest == nullptr || buffer.bytes > largest->bytes))
      largest = &buffer;
  }
  return largest == nullptr || largest->first >= plan_.steps.size() ? nullptr
                                                                    : plan_.steps[largest->first].call;
}

void Plan::draw(std::vector<PelScalar>& numbers) const {
  const NewDataScope without_data(NewData::None);
  const KeyScope captured({}, KeySet(Key::Autograd) | Key::Autocast | Key::Profile);
  LaunchRecording recording;
  for (const RandomDraw& draw : plan_.draws) {
    call_boxed(*draw.node->op, draw.args, draw.node->site);
    std::size_t next = draw.number;
    for (const RecordedLaunch& launch : recording.take()) {
      if (launch.kernel == nullptr) continue;
      std::copy(launch.numbers.begin(), launch.numbers.end(),
                numbers.begin() + static_cast<std::ptrdiff_t>(next));
      next += launch.numbers.size();
    }
  }
}

Tensor Plan::allocate(std::uint32_t buffer) const {
  const std::int64_t bytes = layout_.slots[buffer].buffer.bytes;
  if (layout_.slots[buffer].is_alone) return make_dense({bytes}, kU8, plan_.device);
  const PlanOutput& output = plan_.outputs[plan_.buffers[buffer].number];
  const Tensor& like = output.like;
  if (!output.is_whole) {
    const Tensor whole = make_dense({bytes / size_bytes(like.dtype())}, like.dtype(), like.device());
    return make_view(whole, like.sizes(), like.strides(), like.storage_offset());
  }
  return like.header()->is_row_major
             ? make_dense(like.sizes(), like.dtype(), like.device())
             : make_strided(like.sizes(), like.strides(), like.dtype(), like.device());
}

// The blocks of memory that is there before the first step.
void Plan::find_blocks(ArrayView<Tensor> inputs, const Tensor& arena,
                       SmallVector<DeviceBlock*, 32>& blocks) const {
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan_.buffers[i];
    const Tensor* memory = nullptr;
    if (buffer.home == PlanBuffer::Home::Input) memory = &inputs[buffer.number];
    if (buffer.home == PlanBuffer::Home::Constant) memory = &plan_.constants[buffer.number];
    if (buffer.home == PlanBuffer::Home::Temporary && arena.defined()) memory = &arena;
    if (memory != nullptr) blocks[i] = block_of(*memory->header()->storage);
  }
}

void Plan::queue_step(std::size_t number, KernelArgs& args, OrderedDevice& device,
                      ArrayView<DeviceBlock*> blocks, ReplayRun* run) const {
  const PlanStep& step = plan_.steps[number];
  SmallVector<BlockUse, 8> uses;
  const auto use = [&](std::uint32_t buffer, Access access) {
    // Without a block are numbers, and tensors without elements.
    if (blocks[buffer] != nullptr) uses.push_back({blocks[buffer], access});
  };
  for (std::size_t i = 0; i < std::size_t{step.outputs} + step.inputs; ++i)
    use(plan_.locations[step.operand + i].buffer, i < step.outputs ? Access::Write : Access::Read);
  if (step.scratch) use(*step.scratch, Access::Write);
  queue_planned(
      {&queued_->kernels[number], &args, step.op_name, step.site, queued_->prepared_at(number), run}, device,
      args, {uses.data(), uses.size()});
}

void Plan::run_steps(const PelScalar* numbers, ArrayView<Tensor> inputs, std::vector<Tensor>& outputs,
                     std::size_t& step_under_way, const AfterLastUse& after_last_use) const {
  Tensor arena;
  if (layout_.arena_bytes != 0) arena = make_dense({layout_.arena_bytes}, kU8, plan_.device);
  OrderedDevice* const device = queued_ == nullptr ? nullptr : &device_of(plan_.device);
  SmallVector<std::byte*, 32> bases(plan_.buffers.size());
  // Of the memory of buffers, on an asynchronous device.
  SmallVector<DeviceBlock*, 32> blocks(device == nullptr ? 0 : plan_.buffers.size());
  if (device != nullptr) [[unlikely]]
    find_blocks(inputs, arena, blocks);
  const auto note_block = [&](std::size_t buffer, const Tensor& memory) {
    if (device != nullptr) [[unlikely]]
      blocks[buffer] = block_of(*memory.header()->storage);
  };
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan_.buffers[i];
    switch (buffer.home) {
      case PlanBuffer::Home::Input:
        bases[i] = static_cast<std::byte*>(inputs[buffer.number].raw_data());
        break;
      case PlanBuffer::Home::Temporary:  // in the arena; those in results have to wait for them
        bases[i] =
            arena.defined() ? static_cast<std::byte*>(arena.raw_data()) + layout_.slots[i].offset : nullptr;
        break;
      case PlanBuffer::Home::Constant:
        bases[i] = static_cast<std::byte*>(plan_.constants[buffer.number].raw_data());
        break;
      case PlanBuffer::Home::Number:
        bases[i] = static_cast<std::byte*>(buffer.data);
        break;
      case PlanBuffer::Home::Result:
        break;  // when it is allocated
    }
  }

  SmallVector<Operand, 32> operands(plan_.operands.size());
  std::vector<Tensor> alone(layout_.has_alone() ? layout_.allocations.size() : 0);
  std::size_t next_allocation = 0, next_free = 0, next_last_use = after_last_use ? 0 : last_uses_.size();
  const auto allocate_for = [&](std::size_t step) {
    for (; next_allocation < layout_.allocations.size() && layout_.allocations[next_allocation].step == step;
         ++next_allocation) {
      const MemoryLayout::Allocation& wanted = layout_.allocations[next_allocation];
      Tensor& tensor = layout_.slots[wanted.buffer].is_alone ? alone[next_allocation]
                                                             : outputs[plan_.buffers[wanted.buffer].number];
      tensor = allocate(wanted.buffer);
      bases[wanted.buffer] = tensor.header()->storage->data;
      note_block(wanted.buffer, tensor);
      for (std::uint32_t i = wanted.first_hosted; i < wanted.first_hosted + wanted.hosted_count; ++i) {
        bases[layout_.hosted[i]] = bases[wanted.buffer] + layout_.slots[layout_.hosted[i]].offset;
        note_block(layout_.hosted[i], tensor);
      }
    }
  };
  // Before a step writes: packed forms of what it writes to are not current from then on.
  auto next_written = plan_.written_inputs.begin();
  auto next_constant = plan_.written_constants.begin();
  const auto bump_written = [&](std::size_t step) {
    for (; next_written != plan_.written_inputs.end() && next_written->step == step; ++next_written)
      bump_version(inputs[next_written->number]);
    for (; next_constant != plan_.written_constants.end() && next_constant->step == step; ++next_constant)
      bump_version(plan_.constants[next_constant->number]);
  };
  const PlannedLaunches launches(plan_.steps.empty() ? Site{} : plan_.steps.back().site, inputs);
  Stream stream(plan_.device);
  std::optional<DeviceRun> device_run;
  if (device != nullptr && queued_->replay) [[unlikely]]
    device_run.emplace(*device, *queued_->replay);
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const PlanStep& step = plan_.steps[s];
    step_under_way = s;
    allocate_for(s);
    bump_written(s);
    for (std::size_t i = step.operand, end = i + step.outputs + step.inputs; i < end; ++i) {
      operands[i] = plan_.operands[i];
      operands[i].data = bases[plan_.locations[i].buffer] + plan_.locations[i].offset;
    }
    KernelArgs args = PlanSteps::arguments_of(step, operands.data() + step.operand, numbers);
    if (step.scratch) {
      args.scratch = bases[*step.scratch];
      args.scratch_bytes = static_cast<std::uint64_t>(plan_.buffers[*step.scratch].bytes);
    }
    if (device == nullptr) [[likely]] {
      std::optional<detail::DeviceCall> line;  // for errors of other ranks
      if (step.op != nullptr && step.op->communicates()) [[unlikely]]
        line.emplace(step.site);
      launch_planned(step.op_name, step.site, step.kernel, stream, args);
    } else
      queue_step(s, args, *device, {blocks.data(), blocks.size()}, device_run ? device_run->run() : nullptr);
    for (; next_free < layout_.frees.size() && layout_.frees[next_free].step == s; ++next_free)
      alone[layout_.frees[next_free].allocation] = Tensor();
    for (; next_last_use < last_uses_.size() && last_uses_[next_last_use].step == s; ++next_last_use)
      after_last_use(last_uses_[next_last_use].input);
  }
  step_under_way = plan_.steps.size();
  allocate_for(plan_.steps.size());
  if (device_run) [[unlikely]]
    device_run->end();
}

// Outputs that no step allocates.
void Plan::add_views(ArrayView<Tensor> inputs, std::vector<Tensor>& outputs) const {
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const PlanOutput& output = plan_.outputs[i];
    const PlanBuffer& buffer = plan_.buffers[output.buffer];
    if (outputs[i].defined()) continue;
    if (output.same_as != i) {
      outputs[i] = outputs[output.same_as];
      continue;
    }
    const bool is_result = buffer.home == PlanBuffer::Home::Result;
    const Tensor& base = is_result                                ? outputs[buffer.number]
                         : buffer.home == PlanBuffer::Home::Input ? inputs[buffer.number]
                                                                  : plan_.constants[buffer.number];
    if (output.is_base) {
      outputs[i] = base;
      continue;
    }
    PEL_CHECK(base.dtype() == output.like.dtype(), InternalError, "views of one memory have one dtype");
    const Dim begin = is_result ? Dim(0) : base.storage_offset();
    outputs[i] =
        make_view(base, output.like.sizes(), output.like.strides(), begin + output.like.storage_offset());
  }
}

}  // namespace pel::compiler
