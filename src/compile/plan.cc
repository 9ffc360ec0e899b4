#include "compile/plan.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "pellucid/profile.h"

#include "base/check.h"
#include "base/readable.h"
#include "base/small_vector.h"
#include "choice/choice.h"
#include "compile/arena.h"
#include "compile/effects.h"
#include "compile/fake_run.h"
#include "compile/row_calls.h"
#include "dispatch/op_table.h"
#include "dispatch/rows.h"
#include "profile/kernel_span.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

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

// Why a kernel was taken from the list of an op, without asking what tuning would measure.
std::string reason_for(const Op& op, const Kernel& taken, KernelArgs args,
                       const std::optional<Computation>& computation) {
  std::string refusals;
  std::size_t candidates = 0;
  for (const Kernel& kernel : op.kernels(DeviceType::Cpu)) {
    if (!is_candidate(kernel, computation)) continue;
    ++candidates;
    args.context = kernel.context;
    if (const Support support = takes(kernel, args); !support)
      refusals += fmt::format("; {} does not: {}", kernel.name, support.reason());
  }
  args.context = taken.context;
  if (taken.predict != nullptr)
    return fmt::format("the least predicted time, {}{}", readable_ns(taken.predict(args)), refusals);
  return candidates == 1 ? "the only one of its kind" : "the first that takes the call" + refusals;
}

// As the profiler has it.
std::string full_name(const Kernel& kernel, const KernelArgs& args) {
  return kernel.describe == nullptr ? kernel.name : kernel.describe(args);
}

// Outputs that a kernel may write where it reads them.
std::uint64_t overwrites(const RecordedLaunch& launch) {
  if (!launch.computation) return 0;
  if (launch.op->pointwise() != nullptr) return kAnyOutput;
  const Rows* rows = launch.op->rows();
  return rows == nullptr ? 0 : overwrites(rows->programs[launch.computation->formula].outputs);
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
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
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
                  .overwrites = overwrites(launch),
                  .node = n,
                  .op = launch.op,
                  .computation = launch.computation},
                 launch.outputs, launch.inputs, launch.numbers);
      }
      continue;
    }
    if (node.folds_rows()) {
      for (const RecordedLaunch& launch : launches)
        kept_.insert(kept_.end(), launch.outputs.begin(), launch.outputs.end());
      const RowOperands rows = row_operands(node, launches, run);
      const bool gives =
          std::ranges::any_of(rows.outputs, [](const Tensor& t) { return t.numel().value() != 0; });
      if (gives)
        add_step(
            {.kernel = loops.kernels[loop - 1], .op_name = interned(node.name), .site = node.site, .node = n},
            rows.outputs, rows.inputs, rows.numbers);
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
                .op_name = interned(node.name),
                .site = node.site,
                .overwrites = loops.overwrites[loop - 1],
                .node = n},
               outputs, inputs, numbers);
  }
  for (const ValueId id : graph.outputs) add_output(run[id]);
  for (const Tensor& constant : constants_) held_memory_.insert(constant.header()->storage);
  for (const std::uint32_t written : written_constants_)
    written_memory_.insert(constants_[written].header()->storage);
  lay_out();
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
  if (step.kernel.scratch_bytes != nullptr) add_scratch(step);
  steps_.push_back(step);
}

// Operands where they lie, as far as that is known before a run.
std::vector<Operand> Plan::known_operands(const Step& step) const {
  // Only places within one storage are compared: as if all others began here.
  constexpr std::int64_t kBegin = 1 << 20;
  std::vector<Operand> operands;
  for (std::size_t i = step.operand; i < step.operand + step.outputs + std::size_t{step.inputs}; ++i) {
    const Buffer& buffer = buffers_[places_[i].buffer];
    auto* base = reinterpret_cast<std::byte*>(kBegin);
    if (buffer.home == Buffer::Home::Constant)
      base = static_cast<std::byte*>(constants_[buffer.number].raw_data());
    if (buffer.home == Buffer::Home::Number) base = static_cast<std::byte*>(buffer.data);
    operands.push_back(operands_[i]);
    operands.back().data = base + places_[i].offset;
  }
  return operands;
}

