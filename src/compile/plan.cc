#include "compile/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/small_vector.h"
#include "compile/effects.h"
#include "compile/fake_run.h"
#include "compile/loops.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

constexpr std::int64_t kAlignment = 64;

// Bytes from the beginning of its storage to the end of its last element.
std::int64_t end_of(const Tensor& t) {
  std::int64_t last = t.storage_offset().value();
  for (std::size_t axis = 0; axis < t.sizes().size(); ++axis) {
    const std::int64_t size = t.sizes()[axis].value();
    if (size == 0) return 0;
    last += (size - 1) * t.strides()[axis].value();
  }
  return (last + 1) * size_bytes(t.dtype());
}

}  // namespace

Plan::Plan(const Graph& graph, const CompiledLoops& loops, const std::vector<std::int64_t>& symbols)
    : constants_(graph.constants) {
  FakeRun run(graph, symbols);
  const auto add_base = [&](const Tensor& stand_in, Buffer::Home home, std::size_t number) {
    const auto [known, is_new] = buffer_numbers_.emplace(stand_in.header()->storage, buffers_.size());
    if (is_new) buffers_.push_back({.home = home, .number = static_cast<std::uint32_t>(number)});
    bases_.push_back(stand_in);
  };
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    add_base(run[graph.inputs[i]], Buffer::Home::Input, i);
  for (std::size_t i = 0; i < graph.constants.size(); ++i)
    add_base(run[graph.constant_values[i]], Buffer::Home::Constant, i);
  std::size_t loop = 0;
  for (const GraphNode& node : graph.nodes) {
    if (draws_random(node))
      draws_.push_back({&node, run.arguments(node), static_cast<std::uint32_t>(numbers_.size())});
    const std::vector<RecordedLaunch> launches = run.call(node);
    if (node.op == &op<"as_strided">() && !std::holds_alternative<std::monostate>(node.args[3])) {
      const Buffer& buffer = buffers_[buffer_of(run[std::get<ValueId>(node.args[0])])];
      if (buffer.home == Buffer::Home::Input) inputs_from_storage_.push_back(buffer.number);
    }
    const bool is_loop = node.is_fused() && loop_parts(launches) == loops.parts[loop];
    loop += node.is_fused();
    if (!is_loop) {  // kernels as the calls have them
      for (const RecordedLaunch& launch : launches) {
        for (const auto* list : {&launch.outputs, &launch.inputs})
          kept_.insert(kept_.end(), list->begin(), list->end());
        if (launch.kernel == nullptr) continue;
        add_step({.kernel = *launch.kernel,
                  .op_name = zero_ended_name(*launch.op),
                  .site = node.site,
                  .is_loop = launch.op->pointwise() != nullptr && launch.computation.has_value()},
                 launch.outputs, launch.inputs, launch.numbers);
      }
      continue;
    }
    std::vector<PelScalar> numbers;
    for (const RecordedLaunch& launch : launches) {
      kept_.insert(kept_.end(), launch.outputs.begin(), launch.outputs.end());
      const std::vector<PelScalar> own = loop_numbers(launch);
      numbers.insert(numbers.end(), own.begin(), own.end());
    }
    std::vector<Tensor> outputs, inputs;
    for (const GraphArg& result : node.results) outputs.push_back(run[std::get<ValueId>(result)]);
    for (const GraphArg& arg : node.args) inputs.push_back(run[std::get<ValueId>(arg)]);
    if (outputs[0].numel().value() != 0)
      add_step({.kernel = loops.kernels[loop - 1],
                .op_name = node.name.c_str(),
                .site = node.site,
                .is_loop = true},
               outputs, inputs, numbers);
  }
  for (const ValueId id : graph.outputs) add_output(run[id]);
  write_in_place();
  plan_arena();
  buffer_numbers_.clear();
  bases_.clear();
}

