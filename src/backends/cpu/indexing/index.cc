// gather, scatter, index and index_put. Elements are moved by width, or added and multiplied by dtype.
//
// From inside to outside: a Move (Read, Write, Update) handles one element or one run; move_each and
// stream_each handle runs with one index per element; move_runs iterates over an IndexedWalk, and move_all
// splits it among threads; the run functions at the end build the walk of each op.
#include <array>
#include <cstring>

#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/elementwise/stream_store.h"
#include "backends/cpu/grains.h"
#include "backends/cpu/indexing/indexed_walk.h"
#include "backends/cpu/kernels.h"
#include "base/check.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

// Elements that take 10 µs or more.

template <std::size_t Width>
void copy_steps(char* to, const char* from, std::int64_t count, std::int64_t to_step,
                std::int64_t from_step) {
  if (to_step == Width && from_step == Width) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * Width);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, Width);
}

// Moves: the operation between an element of the plain operand and its target in the indexed one.
template <std::size_t Width>
struct Read {
  static constexpr Divide kDivide = Divide::AnyAxis;
  static constexpr std::size_t kWidth = Width;
  static constexpr bool kStreams = false;
  static void one(char* plain, char* target) { std::memcpy(plain, target, Width); }
  static void run(char* plain, char* target, const WalkAxis& axis) {
    copy_steps<Width>(plain, target, axis.size, axis.plain_step, axis.indexed_step);
  }
};
// The same with non-temporal stores, if runs of the plain operand are dense.
template <std::size_t Width>
struct ReadAndStream : Read<Width> {
  static constexpr bool kStreams = true;
  static void run(char* plain, char* target, const WalkAxis& axis) {
    if (axis.indexed_step == Width) {
      stream_copy(plain, target, axis.size * std::int64_t{Width});
    } else {
      Read<Width>::run(plain, target, axis);
    }
  }
};
template <std::size_t Width>
struct Write {
  static constexpr Divide kDivide = Divide::AxesWithoutCollisions;
  static constexpr std::size_t kWidth = Width;
  static constexpr bool kStreams = false;
  static void one(char* plain, char* target) { std::memcpy(target, plain, Width); }
  static void run(char* plain, char* target, const WalkAxis& axis) {
    copy_steps<Width>(target, plain, axis.size, axis.indexed_step, axis.plain_step);
  }
};

struct Sum {
  static constexpr bool kHasLanes = true;
  template <class V>
  static V of_lanes(V a, V b) {
    return a + b;
  }
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) {
      return a || b;
    } else if constexpr (std::is_integral_v<T>) {  // wraps
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else if constexpr (kIsHalf<T>) {
      return T(static_cast<float>(a) + static_cast<float>(b));
    } else {
      return a + b;
    }
  }
};
struct Product {
  static constexpr bool kHasLanes = true;
  template <class V>
  static V of_lanes(V a, V b) {
    return a * b;
  }
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) {
      return a && b;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else if constexpr (kIsHalf<T>) {
      return T(static_cast<float>(a) * static_cast<float>(b));
    } else {
      return a * b;
    }
  }
};
// The max or the min; NaN if one is NaN.
template <bool IsGreater>
struct Extreme {
  static constexpr bool kHasLanes = false;  // lanes treat integers as unsigned
  template <class T>
  static T of(T a, T b) {
    if constexpr (kIsHalf<T>) {
      const auto x = static_cast<float>(a), y = static_cast<float>(b);
      return (IsGreater ? y > x : y < x) || y != y ? b : a;
    } else {
      return (IsGreater ? b > a : b < a) || b != b ? b : a;
    }
  }
};
// Handles 16 bytes at once, if the compiler has the operation; integers are unsigned, so they wrap.
template <class T>
struct Lanes {
  static constexpr bool kExist = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
  using Element = typename std::conditional_t<std::is_integral_v<T> && kExist, std::make_unsigned<T>,
                                              std::type_identity<T>>::type;
  typedef std::conditional_t<kExist, Element, char> Vector __attribute__((vector_size(16)));
};

