#include "codegen/llvm/emit_expr.h"

#include <bit>
#include <cmath>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "base/check.h"

namespace pel::codegen {

using llvm::FixedVectorType;
using llvm::Value;
using scalar::ScalarExpr;
using scalar::ScalarNode;
using scalar::ScalarOp;

namespace {

bool is_half(DType type) { return type == kF16 || type == kBF16; }
bool is_signed(DType type) { return type != kU8 && type != kBool; }

constexpr std::uint64_t kLowerHalf = 0xffff, kUpperHalf = 0xffff0000;

// For each node whether the lower half of its bits is 0: of an integer always, of an f32 if it is NaN. That
// holds for operations on bf16: an operation makes a NaN with few bits, or passes on one of its operands'.
std::vector<bool> short_nans(const ScalarExpr& expr) {
  std::vector<bool> is_short;
  for (const ScalarNode& node : expr.nodes) {
    const auto arg = [&](int i) { return static_cast<std::size_t>(node.args[i]); };
    const auto all_from = [&](int first) {
      for (int i = first; i < arity(node.op); ++i)
        if (!is_short[arg(i)]) return false;
      return true;
    };
    switch (node.op) {
      case ScalarOp::Constant: {
        const bool may_be_long =
            node.type == kF32 && std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(node.bits)));
        is_short.push_back((is_floating(node.type) && !may_be_long) || (node.bits & kLowerHalf) == 0);
        break;
      }
      case ScalarOp::Cast: {
        const DType from = expr.nodes[arg(0)].type;
        is_short.push_back(is_floating(node.type) && (from == kBF16 || !is_floating(from)));
        break;
      }
      case ScalarOp::Shl: {
        const ScalarNode& amount = expr.nodes[arg(1)];
        is_short.push_back(is_short[arg(0)] || (amount.op == ScalarOp::Constant && amount.bits >= 16));
        break;
      }
      case ScalarOp::And:
        is_short.push_back(is_short[arg(0)] || is_short[arg(1)]);
        break;
      case ScalarOp::Select:
        is_short.push_back(all_from(1));
        break;
      case ScalarOp::Bitcast:
        is_short.push_back(is_floating(node.type) && is_short[arg(0)]);
        break;
      case ScalarOp::Input:
      case ScalarOp::Param:
      case ScalarOp::Lookup:
      case ScalarOp::Not:
      case ScalarOp::Shr:
      case ScalarOp::ShrLogical:
        is_short.push_back(node.type == kBF16);
        break;
      case ScalarOp::Rem:
      case ScalarOp::Div:
        is_short.push_back(is_floating(node.type) && node.op == ScalarOp::Div && all_from(0));
        break;
      default:
        is_short.push_back(all_from(0));
    }
  }
  return is_short;
}

}  // namespace

llvm::Type* ExprEmitter::element(DType type) {
  switch (type) {
    case DType::F64:
      return b_.getDoubleTy();
    case DType::F32:
      return b_.getFloatTy();
    case DType::F16:
      return b_.getHalfTy();
    case DType::Bool:
      return b_.getInt1Ty();
    default:
      return b_.getIntNTy(static_cast<unsigned>(size_bytes(type)) * 8);
  }
}

llvm::Type* ExprEmitter::in_memory(DType type) { return type == kBool ? b_.getInt8Ty() : element(type); }

llvm::Type* ExprEmitter::vector(DType type) { return FixedVectorType::get(element(type), lanes_); }

llvm::Type* ExprEmitter::vector_in_memory(DType type) {
  return FixedVectorType::get(in_memory(type), lanes_);
}

Value* ExprEmitter::from_memory(DType type, Value* v) {
  return type == kBool ? b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}

Value* ExprEmitter::to_memory(DType type, Value* v) {
  return type == kBool ? b_.CreateZExt(v, vector_in_memory(type)) : v;
}