std::uint32_t Plan::buffer_of(const Tensor& tensor) {
  const auto [known, is_new] =
      buffer_numbers_.emplace(tensor.header()->storage, static_cast<std::uint32_t>(buffers_.size()));
  if (is_new) {
    Buffer& made = buffers_.emplace_back();
    made.first = steps_.size();
    if (tensor.has_data()) {
      made.home = Buffer::Home::Number;
      made.data = tensor.header()->storage->data;
    }
  }
  Buffer& buffer = buffers_[known->second];
  buffer.bytes = std::max(buffer.bytes, end_of(tensor));
  buffer.last = steps_.size();
  return known->second;
}

void Plan::add_step(Step step, ArrayView<Tensor> outputs, ArrayView<Tensor> inputs,
                    const std::vector<PelScalar>& numbers) {
  step.operand = static_cast<std::uint32_t>(operands_.size());
  step.outputs = static_cast<std::uint16_t>(outputs.size());
  step.inputs = static_cast<std::uint16_t>(inputs.size());
  step.number = static_cast<std::uint32_t>(numbers_.size());
  step.numbers = static_cast<std::uint32_t>(numbers.size());
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  const auto add = [&](const Tensor& t) {
    kept_.push_back(t);
    const std::uint32_t buffer = buffer_of(t);
    fill_operand_of(operands_.emplace_back(), t);
    places_.push_back({buffer, t.storage_offset().value() * size_bytes(t.dtype())});
    return buffer;
  };
  for (const Tensor& t : outputs) {
    const Buffer& buffer = buffers_[add(t)];
    if (buffer.home == Buffer::Home::Input) written_inputs_.push_back(buffer.number);
    if (buffer.home == Buffer::Home::Constant) written_constants_.push_back(buffer.number);
  }
  for (const Tensor& t : inputs) add(t);
  steps_.push_back(step);
}

void Plan::add_output(const Tensor& like) {
  Output output;
  output.like = like;
  output.buffer = buffer_of(like);
  Buffer& buffer = buffers_[output.buffer];
  // A version of an input is the input.
  output.is_base = std::ranges::any_of(bases_, [&](const Tensor& base) { return base.is_same(like); });
  if (buffer.home == Buffer::Home::Arena) {
    buffer.home = Buffer::Home::Result;
    buffer.number = static_cast<std::uint32_t>(outputs_.size());
  }
  const auto same = std::ranges::find_if(outputs_, [&](const Output& o) { return o.like.is_same(like); });
  output.same_as = static_cast<std::size_t>(same - outputs_.begin());
  outputs_.push_back(std::move(output));
}

// Whether two operands address the same places of their buffers, element by element.
bool Plan::same_place(std::size_t operand, std::size_t other) const {
  const Operand &a = operands_[operand], &b = operands_[other];
  return places_[operand].offset == places_[other].offset && a.rank == b.rank &&
         size_bytes(static_cast<DType>(a.dtype)) == size_bytes(static_cast<DType>(b.dtype)) &&
         std::equal(a.sizes, a.sizes + a.rank, b.sizes) &&
         std::equal(a.strides, a.strides + a.rank, b.strides);
}

// A loop over elements writes over what it reads where nothing reads that later.
void Plan::write_in_place() {
  std::vector<std::uint32_t> root(buffers_.size());
  for (std::uint32_t i = 0; i < root.size(); ++i) root[i] = i;
  const auto find = [&](std::uint32_t buffer) {
    while (root[buffer] != buffer) buffer = root[buffer];
    return buffer;
  };
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    const std::size_t inputs = step.operand + step.outputs, end = inputs + step.inputs;
    for (std::size_t o = step.operand; step.is_loop && o < inputs; ++o) {
      const std::uint32_t written = places_[o].buffer;
      const bool begins = buffers_[written].first == s && (buffers_[written].home == Buffer::Home::Arena ||
                                                           buffers_[written].home == Buffer::Home::Result);
      for (std::size_t i = inputs; begins && root[written] == written && i < end; ++i) {
        const std::uint32_t read = find(places_[i].buffer);
        Buffer& source = buffers_[read];
        if (source.home != Buffer::Home::Arena || source.last != s || read == written ||
            source.bytes != buffers_[written].bytes || !same_place(o, i))
          continue;
        // Another output in this memory, or an input that is read at other places.
        bool is_taken = false;
        for (std::size_t k = step.operand; k < end; ++k) {
          const bool is_there = k != o && find(places_[k].buffer) == read;
          is_taken = is_taken || (is_there && (k < inputs || !same_place(o, k)));
        }
        if (is_taken) continue;
        source.home = buffers_[written].home;
        source.number = buffers_[written].number;
        source.last = buffers_[written].last;
        root[written] = read;
      }
    }
  }
  for (Place& place : places_) place.buffer = find(place.buffer);
  for (Output& output : outputs_) output.buffer = find(output.buffer);
  for (std::uint32_t i = 0; i < root.size(); ++i)
    if (root[i] != i) buffers_[i] = {};  // nothing lies there
}