template <class T, class Fold>
struct Update {
  static constexpr Divide kDivide = Divide::AxesWithoutCollisions;
  static constexpr std::size_t kWidth = sizeof(T);
  static constexpr bool kStreams = false;
  static void one(char* plain, char* target) {
    store_as(target, Fold::template of<T>(load_as<T>(target), load_as<T>(plain)));
  }
  static void run(char* plain, char* target, const WalkAxis& axis) {
    constexpr std::int64_t kStep = sizeof(T);
    std::int64_t i = 0;
    if constexpr (Lanes<T>::kExist && Fold::kHasLanes) {
      using Vector = typename Lanes<T>::Vector;
      constexpr std::int64_t kLanes = 16 / kStep;
      if (axis.plain_step == kStep && axis.indexed_step == kStep) {
        for (; i + kLanes <= axis.size; i += kLanes) {
          Vector a, b;
          std::memcpy(&a, target + i * kStep, sizeof a);
          std::memcpy(&b, plain + i * kStep, sizeof b);
          a = Fold::of_lanes(a, b);
          std::memcpy(target + i * kStep, &a, sizeof a);
        }
      }
    }
    for (; i < axis.size; ++i) one(plain + i * axis.plain_step, target + i * axis.indexed_step);
  }
};

// Returns the byte offset of one index, which is checked before any access. The properties of the axis are
// passed by value: through a reference they would be reloaded after every store.
template <class I>
std::int64_t offset_of(const char* at, std::int64_t size, std::int64_t wrap, std::int64_t step,
                       const IndexedAxis& axis) {
  std::int64_t index = load_as<I>(at);
  index += index < 0 ? wrap : 0;  // wrap is the size if negative indices count from the end
  if (static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(size)) [[unlikely]]
    throw_out_of_range(load_as<I>(at), axis);
  return index * step;
}

template <class I>
std::int64_t offset_of(const char* at, bool wraps, const IndexedAxis& axis) {
  return offset_of<I>(at, axis.size, wraps ? axis.size : 0, axis.step, axis);
}