Value* ExprEmitter::from_pairs(Value* v) {
  llvm::SmallVector<int> order;
  for (unsigned lane = 0; lane < lanes_; ++lane)
    order.push_back(static_cast<int>(2 * (lane % (lanes_ / 2)) + lane / (lanes_ / 2)));
  Value* numbers = b_.CreateShuffleVector(v, order);
  auto* pairs = FixedVectorType::get(b_.getInt32Ty(), lanes_ / 2);
  Value* bits = b_.CreateBitCast(v, pairs);
  Value* even = b_.CreateShl(bits, llvm::ConstantInt::get(pairs, 16));
  Value* odd = b_.CreateAnd(bits, llvm::ConstantInt::get(pairs, kUpperHalf));
  llvm::SmallVector<int> all;
  for (unsigned lane = 0; lane < lanes_; ++lane) all.push_back(static_cast<int>(lane));
  as_float_[numbers] = b_.CreateBitCast(b_.CreateShuffleVector(even, odd, all), vector(kF32));
  return numbers;
}

Value* ExprEmitter::half_of_lanes(Value* v, unsigned half) {
  llvm::SmallVector<int> lanes;
  for (unsigned lane = 0; lane < lanes_ / 2; ++lane)
    lanes.push_back(static_cast<int>(half * lanes_ / 2 + lane));
  return b_.CreateShuffleVector(v, lanes);
}

Value* ExprEmitter::to_pairs(Value* v) {
  if (const auto found = in_upper_half_.find(v); found != in_upper_half_.end()) {
    auto* pairs = FixedVectorType::get(b_.getInt32Ty(), lanes_ / 2);
    Value* even = b_.CreateLShr(half_of_lanes(found->second, 0), llvm::ConstantInt::get(pairs, 16));
    Value* odd = b_.CreateAnd(half_of_lanes(found->second, 1), llvm::ConstantInt::get(pairs, kUpperHalf));
    return b_.CreateBitCast(b_.CreateOr(even, odd), vector(kBF16));
  }
  llvm::SmallVector<int> order;
  for (unsigned lane = 0; lane < lanes_; ++lane)
    order.push_back(static_cast<int>(lane / 2 + lane % 2 * (lanes_ / 2)));
  return b_.CreateShuffleVector(v, order);
}

Value* ExprEmitter::constant(DType type, std::uint64_t bits) {
  const unsigned width = type == kBool ? 1 : static_cast<unsigned>(size_bytes(type)) * 8;
  const llvm::APInt raw = llvm::APInt(64, bits).trunc(width);
  llvm::Constant* c = llvm::ConstantInt::get(b_.getContext(), raw);
  if (is_floating(type) && type != kBF16) c = llvm::ConstantExpr::getBitCast(c, element(type));
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes_), c);
}

std::vector<Value*> ExprEmitter::values(const ScalarExpr& expr, const std::vector<Value*>& inputs,
                                        const std::vector<Value*>& params) {
  std::vector<Value*> values;
  const std::vector<bool> is_short = short_nans(expr);
  for (const ScalarNode& node : expr.nodes) {
    const int count = arity(node.op);
    if (count == 0) {
      values.push_back(node.op == ScalarOp::Input   ? inputs[node.bits]
                       : node.op == ScalarOp::Param ? params[node.bits]
                                                    : constant(node.type, node.bits));
      continue;
    }
    Value* a[3];  // unused arguments repeat the first
    for (int i = 0; i < 3; ++i) a[i] = values[static_cast<std::size_t>(node.args[i < count ? i : 0])];
    const DType from = expr.nodes[static_cast<std::size_t>(node.args[0])].type;
    values.push_back(node.op == ScalarOp::Lookup
                         ? lookup(expr.tables[node.bits], a[0])
                         : operation(node, from, a, is_short[static_cast<std::size_t>(node.args[0])]));
  }
  return values;
}

Value* ExprEmitter::intrinsic(unsigned id, std::initializer_list<Value*> args) {
  return b_.CreateIntrinsic(id, {(*args.begin())->getType()}, llvm::ArrayRef<Value*>(args));
}

