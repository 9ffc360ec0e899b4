// Emits loop kernels. KernelEmitter::emit writes the entry block, opens the operands, emits the loop body
// with ExprEmitter (emit_expr.h), handles the tail, and stores results; reductions combine their lanes after
// the loop. emit_module emits all kernels into one module.
#include "codegen/llvm/emit.h"

#include <algorithm>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "codegen/llvm/emit_expr.h"
#include "codegen/llvm/target.h"

namespace pel::codegen {
namespace {

using llvm::FixedVectorType;
using llvm::Value;
using scalar::ScalarExpr;
using scalar::ScalarNode;
using scalar::ScalarOp;

// Emits one kernel as these blocks:
//   entry   pointers, steps, params
//   loop    the body for `lanes` elements. The last, partial iteration uses a mask (AVX-512), or copies of
//           the operands' tails that are padded to full vectors (AVX2, which has no masks for narrow
//           elements, and NEON)
//   exit
// The variant over runs wraps everything after `entry` in an outer loop, `run`.
class KernelEmitter {
 public:
  enum class Form : std::uint8_t { Loop, Runs };
  KernelEmitter(llvm::Module& module, const LoopKernel& kernel, Isa isa, Linkage linkage, Form form)
      : module_(module),
        kernel_(kernel),
        isa_(isa),
        form_(form),
        b_(module.getContext()),
        expr_(b_, module, kernel.lanes, isa) {
    for (const std::int32_t result : kernel.body.results)
      outputs_.push_back(kernel.body.nodes[static_cast<std::size_t>(result)].type);
    llvm::Type *number = b_.getInt64Ty(), *pointer = b_.getPtrTy();
    const llvm::SmallVector<llvm::Type*> args =
        form == Form::Runs ? llvm::SmallVector<llvm::Type*>{number, pointer, pointer, number, pointer}
                           : llvm::SmallVector<llvm::Type*>{number, pointer, pointer, pointer};
    auto* type = llvm::FunctionType::get(form == Form::Runs ? b_.getVoidTy() : b_.getInt32Ty(), args, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       form == Form::Runs ? kernel.runs_name() : kernel.name, module);
    if (linkage == Linkage::IntoLibrary) function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
    set_target(*function_, isa);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
  }

  void emit() {
    b_.SetInsertPoint(block("entry"));
    count_ = function_->getArg(0);
    // Allocas belong in the entry block: elsewhere they would adjust the stack at run time.
    if (form_ == Form::Loop) {
      for (std::size_t i = 0; i < kernel_.body.inputs.size(); ++i)
        copies_.push_back(is_read(i) && !always_repeats(i) && !is_always_dense(i)
                              ? stack_slot(kernel_.body.inputs[i])
                              : nullptr);
    }
    if (!facts(isa_).has_masks) {
      for (std::size_t i = 0; i < operand_count(); ++i) {
        padded_.push_back(nullptr);
        if (!steps(i)) continue;
        padded_.back() = stack_slot(dtype(i));
        b_.CreateStore(llvm::Constant::getNullValue(expr_.vector_in_memory(dtype(i))), padded_.back());
      }
    }
    params_.resize(kernel_.body.params.size());
    for (const ScalarNode& node : kernel_.body.nodes) {
      if (node.op == ScalarOp::Param) params_[node.bits] = param(node.bits);
    }
    for (std::size_t i = 0; i < operand_count(); ++i)
      data_.push_back(element_of(function_->getArg(1), i, b_.getPtrTy()));
    in_pairs_ = can_be_in_pairs();
    if (form_ == Form::Runs) open_runs();
    for (std::size_t i = 0; i < operand_count(); ++i) open_operand(i);
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
    if (facts(isa_).has_masks) {
      mask_ = bit_mask();
    } else {
      branch_to_tail();
    }

    std::vector<Value*> inputs;
    for (std::size_t i = 0; i < kernel_.body.inputs.size(); ++i) inputs.push_back(load(i + outputs_.size()));
    if (kernel_.fold && outputs_.size() == 1) prefetch_ahead();
    const std::vector<Value*> values = expr_.values(kernel_.body, inputs, params_);
    Value* next_folded = nullptr;
    if (kernel_.fold) {
      Value* value = values[static_cast<std::size_t>(kernel_.body.results[0])];
      next_folded = b_.CreateSelect(lane_mask(), combined(folded, value, kernel_.lanes), folded);
    }
    for (std::size_t i = kernel_.fold ? 1 : 0; i < outputs_.size(); ++i)
      store(i, values[static_cast<std::size_t>(kernel_.body.results[i])]);
    Value* next_status = status ? status_after(status) : nullptr;
    if (!facts(isa_).has_masks && (!kernel_.fold || outputs_.size() > 1)) write_back_tail();

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
    if (form_ == Form::Runs) return close_runs();
    b_.CreateRet(status ? next_status : b_.getInt32(0));
  }