// Moves a run in which every element has its own index.
template <class Move, class I>
void move_each(char* plain, char* indexed, const char* const* at, const std::int64_t* steps,
               const IndexedWalk& walk, const WalkAxis& axis) {
  constexpr std::int64_t kWidth = Move::kWidth, kIndexWidth = sizeof(I);
  const std::int64_t count = axis.size, plain_step = axis.plain_step, indexed_step = axis.indexed_step;
  if (walk.indices.size() == 1) {
    const IndexedAxis& index = walk.indices[0];
    const std::int64_t size = index.size, step = index.step, index_step = steps[0];
    const std::int64_t wrap = walk.wraps ? size : 0;
    const char* from = at[0];
    if (plain_step == kWidth && indexed_step == 0 && index_step == kIndexWidth && step == kWidth) {
      for (std::int64_t i = 0; i < count; ++i) {
        Move::one(plain + i * kWidth,
                  indexed + offset_of<I>(from + i * kIndexWidth, size, wrap, kWidth, index));
      }
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      Move::one(plain + i * plain_step,
                indexed + i * indexed_step + offset_of<I>(from + i * index_step, size, wrap, step, index));
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    char* target = indexed + i * indexed_step;
    for (std::size_t k = 0; k < walk.indices.size(); ++k)
      target += offset_of<I>(at[k] + i * steps[k], walk.wraps, walk.indices[k]);
    Move::one(plain + i * plain_step, target);
  }
}

// The same through a block in L1, followed by non-temporal stores.
template <class Move, class I>
void stream_each(char* plain, char* indexed, const char* const* at, const std::int64_t* steps,
                 const IndexedWalk& walk, const WalkAxis& axis) {
  constexpr std::int64_t kBlockBytes = 4096, kBlock = kBlockBytes / std::int64_t{Move::kWidth};
  alignas(64) char block[kBlockBytes];
  const std::size_t count = walk.indices.size();
  SmallVector<const char*, 4> from(ArrayView<const char*>(at, count));
  for (std::int64_t i = 0; i < axis.size; i += kBlock) {
    const WalkAxis part{std::min(kBlock, axis.size - i), Move::kWidth, axis.indexed_step, axis.collides};
    move_each<Move, I>(block, indexed + i * axis.indexed_step, from.data(), steps, walk, part);
    stream_copy(plain + i * std::int64_t{Move::kWidth}, block, part.size * std::int64_t{Move::kWidth});
    for (std::size_t k = 0; k < count; ++k) from[k] += part.size * steps[k];
  }
}

// A Move as function pointers, so that the iteration is compiled once.
struct Runs {
  using Each = void(char* plain, char* indexed, const char* const* at, const std::int64_t* steps,
                    const IndexedWalk& walk, const WalkAxis& axis);
  void (*one_target)(char* plain, char* target, const WalkAxis& axis);
  Each *each_i32, *each_i64;
  Divide divide;
  bool streams;
};

template <class Move>
constexpr Runs runs_of() {
  if constexpr (Move::kStreams) {
    return {Move::run, stream_each<Move, std::int32_t>, stream_each<Move, std::int64_t>, Move::kDivide, true};
  } else {
    return {Move::run, move_each<Move, std::int32_t>, move_each<Move, std::int64_t>, Move::kDivide, false};
  }
}

void move_runs(const IndexedWalk& walk, const Runs& runs) {
  const DefaultFloatMode mode;
  Runs::Each* each = walk.index_is_i32 ? runs.each_i32 : runs.each_i64;
  const std::size_t count = walk.indices.size(), last = walk.axes.size() - 1;
  const WalkAxis inner = walk.axes[last];
  const std::int64_t* inner_steps = walk.steps_of(last);
  bool one_target = true;  // all elements of a run have one target
  for (std::size_t k = 0; k < count; ++k) one_target = one_target && inner_steps[k] == 0;
  char *plain = walk.plain, *indexed = walk.indexed;
  SmallVector<const char*, 4> at(count);
  for (std::size_t k = 0; k < count; ++k) at[k] = walk.indices[k].data;
  SmallVector<std::int64_t, 8> position(walk.axes.size());
  while (true) {
    if (one_target) {
      char* target = indexed;
      for (std::size_t k = 0; k < count; ++k) {
        target += walk.index_is_i32 ? offset_of<std::int32_t>(at[k], walk.wraps, walk.indices[k])
                                    : offset_of<std::int64_t>(at[k], walk.wraps, walk.indices[k]);
      }
      runs.one_target(plain, target, inner);
    } else {
      each(plain, indexed, at.data(), inner_steps, walk, inner);
    }
    std::size_t i = last;
    while (i-- > 0) {
      const WalkAxis& axis = walk.axes[i];
      const std::int64_t* steps = walk.steps_of(i);
      const bool ends = ++position[i] == axis.size;
      const std::int64_t move = ends ? 1 - axis.size : 1;
      plain += move * axis.plain_step;
      indexed += move * axis.indexed_step;
      for (std::size_t k = 0; k < count; ++k) at[k] += move * steps[k];
      if (!ends) break;
      position[i] = 0;
    }
    if (i == static_cast<std::size_t>(-1)) break;
  }
  if (runs.streams) stream_fence();
}

// Returns the part of a walk from `begin` to `end` of one axis.
IndexedWalk part_of(IndexedWalk walk, std::size_t divided, std::int64_t begin, std::int64_t end) {
  WalkAxis& axis = walk.axes[divided];
  walk.plain += begin * axis.plain_step;
  walk.indexed += begin * axis.indexed_step;
  for (std::size_t k = 0; k < walk.indices.size(); ++k)
    walk.indices[k].data += begin * walk.steps_of(divided)[k];
  axis.size = end - begin;
  return walk;
}

void move_all(IndexedWalk walk, const Runs& runs) {
  if (walk.is_empty) return;
  if (walk.axes.empty()) {
    walk.axes.push_back({1, 0, 0, true});
    for (std::size_t k = 0; k < walk.indices.size(); ++k) walk.index_steps.push_back(0);
  }
  std::int64_t count = 1;
  for (const WalkAxis& axis : walk.axes) count *= axis.size;
  const int divided = axis_to_divide(walk, runs.divide);
  if (divided < 0) return move_runs(walk, runs);
  const auto axis = static_cast<std::size_t>(divided);
  const std::int64_t size = walk.axes[axis].size, each = count / size;
  parallel_for(size, Grain::of(kGrainElements, each), [&](std::int64_t begin, std::int64_t end) {
    move_runs(part_of(walk, axis, begin, end), runs);
  });
}

template <template <std::size_t> class Move>
void move_by_width(const IndexedWalk& walk, std::uint8_t dtype) {
  switch (size_bytes(static_cast<DType>(dtype))) {
    case 1:
      return move_all(walk, runs_of<Move<1>>());
    case 2:
      return move_all(walk, runs_of<Move<2>>());
    case 4:
      return move_all(walk, runs_of<Move<4>>());
    default:
      return move_all(walk, runs_of<Move<8>>());
  }
}

// Long dense rows of a large result bypass the caches.
constexpr std::int64_t kShortRunBytes = 512;
void read(const IndexedWalk& walk, const Operand& dst) {
  const std::int64_t width = size_bytes(static_cast<DType>(dst.dtype));
  std::int64_t bytes = width;
  for (int i = 0; i < dst.rank; ++i) bytes *= dst.sizes[i];
  const bool streams = bytes >= kStreamBytes && !walk.axes.empty() && walk.axes.back().plain_step == width &&
                       walk.axes.back().size * width >= kShortRunBytes;
  return streams ? move_by_width<ReadAndStream>(walk, dst.dtype) : move_by_width<Read>(walk, dst.dtype);
}

template <class Fold>
void update_by_type(const IndexedWalk& walk, std::uint8_t dtype) {
  with_type(static_cast<DType>(dtype),
            [&]<class T>(std::type_identity<T>) { move_all(walk, runs_of<Update<T, Fold>>()); });
}

void scatter_elements(const IndexedWalk& walk, std::uint8_t dtype, std::int64_t reduce) {
  switch (reduce) {
    case 0:
      return move_by_width<Write>(walk, dtype);
    case 1:
      return update_by_type<Sum>(walk, dtype);
    case 2:
      return update_by_type<Product>(walk, dtype);
    case 3:
      return update_by_type<Extreme<true>>(walk, dtype);
    default:
      return update_by_type<Extreme<false>>(walk, dtype);
  }
}

// gather. Operands: dst; src, index; scalars: dim, wraps.
void run_gather(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  read(make_gather_walk(dst, input(args, 0), input(args, 1), args.scalars[0].as_int,
                        args.scalars[1].as_int != 0),
       dst);
}

// scatter. Operands: dst; index, src; scalars: dim, reduction (0 write, 1 add, 2 multiply, 3 max, 4 min).
void run_scatter(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  scatter_elements(make_gather_walk(input(args, 1), dst, input(args, 0), args.scalars[0].as_int, false),
                   dst.dtype, args.scalars[1].as_int);
}

// index. Operands: dst; src, indices; scalars: wraps, axes before those of the indices, an axis per index.
void run_index(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const auto count = static_cast<std::size_t>(args.input_count - 1);
  read(make_index_walk(dst, input(args, 0), &input(args, 1), args.scalars + 2, count, args.scalars[1].as_int,
                       args.scalars[0].as_int != 0),
       dst);
}

// index_put. Operands: dst; values, indices; scalars: reduction, axes before those of the indices, an axis
// per index.
void run_index_put(Stream&, const KernelArgs& args) {
  const Operand& dst = output(args, 0);
  const auto count = static_cast<std::size_t>(args.input_count - 1);
  scatter_elements(make_index_walk(input(args, 0), dst, &input(args, 1), args.scalars + 2, count,
                                   args.scalars[1].as_int, true),
                   dst.dtype, args.scalars[0].as_int);
}

}  // namespace

KernelLists index_kernels() {
  static const auto kGather = std::to_array<Kernel>({{"cpu_gather", supports_any, run_gather}});
  static const auto kScatter = std::to_array<Kernel>({{"cpu_scatter", supports_any, run_scatter}});
  static const auto kIndex = std::to_array<Kernel>({{"cpu_index", supports_any, run_index}});
  static const auto kIndexPut = std::to_array<Kernel>({{"cpu_index_put", supports_any, run_index_put}});
  static const auto kLists = std::to_array<BackendKernels>({{"gather", kGather},
                                                            {"scatter", kScatter},
                                                            {"scatter_add", kScatter},
                                                            {"scatter_reduce", kScatter},
                                                            {"index", kIndex},
                                                            {"index_select", kIndex},
                                                            {"embedding", kIndex},
                                                            {"index_put", kIndexPut}});
  return kLists;
}

}  // namespace pel::cpu