Value* ExprEmitter::operation(const ScalarNode& node, DType from, Value* const* a, bool has_short_nans) {
  const bool floating = is_floating(from);
  const bool sign = is_signed(from);
  switch (node.op) {
    case ScalarOp::Add:
      return floating ? b_.CreateFAdd(a[0], a[1]) : b_.CreateAdd(a[0], a[1]);
    case ScalarOp::Sub:
      return floating ? b_.CreateFSub(a[0], a[1]) : b_.CreateSub(a[0], a[1]);
    case ScalarOp::Mul:
      return floating ? b_.CreateFMul(a[0], a[1]) : b_.CreateMul(a[0], a[1]);
    case ScalarOp::Div:
      return floating ? b_.CreateFDiv(a[0], a[1]) : divide(node.type, a[0], a[1]);
    case ScalarOp::Rem:
      // The remainder of IEEE division towards zero is exact, so every implementation produces these bits.
      return floating ? b_.CreateFRem(a[0], a[1])
                      : b_.CreateSub(a[0], b_.CreateMul(divide(node.type, a[0], a[1]), a[1]));
    case ScalarOp::Neg:
      return floating ? b_.CreateFNeg(a[0]) : b_.CreateNeg(a[0]);
    case ScalarOp::Abs:
      if (floating) return intrinsic(llvm::Intrinsic::fabs, {a[0]});
      return sign ? intrinsic(llvm::Intrinsic::abs, {a[0], b_.getFalse()}) : a[0];
    // Compare and select has exactly the semantics of the resulting instruction.
    case ScalarOp::Min:
      return b_.CreateSelect(less(from, a[0], a[1]), a[0], a[1]);
    case ScalarOp::Max:
      return b_.CreateSelect(less(from, a[1], a[0]), a[0], a[1]);
    case ScalarOp::Fma:
      return intrinsic(llvm::Intrinsic::fma, {a[0], a[1], a[2]});
    case ScalarOp::Sqrt:
      return intrinsic(llvm::Intrinsic::sqrt, {a[0]});
    case ScalarOp::Floor:
      return intrinsic(llvm::Intrinsic::floor, {a[0]});
    case ScalarOp::Ceil:
      return intrinsic(llvm::Intrinsic::ceil, {a[0]});
    case ScalarOp::Trunc:
      return intrinsic(llvm::Intrinsic::trunc, {a[0]});
    case ScalarOp::Round:
      return intrinsic(llvm::Intrinsic::roundeven, {a[0]});
    case ScalarOp::And:
      return b_.CreateAnd(a[0], a[1]);
    case ScalarOp::Or:
      return b_.CreateOr(a[0], a[1]);
    case ScalarOp::Xor:
      return b_.CreateXor(a[0], a[1]);
    case ScalarOp::Not:
      return b_.CreateNot(a[0]);
    case ScalarOp::Shl:
      return b_.CreateShl(a[0], inside_width(node.type, a[1]));
    case ScalarOp::Shr:
      return sign ? b_.CreateAShr(a[0], inside_width(node.type, a[1]))
                  : b_.CreateLShr(a[0], inside_width(node.type, a[1]));
    case ScalarOp::ShrLogical:
      return b_.CreateLShr(a[0], inside_width(node.type, a[1]));
    case ScalarOp::Eq:
      return floating ? b_.CreateFCmpOEQ(a[0], a[1]) : b_.CreateICmpEQ(a[0], a[1]);
    case ScalarOp::Ne:
      return floating ? b_.CreateFCmpUNE(a[0], a[1]) : b_.CreateICmpNE(a[0], a[1]);
    case ScalarOp::Lt:
      return less(from, a[0], a[1]);
    case ScalarOp::Le:
      return floating ? b_.CreateFCmpOLE(a[0], a[1])
             : sign   ? b_.CreateICmpSLE(a[0], a[1])
                      : b_.CreateICmpULE(a[0], a[1]);
    case ScalarOp::Select:
      return b_.CreateSelect(a[0], a[1], a[2]);
    case ScalarOp::Cast:
      return cast(a[0], from, node.type, has_short_nans);
    case ScalarOp::Bitcast:
      return b_.CreateBitCast(a[0], vector(node.type));
    default:
      throw InternalError(fmt::format("the emitter does not implement {}", name(node.op)));
  }
}

