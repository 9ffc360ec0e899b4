#include "codegen/llvm/emit.h"

#include <map>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "codegen/llvm/target.h"

namespace pel::codegen {
namespace {

using llvm::FixedVectorType;
using llvm::Value;
using scalar::ScalarExpr;
using scalar::ScalarNode;
using scalar::ScalarOp;

bool is_half(DType type) { return type == kF16 || type == kBF16; }
bool is_signed(DType type) { return type != kU8 && type != kBool; }

// The vector operations behind scalar expressions.
class ExprEmitter {
 public:
  ExprEmitter(llvm::IRBuilder<>& builder, llvm::Module& module, int lanes)
      : b_(builder), module_(module), lanes_(static_cast<unsigned>(lanes)) {}

  // In registers: bool is i1, f16 half, bf16 i16, so that no instruction rounds it on its own.
  llvm::Type* element(DType type) {
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
  llvm::Type* in_memory(DType type) { return type == kBool ? b_.getInt8Ty() : element(type); }
  llvm::Type* vector(DType type) { return FixedVectorType::get(element(type), lanes_); }
  llvm::Type* vector_in_memory(DType type) { return FixedVectorType::get(in_memory(type), lanes_); }
  Value* from_memory(DType type, Value* v) {
    return type == kBool ? b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
  }
  Value* to_memory(DType type, Value* v) {
    return type == kBool ? b_.CreateZExt(v, vector_in_memory(type)) : v;
  }

  Value* constant(DType type, std::uint64_t bits) {
    const unsigned width = type == kBool ? 1 : static_cast<unsigned>(size_bytes(type)) * 8;
    const llvm::APInt raw = llvm::APInt(64, bits).trunc(width);
    llvm::Constant* c = llvm::ConstantInt::get(b_.getContext(), raw);
    if (is_floating(type) && type != kBF16) c = llvm::ConstantExpr::getBitCast(c, element(type));
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes_), c);
  }

  // Lanes where a divisor was zero, so far; null if nothing divides.
  Value* zero_divisors() const { return zero_divisors_; }

  // Values of all nodes, given those of inputs and params.
  std::vector<Value*> values(const ScalarExpr& expr, const std::vector<Value*>& inputs,
                             const std::vector<Value*>& params) {
    std::vector<Value*> values;
    for (const ScalarNode& node : expr.nodes) {
      Value* a[3] = {};
      for (int i = 0; i < arity(node.op); ++i) a[i] = values[static_cast<std::size_t>(node.args[i])];
      const DType from =
          arity(node.op) > 0 ? expr.nodes[static_cast<std::size_t>(node.args[0])].type : node.type;
      switch (node.op) {
        case ScalarOp::Input:
          values.push_back(inputs[node.bits]);
          break;
        case ScalarOp::Param:
          values.push_back(params[node.bits]);
          break;
        case ScalarOp::Lookup:
          values.push_back(lookup(expr.tables[node.bits], a[0]));
          break;
        default:
          values.push_back(operation(node, from, a));
      }
    }
    return values;
  }

 private:
  Value* intrinsic(llvm::Intrinsic::ID id, std::initializer_list<Value*> args) {
    return b_.CreateIntrinsic(id, {(*args.begin())->getType()}, llvm::ArrayRef<Value*>(args));
  }

  Value* operation(const ScalarNode& node, DType from, Value* const* a) {
    const bool floating = is_floating(from);
    const bool sign = is_signed(from);
    switch (node.op) {
      case ScalarOp::Constant:
        return constant(node.type, node.bits);
      case ScalarOp::Add:
        return floating ? b_.CreateFAdd(a[0], a[1]) : b_.CreateAdd(a[0], a[1]);
      case ScalarOp::Sub:
        return floating ? b_.CreateFSub(a[0], a[1]) : b_.CreateSub(a[0], a[1]);
      case ScalarOp::Mul:
        return floating ? b_.CreateFMul(a[0], a[1]) : b_.CreateMul(a[0], a[1]);
      case ScalarOp::Div:
        return floating ? b_.CreateFDiv(a[0], a[1]) : divide(node.type, a[0], a[1]);
      case ScalarOp::Rem:
        // The remainder of IEEE division towards zero is exact, so any implementation gives these bits.
        return floating ? b_.CreateFRem(a[0], a[1])
                        : b_.CreateSub(a[0], b_.CreateMul(divide(node.type, a[0], a[1]), a[1]));
      case ScalarOp::Neg:
        return floating ? b_.CreateFNeg(a[0]) : b_.CreateNeg(a[0]);
      case ScalarOp::Abs:
        if (floating) return intrinsic(llvm::Intrinsic::fabs, {a[0]});
        return sign ? intrinsic(llvm::Intrinsic::abs, {a[0], b_.getFalse()}) : a[0];
      // Compare and select has just the meaning of the instruction it becomes.
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
        return cast(a[0], from, node.type);
      case ScalarOp::Bitcast:
        return b_.CreateBitCast(a[0], vector(node.type));
      default:
        throw InternalError(fmt::format("no code for {}", name(node.op)));
    }
  }