void Plan::plan_arena() {
  std::vector<Buffer*> arena;
  for (Buffer& buffer : buffers_)
    if (buffer.home == Buffer::Home::Arena) arena.push_back(&buffer);
  std::sort(arena.begin(), arena.end(), [](const Buffer* a, const Buffer* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->first < b->first;
  });
  // The largest first, each at the lowest place that is free while it is used.
  std::vector<const Buffer*> placed;
  for (Buffer* buffer : arena) {
    std::vector<const Buffer*> beside;
    for (const Buffer* other : placed)
      if (other->first <= buffer->last && buffer->first <= other->last) beside.push_back(other);
    std::sort(beside.begin(), beside.end(),
              [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; });
    std::int64_t offset = 0;
    for (const Buffer* other : beside) {
      if (offset + buffer->bytes <= other->offset) break;
      const std::int64_t end = other->offset + other->bytes;
      offset = std::max(offset, (end + kAlignment - 1) / kAlignment * kAlignment);
    }
    buffer->offset = offset;
    arena_bytes_ = std::max(arena_bytes_, offset + buffer->bytes);
    placed.push_back(buffer);
  }
}

void Plan::draw(std::vector<PelScalar>& numbers) const {
  const NewDataScope without_data(NewData::None);
  const KeyScope captured({}, KeySet(Key::Autograd) | Key::Autocast | Key::Profile);
  LaunchRecording recording;
  for (const Draw& draw : draws_) {
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

KernelArgs Plan::arguments_of(const Step& step, const Operand* operands, const PelScalar* numbers) {
  return {PEL_KERNEL_ARGS_VERSION,
          step.outputs,
          step.inputs,
          operands + step.operand,
          numbers + step.number,
          step.numbers,
          0,
          nullptr,
          0,
          nullptr};
}

std::vector<Tensor> Plan::run(ArrayView<Tensor> inputs) const {
  for (const std::uint32_t input : written_inputs_)
    PEL_CHECK(!inputs[input].is_read_only(), AliasError,
              "input {}, {}, is written to and in read-only memory; give a clone", input,
              describe(inputs[input]));
  // A plan knows an input from its first element on.
  for (const std::uint32_t input : inputs_from_storage_)
    PEL_CHECK(
        inputs[input].storage_offset() == 0, ValueError,
        "as_strided is given an offset into the storage of input {}, {}, which begins at {} of it; leave "
        "the offset out, or give a clone",
        input, describe(inputs[input]), to_string(inputs[input].storage_offset()));
  std::vector<PelScalar> drawn;
  if (!draws_.empty()) {
    drawn = numbers_;
    draw(drawn);
  }
  const PelScalar* const numbers = draws_.empty() ? numbers_.data() : drawn.data();

  Tensor arena;
  if (arena_bytes_ != 0) arena = make_dense({arena_bytes_}, kU8, kCpu);
  std::vector<Tensor> outputs(outputs_.size());
  SmallVector<std::byte*, 32> bases(buffers_.size());
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    switch (buffer.home) {
      case Buffer::Home::Input:
        bases[i] = static_cast<std::byte*>(inputs[buffer.number].raw_data());
        break;
      case Buffer::Home::Arena:
        bases[i] = arena.defined() ? static_cast<std::byte*>(arena.raw_data()) + buffer.offset : nullptr;
        break;
      case Buffer::Home::Constant:
        bases[i] = static_cast<std::byte*>(constants_[buffer.number].raw_data());
        break;
      case Buffer::Home::Number:
        bases[i] = static_cast<std::byte*>(buffer.data);
        break;
      case Buffer::Home::Result: {
        // What the output does not show of its storage, views of it may.
        const Tensor& like = outputs_[buffer.number].like;
        Tensor& made = outputs[buffer.number];
        if (end_of(like) == buffer.bytes && like.storage_offset().value() == 0) {
          made = like.header()->is_row_major
                     ? make_dense(like.sizes(), like.dtype(), like.device())
                     : make_strided(like.sizes(), like.strides(), like.dtype(), like.device());
        } else {
          const Tensor whole =
              make_dense({buffer.bytes / size_bytes(like.dtype())}, like.dtype(), like.device());
          made = make_view(whole, like.sizes(), like.strides(), like.storage_offset());
        }
        bases[i] = made.header()->storage->data;
        break;
      }
    }
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    const Buffer& buffer = buffers_[output.buffer];
    if (outputs[i].defined()) continue;
    if (output.same_as != i) {
      outputs[i] = outputs[output.same_as];
      continue;
    }
    const bool is_made = buffer.home == Buffer::Home::Result;
    const Tensor& base = is_made                              ? outputs[buffer.number]
                         : buffer.home == Buffer::Home::Input ? inputs[buffer.number]
                                                              : constants_[buffer.number];
    if (output.is_base) {
      outputs[i] = base;
      continue;
    }
    PEL_CHECK(base.dtype() == output.like.dtype(), InternalError, "views of one memory have one dtype");
    const Dim begin = is_made ? Dim(0) : base.storage_offset();
    outputs[i] =
        make_view(base, output.like.sizes(), output.like.strides(), begin + output.like.storage_offset());
  }

  SmallVector<Operand, 32> operands(operands_.size());
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    operands[i] = operands_[i];
    operands[i].data = bases[places_[i].buffer] + places_[i].offset;
  }
  const PlannedLaunches launches(steps_.empty() ? Site{} : steps_.back().site, inputs);
  Stream stream(kCpu);
  for (const Step& step : steps_) {
    KernelArgs args = arguments_of(step, operands.data(), numbers);
    launch_planned(step.op_name, step.site, step.kernel, stream, args);
  }
  for (const std::uint32_t input : written_inputs_) bump_version(inputs[input]);
  for (const std::uint32_t constant : written_constants_) bump_version(constants_[constant]);
  return outputs;
}

