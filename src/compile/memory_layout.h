// Where the buffers of a plan lie: which share memory, at which offset of the arena, and when memory is
// allocated and freed. Knows steps and sizes, and no tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/small_vector.h"

namespace pel::compiler {

struct LayoutBuffer {
  enum class Kind : std::uint8_t {
    Given,      // memory that is there before a run: inputs, constants, numbers
    Temporary,  // used between its first and its last step
    Result,     // outlives the run
  };
  Kind kind = Kind::Temporary;
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;  // steps that use it, both included
  std::uint32_t result = 0;         // of a Result: the caller's number of it
  std::size_t rank = 1;             // of a Result: of its tensor, which decides what the allocator counts
};

// Operands of one step with equal `view` address the same elements, in the same order, if they lie in one
// buffer.
struct LayoutOperand {
  std::uint32_t buffer = 0, view = 0;
};
struct LayoutStep {
  SmallVector<LayoutOperand, 2> outputs;
  SmallVector<LayoutOperand, 6> inputs;
  std::uint64_t overwrites = 0;  // outputs that may overwrite an input, element by element, a bit each
};

struct MemoryLayout {
  struct Slot {
    LayoutBuffer buffer;
    std::int64_t offset = 0;  // in the arena or the host
    // A Result that is written later, whose memory it uses before that.
    std::optional<std::uint32_t> host{};
    bool is_alone = false;  // allocated before its first step and freed after its last
  };
  // Memory that is allocated before a step: of a result, with buffers that use it before, or of a buffer that
  // is alone.
  struct Allocation {
    std::size_t step;
    std::uint32_t buffer;
    std::uint32_t first_hosted = 0, hosted_count = 0;  // in hosted
  };
  struct Free {
    std::size_t step;  // after it
    std::size_t allocation;
  };

  std::vector<std::uint32_t> root;  // by buffer: the one whose memory it uses; itself, unless it overwrites
  std::vector<Slot> slots;          // by buffer; those of overwriting buffers are empty
  std::vector<Allocation> allocations;  // by step
  std::vector<Free> frees;              // by step
  std::vector<std::uint32_t> hosted;    // buffers
  std::int64_t arena_bytes = 0;

  bool has_alone() const { return !frees.empty(); }
  std::int64_t result_bytes() const;
  // The largest number of bytes of the arena in use at one step: a lower bound of any arrangement.
  std::int64_t live_bytes() const;
  // What a run adds to MemoryStats::data_bytes at its peak, which leaves out small tensors; or all of its
  // memory.
  enum class SmallTensors : bool { LeftOut, Counted };
  std::int64_t peak_bytes(SmallTensors small = SmallTensors::LeftOut) const;
};

// Buffers share memory if an output may overwrite an input that nothing reads later, or if they are never in
// use at the same step. Of several layouts, takes the one with the lowest peak.
MemoryLayout lay_out(const std::vector<LayoutBuffer>& buffers, const std::vector<LayoutStep>& steps);

}  // namespace pel::compiler
