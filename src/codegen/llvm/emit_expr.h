// Emits the vector operations of scalar expressions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "codegen/isa.h"
#include "ir/scalar.h"

namespace llvm {
class IRBuilderBase;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace pel::codegen {

class ExprEmitter {
 public:
  ExprEmitter(llvm::IRBuilderBase& builder, llvm::Module& module, int lanes, Isa isa)
      : b_(builder), module_(module), lanes_(static_cast<unsigned>(lanes)), isa_(isa) {}

  // Types in registers: bool is i1, f16 half, bf16 i16, so that no instruction rounds it implicitly.
  llvm::Type* element(DType type);
  llvm::Type* in_memory(DType type);
  llvm::Type* vector(DType type);
  llvm::Type* vector_in_memory(DType type);
  llvm::Value* from_memory(DType type, llvm::Value* v);
  llvm::Value* to_memory(DType type, llvm::Value* v);
  // The same for bf16 where lanes are the even elements, then the odd ones: the two elements of 4 bytes
  // become f32 by one operation each.
  llvm::Value* from_pairs(llvm::Value* v);
  llvm::Value* to_pairs(llvm::Value* v);

  llvm::Value* constant(DType type, std::uint64_t bits);

  // Mask of the lanes whose divisor was zero so far; null if nothing divides.
  llvm::Value* zero_divisors() const { return zero_divisors_; }

  // Emits all nodes and returns their values, from those of inputs and params.
  std::vector<llvm::Value*> values(const scalar::ScalarExpr& expr, const std::vector<llvm::Value*>& inputs,
                                   const std::vector<llvm::Value*>& params);

 private:
  llvm::Value* intrinsic(unsigned id, std::initializer_list<llvm::Value*> args);

  llvm::Value* operation(const scalar::ScalarNode& node, DType from, llvm::Value* const* a,
                         bool has_short_nans);

  llvm::Value* less(DType type, llvm::Value* a, llvm::Value* b);

  llvm::Value* inside_width(DType type, llvm::Value* amount);

  // Truncates towards zero. A zero divisor is recorded and replaced by 1; -1 negates, so the smallest integer
  // wraps.
  llvm::Value* divide(DType type, llvm::Value* a, llvm::Value* b);

  llvm::Value* divide_by_lanes(llvm::Value* a, llvm::Value* b);

  // There is no vector division of integers. A quotient of integers below 2^31 differs from every other
  // integer by at least a relative 2^-31, so rounding in f64 (in f32, for 2^15) cannot change the result.
  llvm::Value* divide_as_float(DType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* widened(llvm::Value* v, DType type);

  llvm::Value* cast(llvm::Value* v, DType from, DType to, bool has_short_nans = false);
  llvm::Value* one(DType type);

  // Saturates; NaN becomes 0. Narrow integers are clamped as floats, which hold their bounds exactly.
  llvm::Value* to_integer(llvm::Value* v, DType from, DType to);

  // Rounds to nearest even with integer arithmetic: VCVTNEPS2BF16 would flush denormals. If a NaN may have
  // bits in the lower half, a carry of theirs must not make it another number.
  llvm::Value* round_to_bfloat(llvm::Value* v, bool has_short_nans);
  llvm::Value* half_of_lanes(llvm::Value* v, unsigned half);

  llvm::Value* lookup(const scalar::ScalarTable& table, llvm::Value* index);

  llvm::IRBuilderBase& b_;
  llvm::Module& module_;
  unsigned lanes_;
  Isa isa_;
  llvm::Value* zero_divisors_ = nullptr;
  // Of bf16 values: the same as f32; and 4 bytes whose upper half they are, the lower half being anything.
  std::unordered_map<llvm::Value*, llvm::Value*> as_float_, in_upper_half_;
};

}  // namespace pel::codegen