Value* ExprEmitter::less(DType type, Value* a, Value* b) {
  return is_floating(type) ? b_.CreateFCmpOLT(a, b)
         : is_signed(type) ? b_.CreateICmpSLT(a, b)
                           : b_.CreateICmpULT(a, b);
}

Value* ExprEmitter::inside_width(DType type, Value* amount) {
  if (llvm::isa<llvm::Constant>(amount)) return amount;
  return b_.CreateAnd(amount, constant(type, static_cast<std::uint64_t>(size_bytes(type) * 8 - 1)));
}

Value* ExprEmitter::divide(DType type, Value* a, Value* b) {
  Value* is_zero = b_.CreateICmpEQ(b, llvm::Constant::getNullValue(b->getType()));
  zero_divisors_ = zero_divisors_ ? b_.CreateOr(zero_divisors_, is_zero) : is_zero;
  Value* one = constant(type, 1);
  b = b_.CreateSelect(is_zero, one, b);
  Value* is_minus_one = nullptr;
  if (is_signed(type)) {
    is_minus_one = b_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(b->getType()));
    b = b_.CreateSelect(is_minus_one, one, b);
  }
  Value* quotient = size_bytes(type) == 8 ? divide_by_lanes(a, b) : divide_as_float(type, a, b);
  return is_minus_one ? b_.CreateSelect(is_minus_one, b_.CreateNeg(a), quotient) : quotient;
}

Value* ExprEmitter::divide_by_lanes(Value* a, Value* b) {
  Value* result = llvm::PoisonValue::get(a->getType());
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    Value* q = b_.CreateSDiv(b_.CreateExtractElement(a, lane), b_.CreateExtractElement(b, lane));
    result = b_.CreateInsertElement(result, q, lane);
  }
  return result;
}

Value* ExprEmitter::divide_as_float(DType type, Value* a, Value* b) {
  const DType wide = size_bytes(type) == 4 ? kF64 : kF32;
  const auto to_float = [&](Value* v) { return b_.CreateSIToFP(widened(v, type), vector(wide)); };
  Value* quotient = b_.CreateFDiv(to_float(a), to_float(b));
  return b_.CreateTrunc(b_.CreateFPToSI(quotient, vector(kI32)), vector(type));
}

Value* ExprEmitter::widened(Value* v, DType type) {
  if (size_bytes(type) >= 4) return v;
  return is_signed(type) ? b_.CreateSExt(v, vector(kI32)) : b_.CreateZExt(v, vector(kI32));
}

Value* ExprEmitter::cast(Value* v, DType from, DType to, bool has_short_nans) {
  if (is_half(from) && to != kF32) return cast(cast(v, from, kF32), kF32, to);
  if (is_half(to) && from != kF32) return cast(cast(v, from, kF32), kF32, to);
  if (from == kF16) return b_.CreateFPExt(v, vector(kF32));
  if (to == kF16) return b_.CreateFPTrunc(v, vector(kF16));
  if (from == kBF16) {
    Value*& number = as_float_[v];
    if (number != nullptr) return number;
    const auto wide = in_upper_half_.find(v);
    Value* bits = wide != in_upper_half_.end()
                      ? b_.CreateAnd(wide->second, constant(kI32, kUpperHalf))
                      : b_.CreateShl(b_.CreateZExt(v, vector(kI32)), constant(kI32, 16));
    return number = b_.CreateBitCast(bits, vector(kF32));
  }
  if (to == kBF16) return round_to_bfloat(v, has_short_nans);
  if (from == kBool && is_floating(to)) {
    // Converts through the bits: for AVX-512, LLVM 19 folds 0 / select(b, 1.0, 0.0) to 0 even if b is false.
    llvm::Type* bits = vector(to == kF64 ? kI64 : kI32);
    Value* chosen = b_.CreateSelect(v, b_.CreateBitCast(one(to), bits), llvm::Constant::getNullValue(bits));
    return b_.CreateBitCast(chosen, vector(to));
  }
  if (from == kBool) return b_.CreateZExt(v, vector(to));
  if (to == kBool) {
    Value* zero = llvm::Constant::getNullValue(v->getType());
    return is_floating(from) ? b_.CreateFCmpUNE(v, zero) : b_.CreateICmpNE(v, zero);
  }
  if (is_floating(from) && is_floating(to)) return b_.CreateFPCast(v, vector(to));
  if (is_floating(to)) return b_.CreateSIToFP(widened(v, from), vector(to));
  if (is_floating(from)) return to_integer(v, from, to);
  return is_signed(from) ? b_.CreateSExtOrTrunc(v, vector(to)) : b_.CreateZExtOrTrunc(v, vector(to));
}