std::vector<std::string> Plan::kernels() const {
  std::vector<std::string> names;
  for (const Step& step : steps_) {
    KernelArgs args = arguments_of(step, operands_.data(), numbers_.data());
    args.context = step.kernel.context;
    names.push_back(step.kernel.describe == nullptr ? step.kernel.name : step.kernel.describe(args));
  }
  return names;
}

std::string Plan::text() const {
  std::string lines;
  const auto place = [&](std::size_t operand) {
    const Buffer& buffer = buffers_[places_[operand].buffer];
    switch (buffer.home) {
      case Buffer::Home::Input:
        return fmt::format("input {}", buffer.number);
      case Buffer::Home::Arena:
        return fmt::format("arena {}", buffer.offset + places_[operand].offset);
      case Buffer::Home::Result:
        return fmt::format("result {}", buffer.number);
      case Buffer::Home::Constant:
        return fmt::format("constant {}", buffer.number);
      case Buffer::Home::Number:
        return std::string("number");
    }
    return std::string();
  };
  for (const Step& step : steps_) {
    lines += step.kernel.name;
    for (std::size_t i = 0; i < std::size_t{step.outputs} + step.inputs; ++i)
      lines += fmt::format("{}{}",
                           i == 0              ? "  "
                           : i == step.outputs ? " <- "
                                               : ", ",
                           place(step.operand + i));
    lines += '\n';
  }
  return lines + fmt::format("arena of {} bytes\n", arena_bytes_);
}

}  // namespace pel::compiler
