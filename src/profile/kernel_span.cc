#include "profile/kernel_span.h"

#include <array>
#include <bit>

#include "pellucid/extend/op.h"

#include "base/thread_object.h"
#include "profile/recorder.h"

namespace pel::profile {
namespace {

// Describing a call takes a microsecond or more: each thread caches the last descriptions, by the words of
// the shapes and by the numbers.
const char* description_of(const Kernel& kernel, const KernelArgs& args, Described described,
                           const std::uint64_t* shapes, const std::uint64_t* end) {
  if (kernel.describe == nullptr) return kernel.name;
  if (described == Described::ByCall) return interned(kernel.describe(args));
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15u;
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(&kernel);
  // The multiplications do not wait for each other.
  const auto add = [&](std::uint64_t word) { hash = std::rotl(hash, 7) ^ (word * kFactor); };
  for (; shapes != end; ++shapes) add(*shapes);
  for (std::uint32_t i = 0; i < args.scalar_count; ++i)
    add(std::bit_cast<std::uint64_t>(args.scalars[i].as_float));
  hash *= kFactor;
  struct Cached {
    std::uint64_t hash = 0;
    const char* name = nullptr;
  };
  auto& cache = thread_object<std::array<Cached, 256>>();
  Cached& entry = cache[hash >> 56];
  if (entry.hash != hash || entry.name == nullptr) entry = {hash, interned(kernel.describe(args))};
  return entry.name;
}

// Whether the inputs of the kernel are the tensor arguments of the op, one by one.
bool takes_arguments(const KernelArgs& args, const detail::OpSpan& span) {
  const Operand *next = args.operands + args.output_count, *end = next + args.input_count;
  for (const detail::ArgRef& arg : span.args()) {
    for (const Tensor& t : arg.tensors) {
      if (next == end || !t.defined() ||
          next->sizes != reinterpret_cast<const std::int64_t*>(t.header()->sizes()))
        return false;
      ++next;
    }
  }
  return next == end;
}

void write_kernel(const char* op_name, const Kernel& kernel, std::uint64_t begin, std::uint64_t end,
                  const KernelArgs& args, Described described) {
  ThreadState& state = thread_state;
  const Settings now = settings();
  std::uint64_t* const to = take(now.session());
  if (to == nullptr) return;
  const detail::OpSpan* const span = state.op_span;
  std::uint64_t* next = to + kWordsOf<KernelRecord>;
  const std::uint32_t refusals = state.refusal_count;
  for (std::uint32_t i = 0; i < refusals; ++i, next += 2)
    new (next) ProfileEvent::Refusal(thread_object<Refusals>()[i]);
  std::uint64_t* const shapes = next;
  const Operand *o = args.operands, *const end_of_operands = o + args.output_count + args.input_count;
  for (; o != end_of_operands; ++o) {
    const auto rank = static_cast<std::size_t>(o->rank);
    if (!shape_fits(to, next, static_cast<std::size_t>(o - args.operands), rank)) [[unlikely]]
      break;
    next = write_shape(next, o->dtype, o->is_row_major != 0, rank, o->sizes, o->strides);
  }
  const char* const name = description_of(kernel, args, described, shapes, next);
  const bool has_shapes = o == end_of_operands && now.wants(Settings::kShapes);
  std::uint8_t flags = 0;
  if (!has_shapes) [[unlikely]] {  // otherwise the bytes follow from the shapes
    flags |= kHasBytes;
    next = shapes + 2;
    shapes[0] = shapes[1] = 0;
    add_bytes(args, shapes[0], shapes[1]);
  }
  if (kernel.flops != nullptr) {
    flags |= kHasFlops;
    *next++ = kernel.flops(args);
  }
  auto& record = new_record<KernelRecord>(to, next, ProfileEvent::Kind::Kernel);
  if (has_shapes) {
    record.header.shapes = static_cast<std::uint8_t>(args.output_count + args.input_count);
    record.header.outputs = static_cast<std::uint8_t>(args.output_count);
  }
  record.header.refusals = static_cast<std::uint8_t>(refusals);
  record.begin = begin;
  record.end = end;
  record.name = name;
  record.op_name = op_name;
  record.site = state.site;
  record.op_id = span == nullptr ? 0 : span->id();
  if (span != nullptr && span->ends_with_kernel() && takes_arguments(args, *span)) {
    record.op_begin = span->begin();
    record.header.flags =
        static_cast<std::uint8_t>(flags | kWithOp | (span->is_outermost() ? kOutermost : 0));
    state.pending = next;
    return;
  }
  record.header.flags = flags;
  commit(next);
}

[[gnu::cold, gnu::noinline]] void add_to_recording(const char* op_name, const Kernel& kernel, Stream& stream,
                                                   const KernelArgs& args, std::uint64_t begin_ns) {
  Event event{};
  event.device = stream.device();
  event.name = kernel.describe == nullptr ? kernel.name : interned(kernel.describe(args));
  event.op = op_name;
  add_bytes(args, event.bytes_read, event.bytes_written);
  if (kernel.flops != nullptr) event.flops = kernel.flops(args);
  event.begin_ns = begin_ns;
  event.end_ns = now_ns();
  record(event);
}

}  // namespace

std::uint64_t bytes_addressed(const Operand& operand) {
  return elements_addressed(static_cast<std::size_t>(operand.rank), operand.sizes, operand.strides) *
         static_cast<std::uint64_t>(size_bytes(static_cast<DType>(operand.dtype)));
}

void add_bytes(const KernelArgs& args, std::uint64_t& read, std::uint64_t& written) {
  for (int i = 0; i < args.output_count; ++i) written += bytes_addressed(output(args, i));
  for (int i = 0; i < args.input_count; ++i) read += bytes_addressed(input(args, i));
}

void run_watched(const char* op_name, const Kernel& kernel, Stream& stream, const KernelArgs& args,
                 Described described) {
  ThreadState& state = thread_state;
  const std::uint64_t begin_ns = state.recording == nullptr ? 0 : now_ns();
  const struct Running {
    ThreadState& state;
    ~Running() { state.kernel = nullptr; }
  } running{state};
  state.kernel = kernel.name;
  const std::uint64_t begin = ticks();
  kernel.run(stream, args);
  state.kernel_end = ticks();
  if (state.recording != nullptr) add_to_recording(op_name, kernel, stream, args, begin_ns);
  if (settings().session() != 0) write_kernel(op_name, kernel, begin, state.kernel_end, args, described);
  state.refusal_count = 0;
}

}  // namespace pel::profile