 private:
  struct Operand {
    DType dtype{};
    bool steps = true;              // false for the reduced output and for inputs that always repeat
    Value* start = nullptr;         // first element
    Value* step = nullptr;          // bytes per iteration
    llvm::PHINode* here = nullptr;  // pointer in this iteration
    Value* address = nullptr;       // address this iteration loads or stores: here, or the padded copy
    Value* padded = nullptr;        // without masks: scratch for one iteration
    Value* copies = nullptr;        // of an input that always repeats
  };

  std::size_t operand_count() const { return outputs_.size() + kernel_.body.inputs.size(); }
  DType dtype(std::size_t i) const {
    return i < outputs_.size() ? outputs_[i] : kernel_.body.inputs[i - outputs_.size()];
  }
  bool is_read(std::size_t input) const {
    return std::any_of(kernel_.body.nodes.begin(), kernel_.body.nodes.end(), [&](const ScalarNode& node) {
      return node.op == ScalarOp::Input && node.bits == input;
    });
  }
  bool always_repeats(std::size_t input) const {
    return form_ == Form::Runs ? input > 0 : (kernel_.repeated >> input & 1) != 0;
  }
  bool is_always_dense(std::size_t input) const {
    return form_ == Form::Runs ? input == 0 : (kernel_.dense >> input & 1) != 0;
  }
  // Returns whether the loop advances the operand's pointer; that of the reduced output stays.
  bool steps(std::size_t i) const {
    if (i < outputs_.size()) return !kernel_.fold || i > 0;
    return is_read(i - outputs_.size()) && !always_repeats(i - outputs_.size());
  }
  // Whether lanes may be even elements, then odd ones: no lane needs its place, and each half fills vectors.
  bool can_be_in_pairs() const {
    if (kernel_.fold || divides() || kernel_.lanes * 2 < vector_bytes(isa_)) return false;
    for (std::size_t i = 0; i < operand_count(); ++i)
      if (steps(i) && dtype(i) != kBF16) return false;
    return true;
  }
  llvm::BasicBlock* block(const char* label) {
    return llvm::BasicBlock::Create(b_.getContext(), label, function_);
  }
  Value* stack_slot(DType type) {
    auto* address = b_.CreateAlloca(expr_.vector_in_memory(type));
    address->setAlignment(llvm::Align(64));
    return address;
  }
  Value* element_of(Value* array, std::size_t i, llvm::Type* type) {
    return b_.CreateLoad(type, b_.CreateConstGEP1_64(type, array, i));
  }

