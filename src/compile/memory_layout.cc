// In this order:
//   overwrite_inputs   an output takes the buffer of an input that nothing reads later
//   fill_arena         temporaries get offsets in the arena, or in results that are written later
//   plan_allocations   when results and large temporaries are allocated and freed
//   lay_out            tries the above with different choices and keeps the lowest peak
#include "compile/memory_layout.h"

#include <algorithm>
#include <numeric>

#include "compile/arena.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

using Kind = LayoutBuffer::Kind;

// Whether an input may become a result by being overwritten. That result is allocated early, so its memory is
// not free for other temporaries before.
enum class InResults : bool { No, Yes };
// Whether large temporaries lie in the arena, or are allocated and freed one by one.
enum class Large : bool { InArena, Alone };

class Layouter {
 public:
  Layouter(const std::vector<LayoutBuffer>& buffers, const std::vector<LayoutStep>& steps) : steps_(steps) {
    layout_.slots.reserve(buffers.size());
    for (const LayoutBuffer& buffer : buffers) layout_.slots.push_back({.buffer = buffer});
    layout_.root.resize(buffers.size());
    std::iota(layout_.root.begin(), layout_.root.end(), 0U);
  }

  MemoryLayout run(InResults in_results, Large large) {
    overwrite_inputs(in_results);
    fill_arena(large);
    plan_allocations();
    return std::move(layout_);
  }
  // Whether an input became a result by being overwritten.
  bool made_early_result() const { return made_early_result_; }

 private:
  LayoutBuffer& buffer(std::uint32_t number) { return layout_.slots[number].buffer; }
  std::uint32_t root_of(std::uint32_t number) const {
    while (layout_.root[number] != number) number = layout_.root[number];
    return number;
  }

  void overwrite_inputs(InResults in_results) {
    constexpr std::size_t kMaxOverwritten = 64;  // a bit each; optimizers have more outputs
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const LayoutStep& step = steps_[s];
      for (std::size_t o = 0; o < std::min(step.outputs.size(), kMaxOverwritten); ++o)
        if (step.overwrites >> o & 1) overwrite_input(s, step.outputs[o], in_results);
    }
    for (std::uint32_t& root : layout_.root) root = root_of(root);
    for (std::uint32_t i = 0; i < layout_.root.size(); ++i)
      if (layout_.root[i] != i) buffer(i) = {};
  }
  void overwrite_input(std::size_t s, const LayoutOperand& output, InResults in_results) {
    const LayoutStep& step = steps_[s];
    const LayoutBuffer written = buffer(output.buffer);
    const bool may_move =
        written.kind == Kind::Temporary || (written.kind == Kind::Result && in_results == InResults::Yes);
    if (!may_move || written.first != s || layout_.root[output.buffer] != output.buffer) return;
    for (const LayoutOperand& input : step.inputs) {
      const std::uint32_t read = root_of(input.buffer);
      LayoutBuffer& source = buffer(read);
      if (source.kind != Kind::Temporary || source.last != s || read == output.buffer ||
          source.bytes != written.bytes || input.view != output.view)
        continue;
      // Another output in this memory, or an input that reads other elements of it.
      const auto is_other_there = [&](const LayoutOperand& other) {
        return &other != &output && root_of(other.buffer) == read;
      };
      if (std::ranges::any_of(step.outputs, is_other_there) ||
          std::ranges::any_of(step.inputs, [&](const LayoutOperand& other) {
            return is_other_there(other) && other.view != output.view;
          }))
        continue;
      made_early_result_ = made_early_result_ || written.kind == Kind::Result;
      source.kind = written.kind;
      source.result = written.result;
      source.rank = written.rank;
      source.last = written.last;
      layout_.root[output.buffer] = read;
      return;
    }
  }

  // The memory of a result is free until it is written; temporaries that end before may lie there.
  void fill_arena(Large large) {
    constexpr std::int64_t kMinAlone = 64 << 10;
    std::vector<ArenaPiece> pieces;
    std::vector<ArenaHost> hosts;
    std::vector<std::uint32_t> piece_buffers, host_buffers;
    for (std::uint32_t i = 0; i < layout_.slots.size(); ++i) {
      MemoryLayout::Slot& slot = layout_.slots[i];
      const LayoutBuffer& own = slot.buffer;
      if (own.kind == Kind::Temporary && own.bytes != 0) {
        slot.is_alone = large == Large::Alone && own.bytes >= kMinAlone;
        if (slot.is_alone) continue;
        pieces.push_back({.bytes = own.bytes, .first = own.first, .last = own.last});
        piece_buffers.push_back(i);
      }
      if (own.kind == Kind::Result && large == Large::InArena) {
        hosts.push_back({own.bytes, own.first});
        host_buffers.push_back(i);
      }
    }
    layout_.arena_bytes = place_pieces(pieces, hosts);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      MemoryLayout::Slot& slot = layout_.slots[piece_buffers[i]];
      slot.offset = pieces[i].offset;
      if (pieces[i].host) slot.host = host_buffers[*pieces[i].host];
    }
  }

  // A result is allocated when it, or a temporary that lies there before it, is written.
  void plan_allocations() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> inside;  // a host, and a buffer in it
    for (std::uint32_t i = 0; i < layout_.slots.size(); ++i)
      if (layout_.slots[i].host) inside.emplace_back(*layout_.slots[i].host, i);
    std::ranges::sort(inside);
    auto next = inside.begin();
    for (std::uint32_t i = 0; i < layout_.slots.size(); ++i) {
      const MemoryLayout::Slot& slot = layout_.slots[i];
      if (slot.buffer.kind != Kind::Result && !slot.is_alone) continue;
      MemoryLayout::Allocation& made =
          layout_.allocations.emplace_back(std::min(slot.buffer.first, steps_.size()), i);
      made.first_hosted = static_cast<std::uint32_t>(layout_.hosted.size());
      for (; next != inside.end() && next->first == i; ++next) {
        made.step = std::min(made.step, buffer(next->second).first);
        layout_.hosted.push_back(next->second);
        ++made.hosted_count;
      }
    }
    using Allocation = MemoryLayout::Allocation;
    std::ranges::sort(layout_.allocations, {},
                      [](const Allocation& made) { return std::pair(made.step, made.buffer); });
    for (std::size_t i = 0; i < layout_.allocations.size(); ++i) {
      const MemoryLayout::Slot& slot = layout_.slots[layout_.allocations[i].buffer];
      if (slot.is_alone) layout_.frees.push_back({slot.buffer.last, i});
    }
    using Free = MemoryLayout::Free;
    std::ranges::sort(layout_.frees, {},
                      [](const Free& free) { return std::pair(free.step, free.allocation); });
  }

  const std::vector<LayoutStep>& steps_;
  MemoryLayout layout_;
  bool made_early_result_ = false;
};

}  // namespace