Value* ExprEmitter::one(DType type) { return llvm::ConstantFP::get(vector(type), 1.0); }

Value* ExprEmitter::to_integer(Value* v, DType from, DType to) {
  if (size_bytes(to) >= 4) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {vector(to), v->getType()}, {v});
  }
  const double high = to == kU8 ? 255 : size_bytes(to) == 1 ? 127 : 32767;
  const double low = to == kU8 ? 0 : -high - 1;
  Value* number = b_.CreateSelect(b_.CreateFCmpORD(v, v), v, llvm::Constant::getNullValue(v->getType()));
  Value* top = llvm::ConstantFP::get(vector(from), high);
  Value* bottom = llvm::ConstantFP::get(vector(from), low);
  number = b_.CreateSelect(b_.CreateFCmpOLT(number, top), number, top);
  number = b_.CreateSelect(b_.CreateFCmpOGT(number, bottom), number, bottom);
  return b_.CreateTrunc(b_.CreateFPToSI(number, vector(kI32)), vector(to));
}

Value* ExprEmitter::round_to_bfloat(Value* v, bool has_short_nans) {
  Value* bits = b_.CreateBitCast(v, vector(kI32));
  Value* rounded = nullptr;
  if (isa_ == Isa::Avx512) {  // a test and an addition under its mask: an operation less
    Value* odd = b_.CreateICmpNE(b_.CreateAnd(bits, constant(kI32, 0x10000)), constant(kI32, 0));
    rounded = b_.CreateSelect(odd, b_.CreateAdd(bits, constant(kI32, 0x8000)),
                              b_.CreateAdd(bits, constant(kI32, 0x7fff)));
  } else {
    Value* odd = b_.CreateAnd(b_.CreateLShr(bits, constant(kI32, 16)), constant(kI32, 1));
    rounded = b_.CreateAdd(b_.CreateAdd(bits, constant(kI32, 0x7fff)), odd);
  }
  if (!has_short_nans)
    rounded = b_.CreateSelect(b_.CreateFCmpUNO(v, v), b_.CreateOr(bits, constant(kI32, 0x400000)), rounded);
  Value* half = b_.CreateTrunc(b_.CreateLShr(rounded, constant(kI32, 16)), vector(kBF16));
  in_upper_half_[half] = rounded;
  return half;
}

Value* ExprEmitter::lookup(const scalar::ScalarTable& table, Value* index) {
  std::vector<llvm::Constant*> elements;
  for (const std::uint64_t bits : table.bits)
    elements.push_back(llvm::cast<llvm::Constant>(constant(table.type, bits))->getSplatValue());
  auto* type = llvm::ArrayType::get(element(table.type), elements.size());
  auto* global = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                          llvm::ConstantArray::get(type, elements), "table");
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  index = b_.CreateAnd(index, llvm::ConstantInt::get(index->getType(), elements.size() - 1));
  Value* addresses = b_.CreateGEP(element(table.type), global, index);
  const auto align = llvm::Align(static_cast<std::uint64_t>(size_bytes(table.type)));
  return b_.CreateMaskedGather(vector(table.type), addresses, align,
                               llvm::Constant::getAllOnesValue(FixedVectorType::get(b_.getInt1Ty(), lanes_)));
}

}  // namespace pel::codegen
