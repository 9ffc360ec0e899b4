// The arguments that the row driver passes to its loops: operands as axes and steps, and one call.
#pragma once

#include <cstdint>
#include <cstring>

#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/rows/rows.h"
#include "base/small_vector.h"

namespace pel::cpu {

inline constexpr int kMaxOutputs = kMaxRowOutputs, kMaxFolds = kMaxRowFolds, kMaxStages = kMaxRowStages;
inline constexpr int kMaxOperands = kMaxOutputs + kMaxRowInputs;

struct Axis {
  std::int64_t size;
  std::int64_t step[kMaxOperands];  // in bytes
};
using Axes = SmallVector<Axis, 6>;

inline std::int64_t count_of(const Axes& axes) {
  std::int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.size;
  return count;
}
// Returns the offset of element `index` of the sequence over `axes`, the first axis fastest.
inline std::int64_t offset_of(const Axes& axes, int operand, std::int64_t index) {
  if (axes.size() == 1) return index * axes[0].step[operand];
  std::int64_t offset = 0;
  for (const Axis& axis : axes) {
    offset += index % axis.size * axis.step[operand];
    index /= axis.size;
  }
  return offset;
}

// Input of a loop: dense elements, or one that repeats.
struct View {
  char* data;
  std::int64_t stride;
};
// A valid address for an input that a loop does not read.
alignas(64) inline char unused_input[64] = {};

// Copies some bytes, usually few, in pieces of constant size; the last piece overlaps the previous one.
inline void copy_short(char* to, const char* from, std::int64_t bytes) {
  constexpr std::int64_t kPiece = 32, kShort = 512;
  if (bytes < kPiece || bytes > kShort) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  for (std::int64_t at = 0; at < bytes - kPiece; at += kPiece) std::memcpy(to + at, from + at, kPiece);
  std::memcpy(to + bytes - kPiece, from + bytes - kPiece, kPiece);
}

// Copies one run of elements to dense memory.
inline void gather_run(char* to, char* from, std::int64_t step, std::int64_t count, std::int64_t width) {
  if (step == width) {
    copy_short(to, from, count * width);
  } else {
    copy_tile({to, 0, width}, {from, 0, step}, 1, count, width);
  }
}

// Collects the arguments of a loop: the output, then the inputs.
struct LoopCall {
  static constexpr int kMaxArguments = 2 + kMaxRowInputs + kMaxStages + 1 + kMaxFolds;
  void* data[kMaxArguments];
  std::int64_t strides[kMaxArguments];
  int count = 0;

  void add(void* pointer, std::int64_t stride) {
    data[count] = pointer;
    strides[count++] = stride;
  }
  void add(const View& view) { add(view.data, view.stride); }
};

}  // namespace pel::cpu