// What a kernel would take for itself while it runs has its place in the arena.
void Plan::add_scratch(Step& step) {
  const std::vector<Operand> operands = known_operands(step);
  KernelArgs args = arguments_of(step, operands.data(), numbers_.data());
  args.context = step.kernel.context;
  const auto bytes = static_cast<std::int64_t>(step.kernel.scratch_bytes(args));
  if (bytes == 0) return;
  step.scratch = static_cast<std::uint32_t>(buffers_.size());
  buffers_.push_back({.bytes = bytes, .first = steps_.size(), .last = steps_.size()});
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

// A result that begins early, in the place of what becomes it, is no room for what comes before it: both ways
// are tried where that could matter. Where results are too small to be room for much, what is large stands
// alone and goes when it is read last, as without a plan.
void Plan::lay_out() {
  // To take memory within a run costs time: it must save one part in 20, where results are one in 8 at least.
  constexpr std::int64_t kLeastGain = 20, kLeastResults = 8;
  const std::vector<Buffer> buffers = buffers_;
  const std::vector<Place> places = places_;
  const std::vector<Output> outputs = outputs_;
  struct Layout {
    std::vector<Buffer> buffers;
    std::vector<Place> places;
    std::vector<Output> outputs;
    std::int64_t arena_bytes = 0, peak_bytes = 0;
  };
  const auto laid_out = [&](InResults in_results, Large large) {
    buffers_ = buffers, places_ = places, outputs_ = outputs;
    write_in_place(in_results);
    plan_arena(large);
    plan_takes();
    return Layout{buffers_, places_, outputs_, arena_bytes_, peak_bytes()};
  };
  Layout best = laid_out(InResults::Yes, Large::InArena);
  if (best.arena_bytes != 0 && result_bytes() != 0) {
    Layout later = laid_out(InResults::No, Large::InArena);
    if (later.peak_bytes < best.peak_bytes) best = std::move(later);
  }
  if (best.arena_bytes != 0 && result_bytes() > best.peak_bytes / kLeastResults) {
    Layout alone = laid_out(InResults::Yes, Large::Alone);
    if (best.peak_bytes - alone.peak_bytes > best.peak_bytes / kLeastGain) best = std::move(alone);
  }
  buffers_ = std::move(best.buffers), places_ = std::move(best.places), outputs_ = std::move(best.outputs);
  arena_bytes_ = best.arena_bytes;
  plan_takes();
}

// A loop over elements writes over what it reads where nothing reads that later.
void Plan::write_in_place(InResults in_results) {
  std::vector<std::uint32_t> root(buffers_.size());
  for (std::uint32_t i = 0; i < root.size(); ++i) root[i] = i;
  const auto find = [&](std::uint32_t buffer) {
    while (root[buffer] != buffer) buffer = root[buffer];
    return buffer;
  };
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    const std::size_t inputs = step.operand + step.outputs, end = inputs + step.inputs;
    constexpr std::size_t kMostOverwritten = 64;  // a bit each; optimisers have more outputs
    for (std::size_t o = step.operand; o < inputs; ++o) {
      if (o - step.operand >= kMostOverwritten || (step.overwrites >> (o - step.operand) & 1) == 0) continue;
      const std::uint32_t written = places_[o].buffer;
      const bool may_move = buffers_[written].home == Buffer::Home::Arena ||
                            (buffers_[written].home == Buffer::Home::Result && in_results == InResults::Yes);
      const bool begins = buffers_[written].first == s && may_move;
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

// A result's memory is free until it is written; what is not needed longer may lie there.
void Plan::plan_arena(Large large) {
  constexpr std::int64_t kLeastAlone = 64 << 10;
  std::vector<ArenaPiece> pieces;
  std::vector<ArenaHost> hosts;
  std::vector<std::uint32_t> piece_buffers, host_buffers;
  for (std::uint32_t i = 0; i < buffers_.size(); ++i) {
    Buffer& buffer = buffers_[i];
    if (buffer.home == Buffer::Home::Arena && buffer.bytes != 0) {
      buffer.is_alone = large == Large::Alone && buffer.bytes >= kLeastAlone;
      if (buffer.is_alone) continue;
      pieces.push_back({.bytes = buffer.bytes, .first = buffer.first, .last = buffer.last});
      piece_buffers.push_back(i);
    }
    if (buffer.home == Buffer::Home::Result && large == Large::InArena) {
      hosts.push_back({buffer.bytes, buffer.first});
      host_buffers.push_back(i);
    }
  }
  arena_bytes_ = place_pieces(pieces, hosts);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Buffer& buffer = buffers_[piece_buffers[i]];
    buffer.offset = pieces[i].offset;
    if (pieces[i].host) buffer.host = host_buffers[*pieces[i].host];
  }
}

// A result is taken when it, or what lies there before it, is written.
void Plan::plan_takes() {
  takes_.clear();
  gives_.clear();
  hosted_.clear();
  std::vector<std::vector<std::uint32_t>> inside(buffers_.size());
  for (std::uint32_t i = 0; i < buffers_.size(); ++i)
    if (buffers_[i].host) inside[*buffers_[i].host].push_back(i);
  for (std::uint32_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    if (buffer.home != Buffer::Home::Result && !buffer.is_alone) continue;
    Take& take = takes_.emplace_back(std::min(buffer.first, steps_.size()), i);
    take.first_hosted = static_cast<std::uint32_t>(hosted_.size());
    take.hosted = static_cast<std::uint32_t>(inside[i].size());
    for (const std::uint32_t other : inside[i]) {
      take.step = std::min(take.step, buffers_[other].first);
      hosted_.push_back(other);
    }
  }
  std::ranges::sort(takes_, {}, [](const Take& take) { return std::pair(take.step, take.buffer); });
  for (std::size_t i = 0; i < takes_.size(); ++i)
    if (const Buffer& buffer = buffers_[takes_[i].buffer]; buffer.is_alone)
      gives_.push_back({buffer.last, i});
  std::ranges::sort(gives_, {}, [](const Give& give) { return std::pair(give.step, give.take); });
}

std::int64_t Plan::result_bytes() const {
  std::int64_t total = 0;
  for (const Buffer& buffer : buffers_)
    if (buffer.home == Buffer::Home::Result) total += buffer.bytes;
  return total;
}

std::int64_t Plan::live_bytes() const {
  std::vector<ArenaPiece> pieces;
  for (const Buffer& buffer : buffers_) {
    if (buffer.home == Buffer::Home::Arena && !buffer.host && !buffer.is_alone)
      pieces.push_back({.bytes = buffer.bytes, .first = buffer.first, .last = buffer.last});
  }
  return most_in_use(pieces);
}

std::int64_t Plan::peak_bytes() const {
  const auto counted = [&](const Buffer& buffer) {
    if (buffer.is_alone) return counted_bytes(buffer.bytes, 1);
    const Tensor& like = outputs_[buffer.number].like;
    const bool is_whole = end_of(like) == buffer.bytes && like.storage_offset().value() == 0;
    return counted_bytes(buffer.bytes, is_whole ? static_cast<std::size_t>(like.dim()) : 1);
  };
  std::int64_t now = counted_bytes(arena_bytes_, 1), most = now;
  auto give = gives_.begin();
  for (const Take& take : takes_) {
    for (; give != gives_.end() && give->step < take.step; ++give)
      now -= counted(buffers_[takes_[give->take].buffer]);
    most = std::max(most, now += counted(buffers_[take.buffer]));
  }
  return most;
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
          operands,
          numbers + step.number,
          step.numbers,
          0,
          nullptr,
          0,
          nullptr};
}

Tensor Plan::take(const Buffer& buffer) const {
  if (buffer.is_alone) return make_dense({buffer.bytes}, kU8, kCpu);
  // What the output does not show of its storage, views of it may.
  const Tensor& like = outputs_[buffer.number].like;
  if (end_of(like) != buffer.bytes || like.storage_offset().value() != 0) {
    const Tensor whole = make_dense({buffer.bytes / size_bytes(like.dtype())}, like.dtype(), like.device());
    return make_view(whole, like.sizes(), like.strides(), like.storage_offset());
  }
  return like.header()->is_row_major
             ? make_dense(like.sizes(), like.dtype(), like.device())
             : make_strided(like.sizes(), like.strides(), like.dtype(), like.device());
}

std::vector<Tensor> Plan::run(ArrayView<Tensor> inputs) const {
  for (const std::uint32_t input : written_inputs_)
    PEL_CHECK(!inputs[input].is_read_only(), AliasError,
              "input {}, {}, is written to and in read-only memory; give a clone", input,
              describe(inputs[input]));
  // What the function holds and writes to is in no input: a graph does not know that they are one.
  for (std::size_t i = 0; i < inputs.size() && !written_constants_.empty(); ++i)
    PEL_CHECK(!written_memory_.contains(inputs[i].header()->storage), AliasError,
              "input {}, {}, is memory that the function holds and writes to; give a clone", i,
              describe(inputs[i]));
  for (const std::uint32_t input : written_inputs_)
    PEL_CHECK(!held_memory_.contains(inputs[input].header()->storage), AliasError,
              "input {}, {}, is written to, and memory that the function holds; give a clone", input,
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
        break;  // in the arena; those in results have to wait for them
      case Buffer::Home::Constant:
        bases[i] = static_cast<std::byte*>(constants_[buffer.number].raw_data());
        break;
      case Buffer::Home::Number:
        bases[i] = static_cast<std::byte*>(buffer.data);
        break;
      case Buffer::Home::Result:
        break;  // when it is written
    }
  }

  SmallVector<Operand, 32> operands(operands_.size());
  std::vector<Tensor> taken(takes_.size());
  std::size_t next_take = 0, next_give = 0;
  const auto take_for = [&](std::size_t step) {
    for (; next_take < takes_.size() && takes_[next_take].step == step; ++next_take) {
      const Take& wanted = takes_[next_take];
      const Buffer& buffer = buffers_[wanted.buffer];
      Tensor& made = buffer.is_alone ? taken[next_take] : outputs[buffer.number];
      made = take(buffer);
      bases[wanted.buffer] = made.header()->storage->data;
      for (std::uint32_t i = wanted.first_hosted; i < wanted.first_hosted + wanted.hosted; ++i)
        bases[hosted_[i]] = bases[wanted.buffer] + buffers_[hosted_[i]].offset;
    }
  };
  {
    const PlannedLaunches launches(steps_.empty() ? Site{} : steps_.back().site, inputs);
    Stream stream(kCpu);
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      take_for(s);
      for (std::size_t i = step.operand, end = i + step.outputs + step.inputs; i < end; ++i) {
        operands[i] = operands_[i];
        operands[i].data = bases[places_[i].buffer] + places_[i].offset;
      }
      KernelArgs args = arguments_of(step, operands.data() + step.operand, numbers);
      if (step.scratch) {
        args.scratch = bases[*step.scratch];
        args.scratch_bytes = static_cast<std::uint64_t>(buffers_[*step.scratch].bytes);
      }
      launch_planned(step.op_name, step.site, step.kernel, stream, args);
      for (; next_give < gives_.size() && gives_[next_give].step == s; ++next_give)
        taken[gives_[next_give].take] = Tensor();
    }
    take_for(steps_.size());
  }
  for (const std::uint32_t input : written_inputs_) bump_version(inputs[input]);
  for (const std::uint32_t constant : written_constants_) bump_version(constants_[constant]);
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
  return outputs;
}

