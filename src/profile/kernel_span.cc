#include "profile/kernel_span.h"

#include <array>
#include <bit>

#include "pellucid/extend/op.h"

#include "base/thread_object.h"
#include "profile/collective_note.h"
#include "profile/deferred_record.h"
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

// What a kernel's record begins with; of one on an asynchronous device also where that is.
struct KernelSpan {
  const char* op_name;
  std::uint64_t begin, end;
  Site site;
  const detail::OpSpan* op;  // null: of another thread
  std::uint64_t op_id;
  std::uint32_t refusals;
  const DeviceSpot* spot = nullptr;
};

// Fills the record at `to`, which has space for kMaxWords, and returns its end.
[[gnu::always_inline]] inline std::uint64_t* fill_kernel(std::uint64_t* const to, const KernelSpan& span,
                                                         const Kernel& kernel, const KernelArgs& args,
                                                         Described described) {
  std::uint64_t* next = to + kWordsOf<KernelRecord>;
  for (std::uint32_t i = 0; i < span.refusals; ++i, next += 2)
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
  const bool has_shapes = o == end_of_operands && settings().wants(Settings::kShapes);
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
  if (span.spot != nullptr) {
    flags |= kHasSpot;
    new (next) DeviceSpot(*span.spot);
    next += sizeof(DeviceSpot) / sizeof(std::uint64_t);
  }
  if (ThreadState& state = thread_state; state.has_collective) [[unlikely]] {
    flags |= kHasCollective;
    new (next) CollectiveNote(thread_object<CollectiveNote>());
    next += kWordsOf<CollectiveNote>;
    state.has_collective = false;
  }
  auto& record = new_record<KernelRecord>(to, next, ProfileEvent::Kind::Kernel);
  if (has_shapes) {
    record.header.shapes = static_cast<std::uint8_t>(args.output_count + args.input_count);
    record.header.outputs = static_cast<std::uint8_t>(args.output_count);
  }
  record.header.refusals = static_cast<std::uint8_t>(span.refusals);
  record.header.flags = flags;
  record.begin = span.begin;
  record.end = span.end;
  record.name = name;
  record.op_name = span.op_name;
  record.site = span.site;
  record.op_id = span.op == nullptr ? span.op_id : span.op->id();
  return next;
}

// `spot` and `op_id`: of a kernel on an asynchronous device, which no op of this thread has launched.
void write_kernel(const char* op_name, const Kernel& kernel, std::uint64_t begin, std::uint64_t end,
                  const KernelArgs& args, Described described, const DeviceSpot* spot = nullptr,
                  std::uint64_t op_id = 0) {
  ThreadState& state = thread_state;
  std::uint64_t* const to = take(settings().session());
  if (to == nullptr) return;
  const detail::OpSpan* const op = state.op_span;
  std::uint64_t* const next = fill_kernel(
      to, {op_name, begin, end, state.site, op, op_id, state.refusal_count, spot}, kernel, args, described);
  if (op != nullptr && op->ends_with_kernel() && takes_arguments(args, *op)) {
    auto& record = *reinterpret_cast<KernelRecord*>(to);
    record.op_begin = op->begin();
    record.header.flags =
        static_cast<std::uint8_t>(record.header.flags | kWithOp | (op->is_outermost() ? kOutermost : 0));
    state.pending = next;
    return;
  }
  commit(next);
}

[[gnu::cold, gnu::noinline]] void add_to_recording(const char* op_name, const Kernel& kernel, Device device,
                                                   const KernelArgs& args, std::uint64_t begin_ns) {
  Event event{};
  event.device = device;
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

void note_handed_over(const char* op_name, const Kernel& kernel, Device device, const KernelArgs& args) {
  if (thread_state.recording != nullptr) add_to_recording(op_name, kernel, device, args, now_ns());
  thread_state.refusal_count = 0;
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
  state.has_collective = false;
  const std::uint64_t begin = ticks();
  kernel.run(stream, args);
  state.kernel_end = ticks();
  if (state.recording != nullptr) add_to_recording(op_name, kernel, stream.device(), args, begin_ns);
  if (settings().session() != 0) write_kernel(op_name, kernel, begin, state.kernel_end, args, described);
  state.refusal_count = 0;
}

void run_on_device(const char* op_name, const Kernel& kernel, Stream& stream, const KernelArgs& args,
                   const LaunchOrigin& origin, const Site& site) {
  ThreadState& state = thread_state;
  const struct Running {
    ThreadState& state;
    ~Running() { state.kernel = nullptr; }
  } running{state};
  state.site = site;
  state.kernel = kernel.name;
  const std::uint64_t begin = ticks();
  kernel.run(stream, args);
  const std::uint64_t end = ticks();
  const Settings now = settings();
  if (now.session() == 0) return;
  const LaunchOrigin known = origin.session == now.session() ? origin : LaunchOrigin{};
  const DeviceSpot spot = spot_of(stream.device(), stream.index(), known);
  write_kernel(op_name, kernel, begin, end, args, Described::ByShapes, &spot, known.op_id);
}

DeferredRecord deferred_kernel(const char* op_name, const Kernel& kernel, Stream stream,
                               const KernelArgs& args, const LaunchOrigin& origin, const Site& site) {
  DeferredRecord made{settings().session(), {}};
  if (made.session == 0) return made;
  const LaunchOrigin known = origin.session == made.session ? origin : LaunchOrigin{};
  const DeviceSpot spot = spot_of(stream.device(), stream.index(), known);
  auto& words = thread_object<std::array<std::uint64_t, kMaxWords>>();
  const std::uint64_t* const end = fill_kernel(
      words.data(), {op_name, 0, 0, site, nullptr, known.op_id, 0, &spot}, kernel, args, Described::ByShapes);
  reinterpret_cast<Header*>(words.data())->depth = 0;
  made.words.assign(static_cast<const std::uint64_t*>(words.data()), end);
  return made;
}

}  // namespace pel::profile