  void open_runs() {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *head = block("run");
    for (std::size_t i = 0; i < operand_count(); ++i)
      run_steps_.push_back(element_of(function_->getArg(4), i, b_.getInt64Ty()));
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    run_ = b_.CreatePHI(b_.getInt64Ty(), 2);
    run_->addIncoming(b_.getInt64(0), before);
    for (Value*& data : data_) {
      llvm::PHINode* here = b_.CreatePHI(b_.getPtrTy(), 2);
      here->addIncoming(data, before);
      data = here;
    }
  }
  void close_runs() {
    llvm::BasicBlock *here = b_.GetInsertBlock(), *done = block("done");
    Value* next = b_.CreateAdd(run_, b_.getInt64(1));
    run_->addIncoming(next, here);
    for (std::size_t i = 0; i < data_.size(); ++i)
      llvm::cast<llvm::PHINode>(data_[i])->addIncoming(b_.CreateGEP(b_.getInt8Ty(), data_[i], run_steps_[i]),
                                                       here);
    b_.CreateCondBr(b_.CreateICmpSLT(next, function_->getArg(3)), run_->getParent(), done);
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
  }

  // A repeated input becomes a vector of copies that the loop reads without advancing: the same loop serves
  // tensors and scalars.
  void open_operand(std::size_t i) {
    Operand operand;
    operand.dtype = dtype(i);
    Value* data = data_[i];
    Value* moves = b_.getInt64(static_cast<std::uint64_t>(kernel_.lanes * size_bytes(operand.dtype)));
    operand.steps = steps(i);
    const std::size_t input = i - outputs_.size();
    if (i < outputs_.size() || (operand.steps && is_always_dense(input))) {
      operand.start = data;
      operand.step = moves;
    } else if (!operand.steps) {
      if (is_read(input)) {
        Value* one = b_.CreateAlignedLoad(expr_.in_memory(operand.dtype), data, llvm::Align(1));
        operand.copies = b_.CreateVectorSplat(static_cast<unsigned>(kernel_.lanes), one);
      }
    } else {
      Value* copies = copies_[input];
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
    if (!facts(isa_).has_masks && operand.steps) operand.padded = padded_[i];
    operands_.push_back(operand);
  }

  Value* param(std::size_t i) {
    const DType type = kernel_.body.params[i];
    Value* number = b_.CreateConstGEP1_64(b_.getInt8Ty(), function_->getArg(form_ == Form::Runs ? 2 : 3),
                                          i * sizeof(PelScalar));
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

  Value* in_this_iteration() {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, remaining_,
                                    b_.getInt64(static_cast<std::uint64_t>(kernel_.lanes)));
  }
  // Returns a mask with the low `remaining` bits set.
  Value* bit_mask() {
    Value* bits =
        b_.CreateLShr(b_.getInt64(~std::uint64_t{0}), b_.CreateSub(b_.getInt64(64), in_this_iteration()));
    const auto lanes = static_cast<unsigned>(kernel_.lanes);
    return b_.CreateBitCast(b_.CreateTrunc(bits, b_.getIntNTy(lanes)),
                            FixedVectorType::get(b_.getInt1Ty(), lanes));
  }
  Value* lane_mask() {
    if (mask_) return mask_;
    llvm::SmallVector<llvm::Constant*> lane_indices;
    for (int lane = 0; lane < kernel_.lanes; ++lane)
      lane_indices.push_back(b_.getInt32(static_cast<std::uint32_t>(lane)));
    Value* limit = b_.CreateVectorSplat(static_cast<unsigned>(kernel_.lanes),
                                        b_.CreateTrunc(in_this_iteration(), b_.getInt32Ty()));
    return b_.CreateICmpSLT(llvm::ConstantVector::get(lane_indices), limit);
  }

  void copy(Value* to, Value* from, DType type) {
    Value* bytes = b_.CreateMul(remaining_, b_.getInt64(static_cast<std::uint64_t>(size_bytes(type))));
    b_.CreateMemCpy(to, llvm::MaybeAlign(1), from, llvm::MaybeAlign(1), bytes);
  }
  void branch_to_tail() {
    llvm::BasicBlock* whole = b_.GetInsertBlock();
    llvm::BasicBlock* tail = block("tail");
    llvm::BasicBlock* body = block("body");
    is_tail_ = b_.CreateICmpSLT(remaining_, b_.getInt64(static_cast<std::uint64_t>(kernel_.lanes)));
    b_.CreateCondBr(is_tail_, tail, body);
    b_.SetInsertPoint(tail);
    for (std::size_t i = outputs_.size(); i < operands_.size(); ++i) {
      if (operands_[i].steps) copy(operands_[i].padded, operands_[i].here, operands_[i].dtype);
    }
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    for (Operand& operand : operands_) {
      if (!operand.steps) continue;
      llvm::PHINode* address = b_.CreatePHI(b_.getPtrTy(), 2);
      address->addIncoming(operand.here, whole);
      address->addIncoming(operand.padded, tail);
      operand.address = address;
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
    if (!operand.steps) return operand.copies ? expr_.from_memory(operand.dtype, operand.copies) : nullptr;
    llvm::Type* type = expr_.vector_in_memory(operand.dtype);
    Value* raw = mask_ ? static_cast<Value*>(b_.CreateMaskedLoad(type, operand.here, llvm::Align(1), mask_,
                                                                 llvm::Constant::getNullValue(type)))
                       : b_.CreateAlignedLoad(type, operand.address, llvm::Align(1));
    return in_pairs_ ? expr_.from_pairs(raw) : expr_.from_memory(operand.dtype, raw);
  }
  // A reduction is memory-bound, and the hardware prefetcher stops at page boundaries.
  void prefetch_ahead() {
    constexpr std::int64_t kPage = 4096, kLine = 64;
    const Operand& operand = operands_[outputs_.size()];
    if (!operand.steps) return;
    for (std::int64_t b = 0; b < kernel_.lanes * size_bytes(operand.dtype); b += kLine) {
      Value* ahead =
          b_.CreateConstGEP1_64(b_.getInt8Ty(), operand.here, static_cast<std::uint64_t>(kPage + b));
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {ahead, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});  // read, to L1, data
    }
  }
  void store(std::size_t i, Value* value) {
    const Operand& operand = operands_[i];
    Value* raw = in_pairs_ ? expr_.to_pairs(value) : expr_.to_memory(operand.dtype, value);
    if (mask_) {
      b_.CreateMaskedStore(raw, operand.here, llvm::Align(1), mask_);
    } else {
      b_.CreateAlignedStore(raw, operand.address, llvm::Align(1));
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
    ExprEmitter emitter(b_, module_, lanes, isa_);
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
  Form form_;
  llvm::IRBuilder<> b_;
  ExprEmitter expr_;
  std::vector<DType> outputs_;
  llvm::Function* function_ = nullptr;
  Value* count_ = nullptr;
  std::vector<Value*> data_;       // pointers to the first elements of this run
  std::vector<Value*> run_steps_;  // bytes
  llvm::PHINode* run_ = nullptr;
  std::vector<Operand> operands_;
  std::vector<Value*> copies_;  // of inputs that repeat
  std::vector<Value*> padded_;  // without masks: scratch for the last iteration
  std::vector<Value*> params_;
  bool in_pairs_ = false;  // all operands are bf16, and lanes are even elements, then odd ones
  llvm::PHINode* at_ = nullptr;
  Value* remaining_ = nullptr;
  Value* mask_ = nullptr;     // if the instruction set has masks
  Value* is_tail_ = nullptr;  // if it has none
};

}  // namespace

std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context, const std::vector<LoopKernel>& kernels,
                                          Isa isa, Linkage linkage) {
  auto module = std::make_unique<llvm::Module>("pellucid", context);
  for (const LoopKernel& kernel : kernels) {
    KernelEmitter(*module, kernel, isa, linkage, KernelEmitter::Form::Loop).emit();
    if (kernel.has_runs) KernelEmitter(*module, kernel, isa, linkage, KernelEmitter::Form::Runs).emit();
  }
  return module;
}

void verify(const llvm::Module& module) {
  std::string broken;
  llvm::raw_string_ostream report(broken);
  PEL_ASSERT(!llvm::verifyModule(module, &report), broken);
}

}  // namespace pel::codegen
