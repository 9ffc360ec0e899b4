#include "distributed/collectives.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/check.h"
#include "distributed/call.h"
#include "distributed/tree_sum.h"

namespace pel::dist {
namespace {

using State = Group::State;

// Where all ranks together give no more than this, each of them adds everything: one wait instead of two.
constexpr std::int64_t kSmallBytes = 64 << 10;

std::int64_t count_of(const Operand& a) {
  std::int64_t count = 1;
  for (int i = 0; i < a.rank; ++i) count *= a.sizes[i];
  return count;
}
std::int64_t element_bytes(const Operand& a) { return size_bytes(static_cast<DType>(a.dtype)); }

bool is_row_major(const Operand& a) {
  std::int64_t stride = 1;
  for (int i = a.rank; i-- > 0;) {
    if (a.sizes[i] != 1 && a.strides[i] != stride) return false;
    stride *= a.sizes[i];
  }
  return true;
}

// The elements in row-major order: those of the operand, or a copy.
class Elements {
 public:
  explicit Elements(const Operand& a) : data_(static_cast<const std::byte*>(a.data)) {
    if (count_of(a) == 0 || is_row_major(a)) return;
    copy_ =
        std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(count_of(a) * element_bytes(a)));
    std::byte* to = copy_.get();
    walk(a, 0, static_cast<const std::byte*>(a.data), to);
    data_ = copy_.get();
  }
  const std::byte* data() const { return data_; }

 private:
  static void walk(const Operand& a, int axis, const std::byte* from, std::byte*& to) {
    const std::int64_t bytes = element_bytes(a);
    if (axis == a.rank) {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
      to += bytes;
      return;
    }
    for (std::int64_t i = 0; i < a.sizes[axis]; ++i)
      walk(a, axis + 1, from + i * a.strides[axis] * bytes, to);
  }
  const std::byte* data_;
  std::unique_ptr<std::byte[]> copy_;
};

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count));
}
std::byte* bytes_of(const Operand& dst) { return static_cast<std::byte*>(dst.data); }
std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

// A call in a group of one.
void copy_alone(State& group, Collective op, const Operand& dst, const Operand& src, int peer = -1) {
  note_alone(group, op, src, peer);
  const Elements from(src);
  copy_bytes(bytes_of(dst), from.data(), count_of(src) * element_bytes(src));
}

std::vector<const std::byte*> data_of(ArrayView<Part> parts) {
  std::vector<const std::byte*> data;
  for (const Part& part : parts) data.push_back(part.data);
  return data;
}

// all_to_all of a message whose part for rank r begins at r * part elements, in segments. `take` gets those
// of all ranks, the first element and their number.
template <class Take>
void exchange_parts(Call& call, const State& group, const std::byte* from, std::int64_t part,
                    std::int64_t bytes, Take&& take) {
  const auto most = static_cast<std::int64_t>(call.segment_bytes()) / group.size / bytes;
  for (std::int64_t at = 0; at < part; at += most) {
    const std::int64_t length = std::min(most, part - at);
    std::byte* const to = call.outgoing();
    for (std::int64_t r = 0; r < group.size; ++r)
      copy_bytes(to + r * length * bytes, from + (r * part + at) * bytes, length * bytes);
    take(call.all_to_all(as_size(length * bytes)), at, length);
  }
}

}  // namespace

void all_reduce(State& group, const Operand& dst, const Operand& src) {
  if (group.size == 1) return copy_alone(group, Collective::AllReduce, dst, src);
  const Elements elements(src);
  const std::int64_t count = count_of(src), bytes = element_bytes(src), ranks = group.size;
  const auto dtype = static_cast<DType>(src.dtype);
  run_call(group, Collective::AllReduce, src, -1, [&](Call& call) {
    if (count * bytes * ranks <= kSmallBytes) {
      copy_bytes(call.outgoing(), elements.data(), count * bytes);
      return tree_sum(dtype, bytes_of(dst), data_of(call.all_gather(as_size(count * bytes))), count);
    }
    // Each rank adds a part of the segment, and all gather the parts.
    const std::int64_t most = static_cast<std::int64_t>(call.segment_bytes()) / bytes / ranks * ranks;
    for (std::int64_t at = 0; at < count; at += most) {
      const std::int64_t length = std::min(most, count - at), part = (length + ranks - 1) / ranks;
      const auto part_length = [&](std::int64_t r) {
        return std::clamp<std::int64_t>(length - r * part, 0, part);
      };
      copy_bytes(call.outgoing(), elements.data() + at * bytes, length * bytes);
      const ArrayView<Part> addends = call.all_to_all(as_size(part * bytes));
      const std::int64_t own = part_length(group.rank);
      tree_sum(dtype, call.outgoing(), data_of(addends), own);
      const ArrayView<Part> sums = call.all_gather(as_size(own * bytes));
      for (std::int64_t r = 0; r < ranks; ++r)
        copy_bytes(bytes_of(dst) + (at + r * part) * bytes, sums[as_size(r)].data, part_length(r) * bytes);
    }
  });
}

