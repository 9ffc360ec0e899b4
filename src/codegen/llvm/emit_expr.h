// The vector operations behind scalar expressions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

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
  ExprEmitter(llvm::IRBuilderBase& builder, llvm::Module& module, int lanes)
      : b_(builder), module_(module), lanes_(static_cast<unsigned>(lanes)) {}

  // In registers: bool is i1, f16 half, bf16 i16, so that no instruction rounds it on its own.
  llvm::Type* element(DType type);
  llvm::Type* in_memory(DType type);
  llvm::Type* vector(DType type);
  llvm::Type* vector_in_memory(DType type);
  llvm::Value* from_memory(DType type, llvm::Value* v);
  llvm::Value* to_memory(DType type, llvm::Value* v);

  llvm::Value* constant(DType type, std::uint64_t bits);

  // Lanes where a divisor was zero, so far; null if nothing divides.
  llvm::Value* zero_divisors() const { return zero_divisors_; }

  // Values of all nodes, given those of inputs and params.
  std::vector<llvm::Value*> values(const scalar::ScalarExpr& expr, const std::vector<llvm::Value*>& inputs,
                                   const std::vector<llvm::Value*>& params);

 private:
  llvm::Value* intrinsic(unsigned id, std::initializer_list<llvm::Value*> args);

  llvm::Value* operation(const scalar::ScalarNode& node, DType from, llvm::Value* const* a);

  llvm::Value* less(DType type, llvm::Value* a, llvm::Value* b);

  llvm::Value* inside_width(DType type, llvm::Value* amount);

  // Towards zero. A zero divisor is noted and counts as 1; -1 negates, so that the least integer wraps.
  llvm::Value* divide(DType type, llvm::Value* a, llvm::Value* b);

  llvm::Value* divide_by_lanes(llvm::Value* a, llvm::Value* b);

  // There is no vector division of integers. A quotient of integers below 2^31 differs from every other
  // integer by at least 2^-31 of itself, so the rounding of f64 (of f32, for 2^15) does not reach it.
  llvm::Value* divide_as_float(DType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* widened(llvm::Value* v, DType type);

  llvm::Value* cast(llvm::Value* v, DType from, DType to);
  llvm::Value* one(DType type);

  // Saturates; NaN gives 0. Narrow integers are clamped as floats, which hold their bounds exactly.
  llvm::Value* to_integer(llvm::Value* v, DType from, DType to);

  // To nearest even by integer arithmetic: VCVTNEPS2BF16 would flush denormals.
  llvm::Value* round_to_bfloat(llvm::Value* v);

  llvm::Value* lookup(const scalar::ScalarTable& table, llvm::Value* index);

  llvm::IRBuilderBase& b_;
  llvm::Module& module_;
  unsigned lanes_;
  llvm::Value* zero_divisors_ = nullptr;
};

}  // namespace pel::codegen