std::vector<std::string> Plan::kernels() const {
  std::vector<std::string> names;
  for (const Step& step : steps_) {
    KernelArgs args = arguments_of(step, operands_.data() + step.operand, numbers_.data());
    args.context = step.kernel.context;
    names.push_back(full_name(step.kernel, args));
  }
  return names;
}

std::vector<PlannedKernel> Plan::planned_kernels() const {
  std::vector<PlannedKernel> kernels;
  for (const Step& step : steps_) {
    const std::vector<Operand> operands = known_operands(step);
    KernelArgs args = arguments_of(step, operands.data(), numbers_.data());
    args.context = step.kernel.context;
    PlannedKernel& made = kernels.emplace_back();
    made.name = full_name(step.kernel, args);
    made.node = step.node;
    made.is_whole_node = step.op == nullptr;
    profile::add_bytes(args, made.bytes_read, made.bytes_written);
    made.reason = step.op == nullptr ? "compiled for this graph"
                                     : reason_for(*step.op, step.kernel, args, step.computation);
  }
  return kernels;
}

std::string Plan::text() const {
  std::string lines;
  const auto place = [&](std::size_t operand) {
    const Buffer& buffer = buffers_[places_[operand].buffer];
    switch (buffer.home) {
      case Buffer::Home::Input:
        return fmt::format("input {}", buffer.number);
      case Buffer::Home::Arena:
        if (buffer.is_alone) return fmt::format("alone {}", places_[operand].buffer);
        return buffer.host ? fmt::format("result {} at {}", buffers_[*buffer.host].number,
                                         buffer.offset + places_[operand].offset)
                           : fmt::format("arena {}", buffer.offset + places_[operand].offset);
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
