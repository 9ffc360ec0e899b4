// Emits GEMM micro-kernels. TileEmitter::emit selects by order of addition:
//   emit_chain              one chain of fused multiply-adds, b packed in panels
//   emit_transposing        the same, b dense along k and transposed in registers
//   emit_pairs              the order of AMX with f32 fused multiply-adds
//   emit_transposing_pairs  the same, b transposed in registers
//   emit_amx                TDPBF16PS
// Shared parts: initial_sums and end_chain load and store the accumulators, loop emits the K loop,
// multiply_add its body, transpose the register shuffles.
#include "codegen/llvm/emit_tile.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "codegen/llvm/target.h"

namespace pel::codegen {
namespace {

using llvm::Value;

class TileEmitter {
 public:
  TileEmitter(llvm::Module& module, const TileKernel& tile, Isa isa)
      : tile_(tile), b_(module.getContext()), lanes_(vector_bytes(isa) / size_bytes(tile.type)) {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, tile.name, module);
    function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
    set_target(*function_, isa);
    if (tile.order == TileOrder::Amx) function_->addFnAttr("target-features", "+amx-tile,+amx-bf16");
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    element_ = tile.type == kF32 ? b_.getFloatTy()
               : tile.type == kF64
                   ? b_.getDoubleTy()
                   : static_cast<llvm::Type*>(b_.getIntNTy(static_cast<unsigned>(size_bytes(tile.type)) * 8));
    vector_ = llvm::FixedVectorType::get(element_, static_cast<unsigned>(lanes_));
  }

  void emit() {
    b_.SetInsertPoint(block("entry"));
    if (tile_.panels > 1) b_panel_ = integer(offsetof(PelTileCall, b_panel));
    switch (tile_.order) {
      case TileOrder::Chain:
        return tile_.transposes ? emit_transposing() : emit_chain();
      case TileOrder::Pairs:
        return tile_.transposes ? emit_transposing_pairs() : emit_pairs();
      case TileOrder::Amx:
        return emit_amx();
    }
  }

 private:
  using Vectors = std::vector<Value*>;

  llvm::BasicBlock* block(const char* label) {
    return llvm::BasicBlock::Create(b_.getContext(), label, function_);
  }
  Value* field(std::size_t offset, llvm::Type* type) {
    return b_.CreateLoad(type, b_.CreateConstGEP1_64(b_.getInt8Ty(), function_->getArg(0), offset));
  }
  Value* pointer(std::size_t offset) { return field(offset, b_.getPtrTy()); }
  Value* integer(std::size_t offset) { return field(offset, b_.getInt64Ty()); }
  Value* advanced(Value* base, Value* bytes) { return b_.CreateGEP(b_.getInt8Ty(), base, bytes); }
  Value* advanced(Value* base, std::int64_t bytes) {
    return b_.CreateConstGEP1_64(b_.getInt8Ty(), base, static_cast<std::uint64_t>(bytes));
  }
  Value* constant(std::int64_t value) { return b_.getInt64(static_cast<std::uint64_t>(value)); }
  std::int64_t vector_size() const { return lanes_ * size_bytes(tile_.type); }
  // In vectors, over all panels.
  int all_columns() const { return tile_.columns * tile_.panels; }
  std::size_t sums() const {
    return static_cast<std::size_t>(tile_.rows) * static_cast<std::size_t>(all_columns());
  }