  Value* less(DType type, Value* a, Value* b) {
    return is_floating(type) ? b_.CreateFCmpOLT(a, b)
           : is_signed(type) ? b_.CreateICmpSLT(a, b)
                             : b_.CreateICmpULT(a, b);
  }

  Value* inside_width(DType type, Value* amount) {
    if (llvm::isa<llvm::Constant>(amount)) return amount;
    return b_.CreateAnd(amount, constant(type, static_cast<std::uint64_t>(size_bytes(type) * 8 - 1)));
  }

  // Towards zero. A zero divisor is noted and counts as 1; -1 negates, so that the least integer wraps.
  Value* divide(DType type, Value* a, Value* b) {
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

  Value* divide_by_lanes(Value* a, Value* b) {
    Value* result = llvm::PoisonValue::get(a->getType());
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      Value* q = b_.CreateSDiv(b_.CreateExtractElement(a, lane), b_.CreateExtractElement(b, lane));
      result = b_.CreateInsertElement(result, q, lane);
    }
    return result;
  }

  // There is no vector division of integers. A quotient of integers below 2^31 differs from every other
  // integer by at least 2^-31 of itself, so the rounding of f64 (of f32, for 2^15) does not reach it.
  Value* divide_as_float(DType type, Value* a, Value* b) {
    const DType wide = size_bytes(type) == 4 ? kF64 : kF32;
    const auto to_float = [&](Value* v) { return b_.CreateSIToFP(widened(v, type), vector(wide)); };
    Value* quotient = b_.CreateFDiv(to_float(a), to_float(b));
    return b_.CreateTrunc(b_.CreateFPToSI(quotient, vector(kI32)), vector(type));
  }
  Value* widened(Value* v, DType type) {
    if (size_bytes(type) >= 4) return v;
    return is_signed(type) ? b_.CreateSExt(v, vector(kI32)) : b_.CreateZExt(v, vector(kI32));
  }

  Value* cast(Value* v, DType from, DType to) {
    if (is_half(from) && to != kF32) return cast(cast(v, from, kF32), kF32, to);
    if (is_half(to) && from != kF32) return cast(cast(v, from, kF32), kF32, to);
    if (from == kF16) return b_.CreateFPExt(v, vector(kF32));
    if (to == kF16) return b_.CreateFPTrunc(v, vector(kF16));
    if (from == kBF16)
      return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(v, vector(kI32)), constant(kI32, 16)), vector(kF32));
    if (to == kBF16) return round_to_bfloat(v);
    if (from == kBool) {
      return is_floating(to) ? b_.CreateSelect(v, one(to), llvm::Constant::getNullValue(vector(to)))
                             : b_.CreateZExt(v, vector(to));
    }
    if (to == kBool) {
      Value* zero = llvm::Constant::getNullValue(v->getType());
      return is_floating(from) ? b_.CreateFCmpUNE(v, zero) : b_.CreateICmpNE(v, zero);
    }
    if (is_floating(from) && is_floating(to)) return b_.CreateFPCast(v, vector(to));
    if (is_floating(to)) return b_.CreateSIToFP(widened(v, from), vector(to));
    if (is_floating(from)) return to_integer(v, from, to);
    return is_signed(from) ? b_.CreateSExtOrTrunc(v, vector(to)) : b_.CreateZExtOrTrunc(v, vector(to));
  }
  Value* one(DType type) { return llvm::ConstantFP::get(vector(type), 1.0); }

  // Saturates; NaN gives 0. Narrow integers are clamped as floats, which hold their bounds exactly.
  Value* to_integer(Value* v, DType from, DType to) {
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

  // To nearest even by integer arithmetic: VCVTNEPS2BF16 would flush denormals.
  Value* round_to_bfloat(Value* v) {
    Value* bits = b_.CreateBitCast(v, vector(kI32));
    Value* odd = b_.CreateAnd(b_.CreateLShr(bits, constant(kI32, 16)), constant(kI32, 1));
    Value* rounded =
        b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(bits, constant(kI32, 0x7fff)), odd), constant(kI32, 16));
    Value* nan = b_.CreateOr(b_.CreateLShr(bits, constant(kI32, 16)), constant(kI32, 0x40));
    return b_.CreateTrunc(b_.CreateSelect(b_.CreateFCmpUNO(v, v), nan, rounded), vector(kBF16));
  }

  Value* lookup(const scalar::ScalarTable& table, Value* index) {
    std::vector<llvm::Constant*> elements;
    for (const std::uint64_t bits : table.bits)
      elements.push_back(llvm::cast<llvm::Constant>(constant(table.type, bits))->getSplatValue());
    auto* type = llvm::ArrayType::get(element(table.type), elements.size());
    auto* global = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                            llvm::ConstantArray::get(type, elements), "table");
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    index = b_.CreateAnd(index, llvm::ConstantInt::get(index->getType(), elements.size() - 1));
    Value* places = b_.CreateGEP(element(table.type), global, index);
    const auto align = llvm::Align(static_cast<std::uint64_t>(size_bytes(table.type)));
    return b_.CreateMaskedGather(
        vector(table.type), places, align,
        llvm::Constant::getAllOnesValue(FixedVectorType::get(b_.getInt1Ty(), lanes_)));
  }

  llvm::IRBuilder<>& b_;
  llvm::Module& module_;
  unsigned lanes_;
  Value* zero_divisors_ = nullptr;
};

