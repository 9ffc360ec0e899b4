// What the fused cross entropies share: rows of logits, and the classes that targets name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pellucid/extend/op.h"

#include "tensor/layout.h"

namespace pel::cpu {

// Workspace of a kernel: what the launcher provides, or tensor memory. Parts are 64-byte aligned.
class KernelScratch {
 public:
  KernelScratch(const KernelArgs& args, std::int64_t bytes);
  static std::int64_t rounded(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }
  char* take(std::int64_t bytes) {
    char* const begin = next_;
    next_ += rounded(bytes);
    return begin;
  }

 private:
  std::optional<Tensor> allocated_;
  char* next_;
};

// The classes that dense targets name, one for each row.
struct Targets {
  const char* data;
  DType dtype;  // i64 or i32
  std::int64_t classes, ignore_index;
  std::int64_t first_row = 0;  // for errors

  static constexpr std::int64_t kIgnored = -1;
  // Throws if the target is not a class.
  std::int64_t operator[](std::int64_t row) const;
  Targets from(std::int64_t row) const {
    return {data + row * size_bytes(dtype), dtype, classes, ignore_index, first_row + row};
  }
};

// Logits whose classes lie along one axis. Values of rows are dense, in row-major order of the other axes,
// and of the value type.
class ClassRows {
 public:
  ClassRows(const Operand& logits, std::int64_t axis);
  ClassRows(const ClassRows&) = delete;
  ClassRows& operator=(const ClassRows&) = delete;

  std::int64_t count() const { return count_; }
  std::int64_t classes() const { return logits_.sizes[axis_]; }
  DType dtype() const { return static_cast<DType>(logits_.dtype); }
  std::int64_t axis() const { return axis_; }
  // Returns the address of one element of a tensor with the sizes and dtype of the logits.
  char* at(const Operand& tensor, std::int64_t row, std::int64_t index) const;
  char* logit(std::int64_t row, std::int64_t index) const { return at(logits_, row, index); }

  // Runs the program of a row op that has this suffix. Inputs are the logits, then values of rows.
  void to_values(Stream& stream, const Op& op, std::string_view program, ArrayView<char*> results) const;
  void to_rows(Stream& stream, const Op& op, std::string_view program, const Operand& result,
               ArrayView<char*> values) const;

 private:
  Operand values(char* data) const;
  void run(Stream& stream, const Op& op, std::string_view program, ArrayView<Operand> operands,
           std::uint16_t results) const;

  Operand logits_;
  std::int64_t axis_, count_ = 1;
  std::int64_t value_strides_[kMaxRank];  // 0 along the classes
};

// The loss of each row: log_sum - (logit of its target - largest), or 0 if the target is ignored.
void write_losses(const ClassRows& rows, const Targets& targets, const char* largest, const char* log_sums,
                  char* losses);
// The mean of the losses of `count` rows, and of how many: of those that are not ignored. Losses are added in
// the order of reductions (rows.h), and overwritten.
void write_mean(const Targets& targets, std::int64_t count, char* losses, const Operand& mean,
                const Operand& counted);
// The gradients of the losses of `count` rows from that of their mean: 0 if the target is ignored.
void write_gradients(const Targets& targets, std::int64_t count, const Operand& grad, const Operand& counted,
                     char* gradients);
// Subtracts the gradient of each row from the element of its target, if this is one of the classes from
// `first_class` on, which `result` has.
void subtract_at_targets(const ClassRows& rows, const Targets& targets, const char* gradients,
                         std::int64_t first_class, const Operand& result);

}  // namespace pel::cpu