  // Returns the address in panel `p` that corresponds to `b` in the first one.
  Value* panel_address(Value* b, int p) {
    return p == 0 ? b : advanced(b, b_.CreateMul(b_panel_, constant(p)));
  }
  // Returns the address of vector v of row r of a matrix of sums.
  Value* address(Value* base, Value* row, int r, int v) {
    return advanced(advanced(base, b_.CreateMul(row, constant(r))), v * vector_size());
  }
  template <class F>
  void each(F&& f) {
    for (int r = 0; r < tile_.rows; ++r) {
      for (int v = 0; v < all_columns(); ++v) f(r, v, static_cast<std::size_t>(r * all_columns() + v));
    }
  }
  Value* load(Value* address) { return b_.CreateAlignedLoad(vector_, address, llvm::Align(1)); }
  void store(Value* value, Value* address) { b_.CreateAlignedStore(value, address, llvm::Align(1)); }
  Value* zero() { return llvm::Constant::getNullValue(vector_); }
  Value* plus(Value* x, Value* y) {
    return element_->isFloatingPointTy() ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y);
  }
  Value* multiplied(Value* x, Value* y, Value* sum) {
    if (!element_->isFloatingPointTy()) return b_.CreateAdd(sum, b_.CreateMul(x, y));
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x, y, sum});
  }
  void prefetch(Value* address) {
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                       {address, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  }

  // Emits `then` if the pointer is not null; phi nodes merge its vectors with those of `otherwise`.
  template <class F>
  Vectors if_not_null(Value* pointer_value, const Vectors& otherwise, F&& then) {
    llvm::BasicBlock *from = b_.GetInsertBlock(), *yes = block("not_null"), *next = block("next");
    b_.CreateCondBr(b_.CreateIsNotNull(pointer_value), yes, next);
    b_.SetInsertPoint(yes);
    const Vectors computed = then();
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
    Vectors joined;
    for (std::size_t i = 0; i < computed.size(); ++i) {
      auto* phi = b_.CreatePHI(vector_, 2);
      phi->addIncoming(otherwise[i], from);
      phi->addIncoming(computed[i], yes);
      joined.push_back(phi);
    }
    return joined;
  }

  // Emits a loop: while at + step <= end, `body(at, b, sums)` updates at, b and the sums.
  struct Looped {
    Value *at, *b;
    Vectors values;
  };
  template <class F>
  Looped loop(const Looped& start, Value* end, std::int64_t step, Value* b_step, F&& body) {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *head = block("loop"), *inside = block("body"),
                     *after = block("after");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    auto* at = b_.CreatePHI(b_.getInt64Ty(), 2);
    auto* b = b_.CreatePHI(b_.getPtrTy(), 2);
    at->addIncoming(start.at, before);
    b->addIncoming(start.b, before);
    std::vector<llvm::PHINode*> phis;
    Vectors values;
    for (Value* value : start.values) {
      phis.push_back(b_.CreatePHI(vector_, 2));
      phis.back()->addIncoming(value, before);
      values.push_back(phis.back());
    }
    Value* next = b_.CreateAdd(at, constant(step));
    b_.CreateCondBr(b_.CreateICmpSLE(next, end), inside, after);
    b_.SetInsertPoint(inside);
    const Vectors results = body(at, b, values);
    llvm::BasicBlock* last = b_.GetInsertBlock();
    at->addIncoming(next, last);
    b->addIncoming(advanced(b, b_step), last);
    for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(results[i], last);
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
    return {at, b, values};
  }

  // Broadcasts element `at` + `ahead` of a row to all lanes.
  Value* element(Value* row, Value* at, std::int64_t ahead) {
    Value* address = advanced(b_.CreateGEP(element_, row, at), ahead * size_bytes(tile_.type));
    return b_.CreateVectorSplat(static_cast<unsigned>(lanes_),
                                b_.CreateAlignedLoad(element_, address, llvm::Align(1)));
  }
  // Adds the products of one k to `sums` from `first` on.
  void multiply_add(const std::vector<Value*>& rows, Value* at, std::int64_t ahead, Value* b, Vectors& sums,
                    std::size_t first = 0) {
    Vectors columns;
    for (int p = 0; p < tile_.panels; ++p) {
      Value* panel = panel_address(b, p);
      for (int v = 0; v < tile_.columns; ++v) columns.push_back(load(advanced(panel, v * vector_size())));
    }
    for (int r = 0; r < tile_.rows; ++r) {
      Value* x = element(rows[static_cast<std::size_t>(r)], at, ahead);
      for (int v = 0; v < all_columns(); ++v) {
        Value*& sum = sums[first + static_cast<std::size_t>(r * all_columns() + v)];
        sum = multiplied(x, columns[static_cast<std::size_t>(v)], sum);
      }
    }
  }
  void prefetch_ahead(Value* b, Value* distance) {
    constexpr std::int64_t kLine = 64;
    for (int p = 0; p < tile_.panels; ++p) {
      Value* ahead = advanced(panel_address(b, p), distance);
      for (std::int64_t line = 0; line < tile_.columns * vector_size(); line += kLine)
        prefetch(advanced(ahead, line));
    }
  }

  std::vector<Value*> row_pointers() {
    Value *a = pointer(offsetof(PelTileCall, a)), *row = integer(offsetof(PelTileCall, a_row));
    std::vector<Value*> rows;
    for (int r = 0; r < tile_.rows; ++r) rows.push_back(advanced(a, b_.CreateMul(row, constant(r))));
    return rows;
  }

  void emit_chain() {
    constexpr std::int64_t kUnroll = 4;  // in elements of k, as the next
    const std::int64_t kAhead = tile_.panels > 1 ? 4 : 20;
    const std::vector<Value*> rows = row_pointers();
    Value *b = pointer(offsetof(PelTileCall, b)), *b_step = integer(offsetof(PelTileCall, b_step)),
          *depth = integer(offsetof(PelTileCall, depth)), *row = integer(offsetof(PelTileCall, row));
    Value *steps = b_.CreateMul(b_step, constant(kUnroll)), *ahead = b_.CreateMul(b_step, constant(kAhead));
    const Looped many = loop({constant(0), b, initial_sums(row)}, depth, kUnroll, steps,
                             [&](Value* at, Value* here, Vectors values) {
                               for (std::int64_t u = 0; u < kUnroll; ++u) {
                                 prefetch_ahead(here, ahead);
                                 multiply_add(rows, at, u, here, values);
                                 here = advanced(here, b_step);
                               }
                               return values;
                             });
    const Looped all = loop(many, depth, 1, b_step, [&](Value* at, Value* here, Vectors values) {
      multiply_add(rows, at, 0, here, values);
      return values;
    });
    end_chain(all.values, row);
  }

  // Returns the initial accumulators: zeros, or those of the previous call.
  Vectors initial_sums(Value* row) {
    Value* chain = pointer(offsetof(PelTileCall, chain));
    return if_not_null(chain, Vectors(sums(), zero()), [&] {
      Vectors loaded;
      each([&](int r, int v, std::size_t) { loaded.push_back(load(address(chain, row, r, v))); });
      return loaded;
    });
  }
  void end_chain(const Vectors& values, Value* row) {
    Value* added = pointer(offsetof(PelTileCall, added));
    const Vectors results = if_not_null(added, values, [&] {
      Vectors totals;
      each([&](int r, int v, std::size_t i) {
        totals.push_back(plus(load(address(added, row, r, v)), values[i]));
      });
      return totals;
    });
    Value* out = pointer(offsetof(PelTileCall, out));
    each([&](int r, int v, std::size_t i) { store(results[i], address(out, row, r, v)); });
    b_.CreateRetVoid();
  }

  void emit_transposing() {
    const std::vector<Value*> rows = row_pointers();
    const TransposingArgs t(*this, 4);
    Value* row = integer(offsetof(PelTileCall, row));
    const Looped all = loop({constant(0), pointer(offsetof(PelTileCall, b)), initial_sums(row)}, t.depth,
                            lanes_, constant(lanes_ * t.size), [&](Value* at, Value* here, Vectors values) {
                              const std::vector<Value*> columns = prefetch_columns(t, at, here);
                              for (std::int64_t first = 0; first < lanes_; first += lanes_ / 2) {
                                const Vectors transposed = transpose(columns, first);
                                store_panel(t, transposed, at, first);
                                multiply_transposed(rows, transposed, at, first, 1, values.data());
                              }
                              return values;
                            });
    end_chain(all.values, row);
  }
  // Pairs of bf16 are transposed like 4-byte elements, then separated. A block of k is one cache line.
  void emit_transposing_pairs() {
    const std::vector<Value*> rows = row_pointers();
    const TransposingArgs t(*this, 2);
    Value* row = integer(offsetof(PelTileCall, row));
    const Looped all =
        loop({constant(0), pointer(offsetof(PelTileCall, b)), initial_sums(row)}, t.depth, kPairDepth,
             constant(kPairDepth * t.size), [&](Value* at, Value* here, Vectors values) {
               const std::vector<Value*> columns = prefetch_columns(t, at, here);
               Vectors even(sums(), zero()), odd(sums(), zero());
               for (std::int64_t first = 0; first < kPairDepth / 2; first += lanes_ / 2) {
                 Vectors low, high;
                 for (Value* pairs : transpose(columns, first)) {
                   low.push_back(half_of_pairs(pairs, 0));
                   high.push_back(half_of_pairs(pairs, 1));
                 }
                 store_panel(t, low, at, 2 * first, 2);
                 store_panel(t, high, at, 2 * first + 1, 2);
                 multiply_transposed(rows, low, at, 2 * first, 2, even.data());
                 multiply_transposed(rows, high, at, 2 * first + 1, 2, odd.data());
               }
               for (std::size_t i = 0; i < values.size(); ++i)
                 values[i] = plus(values[i], plus(even[i], odd[i]));
               return values;
             });
    end_chain(all.values, row);
  }
  // Extracts the bf16 at even or at odd k of each pair, as f32.
  Value* half_of_pairs(Value* pairs, int which) {
    auto* words = llvm::FixedVectorType::get(b_.getInt32Ty(), static_cast<unsigned>(lanes_));
    Value* bits = b_.CreateBitCast(pairs, words);
    bits = which == 0 ? b_.CreateShl(bits, 16) : b_.CreateAnd(bits, 0xffff'0000u);
    return b_.CreateBitCast(bits, vector_);
  }

  // The arguments that transposing tiles read; `size` is the size of an element of b in bytes.
  struct TransposingArgs {
    TransposingArgs(TileEmitter& e, std::int64_t element_size)
        : size(element_size),
          b_step(e.integer(offsetof(PelTileCall, b_step))),
          group_step(e.b_.CreateMul(b_step, e.constant(4))),
          depth(e.integer(offsetof(PelTileCall, depth))),
          next(e.pointer(offsetof(PelTileCall, next))),
          panel(e.pointer(offsetof(PelTileCall, panel))),
          panel_step(e.integer(offsetof(PelTileCall, panel_step))) {}
    std::int64_t size;
    Value *b_step, *group_step, *depth, *next, *panel, *panel_step;
  };
  // Returns the addresses of all columns at one k. Prefetches some lines ahead, also into the next call's
  // operand.
  std::vector<Value*> prefetch_columns(const TransposingArgs& t, Value* at, Value* here) {
    const std::int64_t distance = 256 / t.size;
    Value *far = b_.CreateAdd(at, constant(distance)), *over = b_.CreateSub(far, t.depth);
    Value* ahead = b_.CreateSelect(b_.CreateICmpSLT(far, t.depth), advanced(here, distance * t.size),
                                   advanced(t.next, b_.CreateMul(over, constant(t.size))));
    for (Value* column : columns_from(ahead, t.b_step, t.group_step)) prefetch(column);
    return columns_from(here, t.b_step, t.group_step);
  }
  // Stores the transposed vectors to `panel`. Vector i belongs to k = `at` + `first` + i * `step`.
  void store_panel(const TransposingArgs& t, const Vectors& transposed, Value* at, std::int64_t first,
                   std::int64_t step = 1) {
    if_not_null(t.panel, {}, [&] {
      for (std::size_t i = 0; i < transposed.size(); ++i) {
        Value* k = b_.CreateAdd(at, constant(first + static_cast<std::int64_t>(i) * step));
        store(transposed[i], advanced(t.panel, b_.CreateMul(k, t.panel_step)));
      }
      return Vectors{};
    });
  }
  void multiply_transposed(const std::vector<Value*>& rows, const Vectors& transposed, Value* at,
                           std::int64_t first, std::int64_t step, Value** sums) {
    for (std::size_t i = 0; i < transposed.size(); ++i) {
      for (std::size_t r = 0; r < rows.size(); ++r)
        sums[r] = multiplied(element(rows[r], at, first + static_cast<std::int64_t>(i) * step), transposed[i],
                             sums[r]);
    }
  }
  // Groups of four columns share one base register: scaled-index addressing reaches all of them.
  std::vector<Value*> columns_from(Value* first, Value* step, Value* group_step) {
    std::vector<Value*> columns;
    for (std::int64_t c = 0; c < lanes_; ++c) {
      if (c > 0 && c % 4 == 0) first = advanced(first, group_step);
      columns.push_back(c % 4 == 0 ? first : advanced(first, b_.CreateMul(step, constant(c % 4))));
    }
    return columns;
  }
  // Transposes half a vector's elements of k, starting at `first`: result i holds that k of all columns.
  // Columns are loaded half a vector at a time; the 4x4 shuffles stay within 128-bit lanes.
  Vectors transpose(const std::vector<Value*>& columns, std::int64_t first) {
    const std::int64_t half = lanes_ / 2;
    auto* half_vector = llvm::FixedVectorType::get(element_, static_cast<unsigned>(half));
    const auto part = [&](std::int64_t c) {
      return b_.CreateAlignedLoad(half_vector, advanced(columns[static_cast<std::size_t>(c)], first * 4),
                                  llvm::Align(1));
    };
    std::vector<int> both;
    for (int i = 0; i < lanes_; ++i) both.push_back(i);
    // Within each 128-bit lane: the elements of x and y that `selected` names, 0 to 3 of x and 4 to 7 of y.
    const auto mixed = [&](Value* x, Value* y, std::initializer_list<int> selected) {
      std::vector<int> mask;
      for (int quad = 0; quad < lanes_; quad += 4) {
        for (const int p : selected) mask.push_back(quad + p % 4 + (p < 4 ? 0 : static_cast<int>(lanes_)));
      }
      return b_.CreateShuffleVector(x, y, mask);
    };
    const auto transpose_quads = [&](std::int64_t column, std::int64_t distance) {
      Value* x[4];
      for (std::int64_t i = 0; i < 4; ++i)
        x[i] = b_.CreateShuffleVector(part(column + i), part(column + i + distance), both);
      Value *a = mixed(x[0], x[1], {0, 4, 1, 5}), *b = mixed(x[0], x[1], {2, 6, 3, 7}),
            *c = mixed(x[2], x[3], {0, 4, 1, 5}), *d = mixed(x[2], x[3], {2, 6, 3, 7});
      return Vectors{mixed(a, c, {0, 1, 4, 5}), mixed(a, c, {2, 3, 6, 7}), mixed(b, d, {0, 1, 4, 5}),
                     mixed(b, d, {2, 3, 6, 7})};
    };
    if (lanes_ == 8) return transpose_quads(0, 4);
    // Quads of columns 0 and 4, and of 8 and 12; in each, k 0 to 3 next to k 4 to 7.
    const Vectors low = transpose_quads(0, 4), high = transpose_quads(8, 4);
    Vectors transposed;
    for (const int odd : {0, 1}) {
      for (std::size_t i = 0; i < 4; ++i) {
        std::vector<int> mask;
        for (const int quad : {0, 2, 4, 6}) {
          for (int e = 0; e < 4; ++e) mask.push_back((quad + odd) * 4 + e);
        }
        transposed.push_back(b_.CreateShuffleVector(low[i], high[i], mask));
      }
    }
    return transposed;
  }

  void emit_pairs() {
    constexpr std::int64_t kUnroll = 4;
    const std::vector<Value*> rows = row_pointers();
    Value *b = pointer(offsetof(PelTileCall, b)), *b_step = integer(offsetof(PelTileCall, b_step)),
          *depth = integer(offsetof(PelTileCall, depth)), *row = integer(offsetof(PelTileCall, row)),
          *out = pointer(offsetof(PelTileCall, out));
    // The accumulators stay in memory, because the two chains per element fill the registers.
    const Vectors initial = initial_sums(row);
    each([&](int r, int v, std::size_t i) { store(initial[i], address(out, row, r, v)); });
    Value *steps = b_.CreateMul(b_step, constant(kUnroll)),
          *block_step = b_.CreateMul(b_step, constant(kPairDepth));
    loop({constant(0), b, {}}, depth, kPairDepth, block_step,
         [&](Value* first, Value* panel, const Vectors&) {
           const Looped block =
               loop({first, panel, Vectors(2 * sums(), zero())}, b_.CreateAdd(first, constant(kPairDepth)),
                    kUnroll, steps, [&](Value* at, Value* here, Vectors values) {
                      for (std::int64_t u = 0; u < kUnroll; ++u) {
                        multiply_add(rows, at, u, here, values, u % 2 == 0 ? 0 : sums());
                        here = advanced(here, b_step);
                      }
                      return values;
                    });
           each([&](int r, int v, std::size_t i) {
             Value* element = address(out, row, r, v);
             store(plus(load(element), plus(block.values[i], block.values[sums() + i])), element);
           });
           return Vectors{};
         });
    b_.CreateRetVoid();
  }

  // Registers 0 to 3 hold the sums, 4 and 5 rows, 6 and 7 columns. Over 3 panels of one row, 0 to 5 hold the
  // sums, 6 the row, and 7 columns, one after the other.
  void emit_amx() {
    constexpr std::int64_t kSumRow = kAmxSide * 4;
    Value *a_row = integer(offsetof(PelTileCall, a_row)), *a_step = integer(offsetof(PelTileCall, a_step)),
          *a_tile = integer(offsetof(PelTileCall, a_tile)), *b_step = integer(offsetof(PelTileCall, b_step)),
          *b_tile = integer(offsetof(PelTileCall, b_tile)), *depth = integer(offsetof(PelTileCall, depth)),
          *row = integer(offsetof(PelTileCall, row)), *out = pointer(offsetof(PelTileCall, out));
    const auto reg = [&](int index) { return b_.getInt8(static_cast<std::uint8_t>(index)); };
    const bool is_wide = tile_.panels > 1;
    const auto sum = [&](int r, int c) { return reg(is_wide ? c : 2 * r + c); };
    const auto sum_address = [&](Value* base, int r, int c) {
      return advanced(advanced(base, b_.CreateMul(row, constant(r * kAmxSide))), c * kSumRow);
    };
    const auto amx = [&](llvm::Intrinsic::ID id, std::initializer_list<Value*> args) {
      b_.CreateIntrinsic(id, {}, llvm::ArrayRef<Value*>(args));
    };
    const auto each_sum = [&](auto&& f) {
      for (int r = 0; r < tile_.rows; ++r) {
        for (int c = 0; c < all_columns(); ++c) f(r, c);
      }
    };
    Value* chain = pointer(offsetof(PelTileCall, chain));
    each_sum([&](int r, int c) { amx(llvm::Intrinsic::x86_tilezero, {sum(r, c)}); });
    if_not_null(chain, {}, [&] {
      each_sum([&](int r, int c) {
        amx(llvm::Intrinsic::x86_tileloadd64, {sum(r, c), sum_address(chain, r, c), row});
      });
      return Vectors{};
    });
    Value* a = pointer(offsetof(PelTileCall, a));
    loop({constant(0), pointer(offsetof(PelTileCall, b)), {}}, depth, kPairDepth, b_step,
         [&](Value* at, Value* b, const Vectors&) {
           Value* here = advanced(a, b_.CreateMul(b_.CreateLShr(at, constant(5)), a_step));
           if (is_wide) {
             amx(llvm::Intrinsic::x86_tileloadd64, {reg(6), here, a_row});
             for (int c = 0; c < all_columns(); ++c) {
               Value* panel = panel_address(b, c / tile_.columns);
               amx(llvm::Intrinsic::x86_tileloadd64,
                   {reg(7), c % tile_.columns == 0 ? panel : advanced(panel, b_tile), constant(kSumRow)});
               amx(llvm::Intrinsic::x86_tdpbf16ps, {sum(0, c), reg(6), reg(7)});
             }
             return Vectors{};
           }
           for (int c = 0; c < tile_.columns; ++c)
             amx(llvm::Intrinsic::x86_tileloadd64,
                 {reg(6 + c), c == 0 ? b : advanced(b, b_tile), constant(kSumRow)});
           for (int r = 0; r < tile_.rows; ++r) {
             amx(llvm::Intrinsic::x86_tileloadd64,
                 {reg(4 + r), r == 0 ? here : advanced(here, a_tile), a_row});
             for (int c = 0; c < tile_.columns; ++c)
               amx(llvm::Intrinsic::x86_tdpbf16ps, {sum(r, c), reg(4 + r), reg(6 + c)});
           }
           return Vectors{};
         });
    each_sum([&](int r, int c) {
      amx(llvm::Intrinsic::x86_tilestored64, {sum(r, c), sum_address(out, r, c), row});
    });
    b_.CreateRetVoid();
  }

  const TileKernel& tile_;
  llvm::IRBuilder<> b_;
  std::int64_t lanes_;
  llvm::Function* function_ = nullptr;
  llvm::Type* element_ = nullptr;
  llvm::Type* vector_ = nullptr;
  Value* b_panel_ = nullptr;
};

}  // namespace

void emit_tiles(llvm::Module& module, const std::vector<TileKernel>& tiles, Isa isa) {
  for (const TileKernel& tile : tiles) TileEmitter(module, tile, isa).emit();
}

}  // namespace pel::codegen
