// Rows along one axis of several operands. All have the same sizes except along that axis.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "pellucid/dtype.h"
#include "pellucid/extend/kernel_args.h"

#include "base/small_vector.h"

namespace pel::cpu {

inline constexpr int kMaxRowOperands = 3;

// The other axes, merged if they are contiguous in all operands, the one with the smallest steps first: rows
// that are consecutive along it share cache lines when the rows themselves are strided.
class AxisRows {
 public:
  struct Axis {
    std::int64_t size;
    std::int64_t steps[kMaxRowOperands];  // in bytes
  };

  AxisRows(const KernelArgs& args, std::int64_t axis) : operands_(args.output_count + args.input_count) {
    const int along = static_cast<int>(axis);
    for (int o = 0; o < operands_; ++o) {
      const Operand& operand = args.operands[o];
      width_[o] = size_bytes(static_cast<DType>(operand.dtype));
      data_[o] = static_cast<char*>(operand.data);
      length_[o] = operand.sizes[along];
      step_[o] = operand.strides[along] * width_[o];
    }
    const Operand& first = args.operands[0];
    SmallVector<Axis, 8> all;
    for (int i = first.rank; i-- > 0;) {
      if (i == along || first.sizes[i] == 1) continue;
      Axis a{first.sizes[i], {}};
      for (int o = 0; o < operands_; ++o) a.steps[o] = args.operands[o].strides[i] * width_[o];
      all.push_back(a);
    }
    std::sort(all.begin(), all.end(),
              [](const Axis& a, const Axis& b) { return std::abs(a.steps[0]) < std::abs(b.steps[0]); });
    for (const Axis& a : all) {
      if (!axes_.empty() && continues(axes_.back(), a)) {
        axes_.back().size *= a.size;
      } else {
        axes_.push_back(a);
      }
    }
    if (axes_.empty()) axes_.push_back({1, {}});
    for (const Axis& a : axes_) count_ *= a.size;
  }

  std::int64_t count() const { return count_; }
  std::int64_t inner() const { return axes_[0].size; }  // rows that are one step apart
  std::int64_t length(int operand) const { return length_[operand]; }
  std::int64_t step(int operand) const { return step_[operand]; }  // along a row, in bytes
  std::int64_t to_next_row(int operand) const { return axes_[0].steps[operand]; }
  std::int64_t width(int operand) const { return width_[operand]; }
  char* row(int operand, std::int64_t number) const {
    char* at = data_[operand];
    for (const Axis& a : axes_) {
      at += number % a.size * a.steps[operand];
      number /= a.size;
    }
    return at;
  }

  // Splits the rows into groups of at most `max_size` adjacent rows, none across the end of the inner axis.
  std::int64_t group_count(std::int64_t max_size) const {
    return count_ / inner() * ((inner() + max_size - 1) / max_size);
  }
  struct Group {
    std::int64_t first, count;
  };
  Group group(std::int64_t number, std::int64_t max_size) const {
    const std::int64_t inside = (inner() + max_size - 1) / max_size;
    const std::int64_t begin = number % inside * max_size;
    return {number / inside * inner() + begin, std::min(max_size, inner() - begin)};
  }

 private:
  bool continues(const Axis& inside, const Axis& outside) const {
    for (int o = 0; o < operands_; ++o) {
      if (outside.steps[o] != inside.size * inside.steps[o]) return false;
    }
    return true;
  }

  int operands_;
  char* data_[kMaxRowOperands] = {};
  std::int64_t width_[kMaxRowOperands] = {}, length_[kMaxRowOperands] = {}, step_[kMaxRowOperands] = {};
  SmallVector<Axis, 8> axes_;
  std::int64_t count_ = 1;
};

}  // namespace pel::cpu