std::int64_t MemoryLayout::result_bytes() const {
  std::int64_t total = 0;
  for (const Slot& slot : slots)
    if (slot.buffer.kind == Kind::Result) total += slot.buffer.bytes;
  return total;
}

std::int64_t MemoryLayout::live_bytes() const {
  std::vector<ArenaPiece> pieces;
  for (const Slot& slot : slots) {
    if (slot.buffer.kind == Kind::Temporary && !slot.host && !slot.is_alone)
      pieces.push_back({.bytes = slot.buffer.bytes, .first = slot.buffer.first, .last = slot.buffer.last});
  }
  return max_in_use(pieces);
}

std::int64_t MemoryLayout::peak_bytes(SmallTensors small) const {
  const auto of = [small](std::int64_t bytes, std::size_t rank) {
    return small == SmallTensors::Counted ? bytes : counted_bytes(bytes, rank);
  };
  const auto counted = [&](const Slot& slot) {
    return of(slot.buffer.bytes, slot.is_alone ? 1 : slot.buffer.rank);
  };
  std::int64_t now = of(arena_bytes, 1), most = now;
  auto free = frees.begin();
  for (const Allocation& made : allocations) {
    for (; free != frees.end() && free->step < made.step; ++free)
      now -= counted(slots[allocations[free->allocation].buffer]);
    most = std::max(most, now += counted(slots[made.buffer]));
  }
  return most;
}

MemoryLayout lay_out(const std::vector<LayoutBuffer>& buffers, const std::vector<LayoutStep>& steps) {
  // To allocate within a run costs time: it must save one part in 20, if results are at least one in 8.
  constexpr std::int64_t kMinGain = 20, kMinResults = 8;
  const auto laid_out = [&](InResults in_results, Large large) {
    return Layouter(buffers, steps).run(in_results, large);
  };
  Layouter first(buffers, steps);
  MemoryLayout best = first.run(InResults::Yes, Large::InArena);
  // A result that is allocated early cannot hold temporaries: compare with late ones, if there is one.
  if (best.arena_bytes != 0 && best.result_bytes() != 0 && first.made_early_result()) {
    MemoryLayout later = laid_out(InResults::No, Large::InArena);
    if (later.peak_bytes() < best.peak_bytes()) best = std::move(later);
  }
  // Results are too small to hold much: allocate large temporaries one by one, as without a plan.
  if (best.arena_bytes != 0 && best.result_bytes() > best.peak_bytes() / kMinResults) {
    MemoryLayout alone = laid_out(InResults::Yes, Large::Alone);
    if (best.peak_bytes() - alone.peak_bytes() > best.peak_bytes() / kMinGain) best = std::move(alone);
  }
  return best;
}

}  // namespace pel::compiler
