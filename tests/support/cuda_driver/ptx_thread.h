// A thread of a block, the memory that it sees, and one step of it.
#pragma once

#include <cstring>
#include <vector>

#include "support/cuda_driver/ptx_function.h"

namespace pel::test::ptx {

struct Thread {
  std::vector<std::uint64_t> slots;
  std::vector<std::uint64_t> local;
  int at = 0;
  bool has_ended = false;

  template <class T>
  T get(int slot) const {
    T value;
    std::memcpy(&value, &slots[static_cast<std::size_t>(slot)], sizeof value);
    return value;
  }
  template <class T>
  void set(int slot, T value) {
    if (slot == kNoSlot) return;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    slots[static_cast<std::size_t>(slot)] = bits;
  }
};

struct BlockMemory {
  const Function& function;
  const IsAllocated& is_allocated;
  char* parameters;
  std::vector<std::uint64_t> shared;

  // Where `size` bytes are that an instruction accesses; throws a MemoryFault.
  char* find(const Thread& thread, const Instruction& instruction, std::size_t size) const;
};

// Executes an instruction that does not branch.
void step(Thread& thread, const Instruction& instruction, const BlockMemory& memory);

}  // namespace pel::test::ptx