void all_gather(State& group, const Operand& dst, const Operand& src) {
  if (group.size == 1) return copy_alone(group, Collective::AllGather, dst, src);
  const Elements elements(src);
  const std::int64_t total = count_of(src) * element_bytes(src);
  run_call(group, Collective::AllGather, src, -1, [&](Call& call) {
    const auto most = static_cast<std::int64_t>(call.segment_bytes());
    for (std::int64_t at = 0; at < total; at += most) {
      const std::int64_t length = std::min(most, total - at);
      copy_bytes(call.outgoing(), elements.data() + at, length);
      const ArrayView<Part> parts = call.all_gather(as_size(length));
      for (std::int64_t r = 0; r < group.size; ++r)
        copy_bytes(bytes_of(dst) + r * total + at, parts[as_size(r)].data, length);
    }
  });
}

void reduce_scatter(State& group, const Operand& dst, const Operand& src) {
  if (group.size == 1) return copy_alone(group, Collective::ReduceScatter, dst, src);
  const Elements elements(src);
  const std::int64_t bytes = element_bytes(src);
  run_call(group, Collective::ReduceScatter, src, -1, [&](Call& call) {
    exchange_parts(call, group, elements.data(), count_of(dst), bytes,
                   [&](ArrayView<Part> parts, std::int64_t at, std::int64_t length) {
                     tree_sum(static_cast<DType>(src.dtype), bytes_of(dst) + at * bytes, data_of(parts),
                              length);
                   });
  });
}

void all_to_all(State& group, const Operand& dst, const Operand& src) {
  if (group.size == 1) return copy_alone(group, Collective::AllToAll, dst, src);
  const Elements elements(src);
  const std::int64_t bytes = element_bytes(src), part = count_of(src) / group.size;
  run_call(group, Collective::AllToAll, src, -1, [&](Call& call) {
    exchange_parts(call, group, elements.data(), part, bytes,
                   [&](ArrayView<Part> parts, std::int64_t at, std::int64_t length) {
                     for (std::int64_t r = 0; r < group.size; ++r)
                       copy_bytes(bytes_of(dst) + (r * part + at) * bytes, parts[as_size(r)].data,
                                  length * bytes);
                   });
  });
}

void broadcast(State& group, const Operand& dst, const Operand& src, int root) {
  if (group.size == 1) return copy_alone(group, Collective::Broadcast, dst, src, root);
  const Elements elements(src);
  const std::int64_t total = count_of(src) * element_bytes(src);
  run_call(group, Collective::Broadcast, src, root, [&](Call& call) {
    const auto most = static_cast<std::int64_t>(call.segment_bytes());
    for (std::int64_t at = 0; at < total; at += most) {
      const std::int64_t length = std::min(most, total - at);
      if (group.rank == root) copy_bytes(call.outgoing(), elements.data() + at, length);
      const ArrayView<Part> parts = call.all_gather(group.rank == root ? as_size(length) : 0);
      copy_bytes(bytes_of(dst) + at, parts[as_size(root)].data, length);
    }
  });
}

void send(State& group, const Operand& src, int to) {
  const std::int64_t total = count_of(src) * element_bytes(src);
  if (group.size == 1) {
    note_alone(group, Collective::Send, src, to);
  } else if (total > 0) {
    const Elements elements(src);
    run_call(group, Collective::Send, src, to, [&](Call& call) {
      const auto most = static_cast<std::int64_t>(call.piece_bytes());
      for (std::int64_t at = 0; at < total; at += most) {
        copy_bytes(call.outgoing_piece(), elements.data() + at, std::min(most, total - at));
        call.post();
      }
    });
  }
}

void recv(State& group, const Operand& dst, const Operand& like, int from) {
  if (group.size == 1) return copy_alone(group, Collective::Recv, dst, like, from);
  const std::int64_t total = count_of(dst) * element_bytes(dst);
  run_call(group, Collective::Recv, dst, from, [&](Call& call) {
    const auto most = static_cast<std::int64_t>(call.piece_bytes());
    for (std::int64_t at = 0; at < total; at += most) {
      copy_bytes(bytes_of(dst) + at, call.incoming(), std::min(most, total - at));
      call.taken();
    }
  });
}

}  // namespace pel::dist