// One kernel:
//   entry   pointers, steps, params
//   loop    the body for `lanes` elements; the last, partial round by a mask (AVX-512), or through copies of
//           the operands' ends that are padded to whole vectors (AVX2, which has no masks for narrow
//           elements)
//   exit
class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const LoopKernel& kernel, Isa isa, Linkage linkage)
      : module_(module),
        kernel_(kernel),
        isa_(isa),
        b_(module.getContext()),
        expr_(b_, module, kernel.lanes) {
    for (const std::int32_t result : kernel.body.results)
      outputs_.push_back(kernel.body.nodes[static_cast<std::size_t>(result)].type);
    auto* type = llvm::FunctionType::get(
        b_.getInt32Ty(), {b_.getInt64Ty(), b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kernel.name, module);
    if (linkage == Linkage::IntoLibrary) function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
    set_target(*function_, isa);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
  }

  void emit() {
    b_.SetInsertPoint(block("entry"));
    count_ = function_->getArg(0);
    // Room is taken in the first block: elsewhere it would move the stack at run time.
    for (const DType input : kernel_.body.inputs) copies_.push_back(room(input));
    if (isa_ == Isa::Avx2) {
      for (std::size_t i = 0; i < operand_count(); ++i) padded_.push_back(room(dtype(i)));
    }
    for (std::size_t i = 0; i < operand_count(); ++i) open_operand(i);
    params_.resize(kernel_.body.params.size());
    for (const ScalarNode& node : kernel_.body.nodes) {
      if (node.op == ScalarOp::Param) params_[node.bits] = param(node.bits);
    }
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* loop = block("loop");
    b_.CreateBr(loop);

    b_.SetInsertPoint(loop);
    at_ = b_.CreatePHI(b_.getInt64Ty(), 2);
    at_->addIncoming(b_.getInt64(0), before);
    for (Operand& operand : operands_) {
      if (!operand.steps) continue;
      operand.here = b_.CreatePHI(b_.getPtrTy(), 2);
      operand.here->addIncoming(operand.start, before);
    }
    llvm::PHINode* status = divides() ? b_.CreatePHI(b_.getInt32Ty(), 2) : nullptr;
    if (status) status->addIncoming(b_.getInt32(0), before);
    llvm::PHINode* folded = nullptr;
    if (kernel_.fold) {
      folded = b_.CreatePHI(expr_.vector(outputs_[0]), 2);
      folded->addIncoming(expr_.constant(outputs_[0], kernel_.fold->initial_bits), before);
    }
    remaining_ = b_.CreateSub(count_, at_);
    if (isa_ == Isa::Avx512) {
      mask_ = bit_mask();
    } else {
      divert_tail();
    }

    std::vector<Value*> inputs;
    for (std::size_t i = 0; i < kernel_.body.inputs.size(); ++i) inputs.push_back(load(i + outputs_.size()));
    if (kernel_.fold && outputs_.size() == 1) fetch_ahead(operands_[outputs_.size()]);
    const std::vector<Value*> values = expr_.values(kernel_.body, inputs, params_);
    Value* next_folded = nullptr;
    if (kernel_.fold) {
      Value* value = values[static_cast<std::size_t>(kernel_.body.results[0])];
      next_folded = b_.CreateSelect(lane_mask(), combined(folded, value, kernel_.lanes), folded);
    }
    for (std::size_t i = kernel_.fold ? 1 : 0; i < outputs_.size(); ++i)
      store(i, values[static_cast<std::size_t>(kernel_.body.results[i])]);
    Value* next_status = status ? status_after(status) : nullptr;
    if (isa_ == Isa::Avx2 && (!kernel_.fold || outputs_.size() > 1)) write_back_tail();

    Value* next = b_.CreateAdd(at_, b_.getInt64(static_cast<std::uint64_t>(kernel_.lanes)));
    llvm::BasicBlock* end = b_.GetInsertBlock();
    at_->addIncoming(next, end);
    if (status) status->addIncoming(next_status, end);
    if (folded) folded->addIncoming(next_folded, end);
    for (Operand& operand : operands_) {
      if (operand.steps)
        operand.here->addIncoming(b_.CreateGEP(b_.getInt8Ty(), operand.here, operand.step), end);
    }
    llvm::BasicBlock* exit = block("exit");
    b_.CreateCondBr(b_.CreateICmpSLT(next, count_), loop, exit);

    b_.SetInsertPoint(exit);
    if (kernel_.fold) store_folded(next_folded);
    b_.CreateRet(status ? next_status : b_.getInt32(0));
  }

 private:
  struct Operand {
    DType dtype{};
    bool steps = true;              // the folded output does not
    Value* start = nullptr;         // first element
    Value* step = nullptr;          // bytes an iteration
    llvm::PHINode* here = nullptr;  // of this iteration
    Value* place = nullptr;         // where this iteration loads or stores: here, or the padded copy
    Value* padded = nullptr;        // AVX2: room for one iteration
  };

  std::size_t operand_count() const { return outputs_.size() + kernel_.body.inputs.size(); }
  DType dtype(std::size_t i) const {
    return i < outputs_.size() ? outputs_[i] : kernel_.body.inputs[i - outputs_.size()];
  }
  llvm::BasicBlock* block(const char* label) {
    return llvm::BasicBlock::Create(b_.getContext(), label, function_);
  }
  Value* room(DType type) {
    auto* place = b_.CreateAlloca(expr_.vector_in_memory(type));
    place->setAlignment(llvm::Align(64));
    return place;
  }
  Value* element_of(Value* array, std::size_t i, llvm::Type* type) {
    return b_.CreateLoad(type, b_.CreateConstGEP1_64(type, array, i));
  }

  // A repeated input becomes a vector of copies that the loop reads without moving on: the same loop serves
  // tensors and numbers.
  void open_operand(std::size_t i) {
    Operand operand;
    operand.dtype = dtype(i);
    Value* data = element_of(function_->getArg(1), i, b_.getPtrTy());
    Value* moves = b_.getInt64(static_cast<std::uint64_t>(kernel_.lanes * size_bytes(operand.dtype)));
    if (i < outputs_.size()) {
      operand.start = data;
      operand.step = moves;
      operand.steps = !kernel_.fold || i > 0;
    } else {
      Value* copies = copies_[i - outputs_.size()];
      Value* repeats = b_.CreateICmpEQ(element_of(function_->getArg(2), i, b_.getInt64Ty()), b_.getInt64(0));
      llvm::BasicBlock *here = b_.GetInsertBlock(), *copy = block("copy"), *next = block("next");
      b_.CreateCondBr(repeats, copy, next);
      b_.SetInsertPoint(copy);
      Value* first = b_.CreateAlignedLoad(expr_.in_memory(operand.dtype), data, llvm::Align(1));
      b_.CreateStore(b_.CreateVectorSplat(static_cast<unsigned>(kernel_.lanes), first), copies);
      b_.CreateBr(next);
      b_.SetInsertPoint(next);
      llvm::PHINode *start = b_.CreatePHI(b_.getPtrTy(), 2), *step = b_.CreatePHI(b_.getInt64Ty(), 2);
      start->addIncoming(data, here);
      start->addIncoming(copies, copy);
      step->addIncoming(moves, here);
      step->addIncoming(b_.getInt64(0), copy);
      operand.start = start;
      operand.step = step;
    }
    if (isa_ == Isa::Avx2 && operand.steps) {
      operand.padded = padded_[i];
      b_.CreateStore(llvm::Constant::getNullValue(expr_.vector_in_memory(operand.dtype)), operand.padded);
    }
    operands_.push_back(operand);
  }

  Value* param(std::size_t i) {
    const DType type = kernel_.body.params[i];
    Value* number = b_.CreateConstGEP1_64(b_.getInt8Ty(), function_->getArg(3), i * sizeof(PelScalar));
    Value* value = nullptr;
    if (is_floating(type)) {
      value = b_.CreateLoad(b_.getDoubleTy(),
                            b_.CreateConstGEP1_64(b_.getInt8Ty(), number, offsetof(PelScalar, as_float)));
      value = b_.CreateFPCast(value, expr_.element(type));
    } else {
      value = b_.CreateLoad(b_.getInt64Ty(),
                            b_.CreateConstGEP1_64(b_.getInt8Ty(), number, offsetof(PelScalar, as_int)));
      value =
          type == kBool ? b_.CreateICmpNE(value, b_.getInt64(0)) : b_.CreateTrunc(value, expr_.element(type));
    }
    return b_.CreateVectorSplat(static_cast<unsigned>(kernel_.lanes), value);
  }

  Value* in_this_round() {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, remaining_,
                                    b_.getInt64(static_cast<std::uint64_t>(kernel_.lanes)));
  }
  // The low `remaining` bits, as a mask register wants them.
  Value* bit_mask() {
    Value* bits =
        b_.CreateLShr(b_.getInt64(~std::uint64_t{0}), b_.CreateSub(b_.getInt64(64), in_this_round()));
    const auto lanes = static_cast<unsigned>(kernel_.lanes);
    return b_.CreateBitCast(b_.CreateTrunc(bits, b_.getIntNTy(lanes)),
                            FixedVectorType::get(b_.getInt1Ty(), lanes));
  }
  Value* lane_mask() {
    if (mask_) return mask_;
    llvm::SmallVector<llvm::Constant*> numbers;
    for (int lane = 0; lane < kernel_.lanes; ++lane)
      numbers.push_back(b_.getInt32(static_cast<std::uint32_t>(lane)));
    Value* limit = b_.CreateVectorSplat(static_cast<unsigned>(kernel_.lanes),
                                        b_.CreateTrunc(in_this_round(), b_.getInt32Ty()));
    return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), limit);
  }

  void copy(Value* to, Value* from, DType type) {
    Value* bytes = b_.CreateMul(remaining_, b_.getInt64(static_cast<std::uint64_t>(size_bytes(type))));
    b_.CreateMemCpy(to, llvm::MaybeAlign(1), from, llvm::MaybeAlign(1), bytes);
  }
  void divert_tail() {
    llvm::BasicBlock* whole = b_.GetInsertBlock();
    llvm::BasicBlock* tail = block("tail");
    llvm::BasicBlock* body = block("body");
    is_tail_ = b_.CreateICmpSLT(remaining_, b_.getInt64(static_cast<std::uint64_t>(kernel_.lanes)));
    b_.CreateCondBr(is_tail_, tail, body);
    b_.SetInsertPoint(tail);
    for (std::size_t i = outputs_.size(); i < operands_.size(); ++i)
      copy(operands_[i].padded, operands_[i].here, operands_[i].dtype);
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    for (Operand& operand : operands_) {
      if (!operand.steps) continue;
      llvm::PHINode* place = b_.CreatePHI(b_.getPtrTy(), 2);
      place->addIncoming(operand.here, whole);
      place->addIncoming(operand.padded, tail);
      operand.place = place;
    }
  }
  void write_back_tail() {
    llvm::BasicBlock* tail = block("tail_out");
    llvm::BasicBlock* done = block("next");
    b_.CreateCondBr(is_tail_, tail, done);
    b_.SetInsertPoint(tail);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (operands_[i].steps) copy(operands_[i].here, operands_[i].padded, operands_[i].dtype);
    }
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }

  Value* load(std::size_t i) {
    const Operand& operand = operands_[i];
    llvm::Type* type = expr_.vector_in_memory(operand.dtype);
    Value* raw = mask_ ? static_cast<Value*>(b_.CreateMaskedLoad(type, operand.here, llvm::Align(1), mask_,
                                                                 llvm::Constant::getNullValue(type)))
                       : b_.CreateAlignedLoad(type, operand.place, llvm::Align(1));
    return expr_.from_memory(operand.dtype, raw);
  }
  // A fold is as fast as memory, and the processor's own fetching stops at pages.
  void fetch_ahead(const Operand& operand) {
    constexpr std::int64_t kPage = 4096, kLine = 64;
    for (std::int64_t b = 0; b < kernel_.lanes * size_bytes(operand.dtype); b += kLine) {
      Value* ahead =
          b_.CreateConstGEP1_64(b_.getInt8Ty(), operand.here, static_cast<std::uint64_t>(kPage + b));
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {ahead, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});  // read, to L1, data
    }
  }
  void store(std::size_t i, Value* value) {
    const Operand& operand = operands_[i];
    Value* raw = expr_.to_memory(operand.dtype, value);
    if (mask_) {
      b_.CreateMaskedStore(raw, operand.here, llvm::Align(1), mask_);
    } else {
      b_.CreateAlignedStore(raw, operand.place, llvm::Align(1));
    }
  }

  bool divides() const {
    for (const ScalarNode& node : kernel_.body.nodes) {
      if ((node.op == ScalarOp::Div || node.op == ScalarOp::Rem) && !is_floating(node.type)) return true;
    }
    return false;
  }
  Value* status_after(Value* status) {
    Value* lanes = b_.CreateAnd(expr_.zero_divisors(), lane_mask());
    Value* any = b_.CreateICmpNE(b_.CreateBitCast(lanes, b_.getIntNTy(static_cast<unsigned>(kernel_.lanes))),
                                 b_.getIntN(static_cast<unsigned>(kernel_.lanes), 0));
    return b_.CreateOr(status, b_.CreateZExt(any, b_.getInt32Ty()));
  }

  Value* combined(Value* a, Value* b, int lanes) {
    ExprEmitter emitter(b_, module_, lanes);
    const ScalarExpr& combine = kernel_.fold->combine;
    return emitter.values(combine, {a, b}, {})[static_cast<std::size_t>(combine.results[0])];
  }
  void store_folded(Value* lanes) {
    for (int half = kernel_.lanes / 2; half >= 1; half /= 2) {
      llvm::SmallVector<int> low, high;
      for (int lane = 0; lane < half; ++lane) {
        low.push_back(lane);
        high.push_back(half + lane);
      }
      lanes = combined(b_.CreateShuffleVector(lanes, low), b_.CreateShuffleVector(lanes, high), half);
    }
    const DType type = outputs_[0];
    Value* element = b_.CreateExtractElement(lanes, std::uint64_t{0});
    if (type == kBool) element = b_.CreateZExt(element, b_.getInt8Ty());
    b_.CreateAlignedStore(element, operands_[0].start, llvm::Align(1));
  }

  llvm::Module& module_;
  const LoopKernel& kernel_;
  Isa isa_;
  llvm::IRBuilder<> b_;
  ExprEmitter expr_;
  std::vector<DType> outputs_;
  llvm::Function* function_ = nullptr;
  Value* count_ = nullptr;
  std::vector<Operand> operands_;
  std::vector<Value*> copies_;  // of inputs that repeat
  std::vector<Value*> padded_;  // AVX2: room for the last round
  std::vector<Value*> params_;
  llvm::PHINode* at_ = nullptr;
  Value* remaining_ = nullptr;
  Value* mask_ = nullptr;     // AVX-512
  Value* is_tail_ = nullptr;  // AVX2
};

}  // namespace

std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context, const std::vector<LoopKernel>& kernels,
                                          Isa isa, Linkage linkage) {
  auto module = std::make_unique<llvm::Module>("pellucid", context);
  for (const LoopKernel& kernel : kernels) KernelEmitter(*module, kernel, isa, linkage).emit();
  return module;
}

void verify(const llvm::Module& module) {
  std::string broken;
  llvm::raw_string_ostream report(broken);
  PEL_ASSERT(!llvm::verifyModule(module, &report), broken);
}

}  // namespace pel::codegen
