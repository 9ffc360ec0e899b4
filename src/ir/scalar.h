// Scalar expressions: what an elementwise op computes for one element, over a closed set of operations. Each
// operation produces the same bits on every device. Kernels for every device are generated from them.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/array_view.h"
#include "pellucid/dtype.h"

namespace pel::scalar {

// Floating-point operations are IEEE's, rounded to nearest even, without contraction. Integers wrap.
enum class ScalarOp : std::uint8_t {
  Input,     // element of operand number `bits`
  Param,     // scalar argument number `bits` of the op, the same for all elements
  Constant,  // `bits` are its bits, low ones first
  // Arithmetic. Div and Rem of integers truncate towards zero. A divisor of 0 makes the kernel report an
  // error; the smallest integer divided by -1 is itself.
  Add,
  Sub,
  Mul,
  Div,
  Rem,
  Neg,
  Abs,
  Min,  // a < b ? a : b, so b is the result if one of them is NaN or both are zeros
  Max,  // a > b ? a : b
  // Floating point only.
  Fma,  // a * b + c, rounded once
  Sqrt,
  Floor,
  Ceil,
  Trunc,
  Round,  // halves to even
  // Integers and bool.
  And,
  Or,
  Xor,
  Not,
  Shl,         // amounts from 0 to width - 1; others are undefined
  Shr,         // arithmetic: copies the sign bit
  ShrLogical,  // fills with zeros
  // To bool. A comparison with NaN is false, except for Ne.
  Eq,
  Ne,
  Lt,
  Le,
  Select,  // a ? b : c
  // Float to integer truncates towards zero and saturates; NaN becomes 0; integers wrap; to bool is != 0.
  Cast,
  Bitcast,  // between types of one width
  Lookup,   // element a of table number `bits`; out of range: undefined result, no fault
};
inline constexpr int kScalarOpCount = static_cast<int>(ScalarOp::Lookup) + 1;

std::string_view name(ScalarOp op);
int arity(ScalarOp op);

// f16 and bf16 are storage types: only Cast, Select and Bitcast accept them.
struct ScalarNode {
  ScalarOp op{};
  DType type{};
  std::int32_t args[3] = {-1, -1, -1};  // indices of earlier nodes
  std::uint64_t bits = 0;

  bool operator==(const ScalarNode&) const = default;
};

// Constants that Lookup reads by index.
struct ScalarTable {
  DType type{};
  std::vector<std::uint64_t> bits;
  bool operator==(const ScalarTable&) const = default;
};

// Nodes in topological order; every node is needed for some result.
struct ScalarExpr {
  std::vector<DType> inputs;
  std::vector<DType> params;
  std::vector<ScalarTable> tables;  // 2^n elements each, so a mask keeps an index in range
  std::vector<ScalarNode> nodes;
  std::vector<std::int32_t> results;
};

// Throws InternalError with the node and the rule if an expression is not well-formed.
void verify(const ScalarExpr& expr);
// Prints one line per node: "%3 = fma f32 %0, %1, %2".
std::string to_string(const ScalarExpr& expr);
// Returns bytes that are equal for equal expressions only.
std::string content(const ScalarExpr& expr);
// Returns whether signed and unsigned integers produce the same bits: kernels are then shared by width.
bool is_sign_agnostic(const ScalarExpr& expr);

// Computes `count` elements in plain C++: a second, independent definition of every operation. `inputs` and
// `outputs` are dense arrays of their dtype; params are read as values of their own type. Returns false if an
// integer was divided by zero.
bool evaluate(const ScalarExpr& expr, std::int64_t count, const void* const* inputs,
              const void* const* params, void* const* outputs);

class ScalarBuilder;

// A node under construction. Operators and the functions below create new ones; a plain number next to a Term
// becomes a constant of its type.
class Term {
 public:
  Term(ScalarBuilder* builder, std::int32_t id) : builder_(builder), id_(id) {}
  DType type() const;
  ScalarBuilder& builder() const { return *builder_; }
  std::int32_t id() const { return id_; }
  // A constant of this term's type.
  Term constant(double value) const;
  Term constant(std::int64_t value) const;
  template <std::integral T>
  Term constant(T value) const {
    return constant(static_cast<std::int64_t>(value));
  }

 private:
  ScalarBuilder* builder_;
  std::int32_t id_;
};

// Equal nodes are created once (common subexpression elimination).
class ScalarBuilder {
 public:
  ScalarBuilder() = default;
  ScalarBuilder(const ScalarBuilder&) = delete;
  ScalarBuilder& operator=(const ScalarBuilder&) = delete;

  Term input(DType type);  // the next input
  Term param(DType type);
  Term constant(DType type, double value);        // rounded to the type
  Term constant(DType type, std::int64_t value);  // exact for integers
  Term bits(DType type, std::uint64_t bits);
  Term node(ScalarOp op, DType type, std::initializer_list<Term> args);
  // values[index], for an index of type i32 or i64. `values` has 2^n elements.
  Term lookup(DType type, ArrayView<double> values, Term index);
  DType type(std::int32_t id) const { return expr_.nodes[static_cast<std::size_t>(id)].type; }

  // Drops nodes that no result needs. The builder is empty afterwards.
  ScalarExpr finish(ArrayView<Term> results);

 private:
  Term add(const ScalarNode& node);
  ScalarExpr expr_;
};

template <class N>
concept Number = std::integral<N> || std::floating_point<N>;

#define PEL_TERM_BINARY(function)      \
  Term function(Term a, Term b);       \
  template <Number N>                  \
  Term function(Term a, N b) {         \
    return function(a, a.constant(b)); \
  }                                    \
  template <Number N>                  \
  Term function(N a, Term b) {         \
    return function(b.constant(a), b); \
  }
PEL_TERM_BINARY(operator+)
PEL_TERM_BINARY(operator-)
PEL_TERM_BINARY(operator*)
PEL_TERM_BINARY(operator/)
PEL_TERM_BINARY(operator%)
PEL_TERM_BINARY(operator&)
PEL_TERM_BINARY(operator|)
PEL_TERM_BINARY(operator^)
PEL_TERM_BINARY(operator<<)
PEL_TERM_BINARY(operator>>)
PEL_TERM_BINARY(operator<)
PEL_TERM_BINARY(operator<=)
PEL_TERM_BINARY(operator>)
PEL_TERM_BINARY(operator>=)
PEL_TERM_BINARY(operator==)
PEL_TERM_BINARY(operator!=)
PEL_TERM_BINARY(shr_logical)
PEL_TERM_BINARY(min)  // the operations Min and Max: mind NaN
PEL_TERM_BINARY(max)
#undef PEL_TERM_BINARY

Term operator-(Term a);
Term operator~(Term a);
Term abs(Term a);
Term sqrt(Term a);
Term floor(Term a);
Term ceil(Term a);
Term trunc(Term a);
Term round(Term a);
Term fma(Term a, Term b, Term c);
template <Number N>
Term fma(Term a, Term b, N c) {
  return fma(a, b, a.constant(c));
}
template <Number N>
Term fma(Term a, N b, Term c) {
  return fma(a, a.constant(b), c);
}
template <Number N, Number M>
Term fma(Term a, N b, M c) {
  return fma(a, a.constant(b), a.constant(c));
}

Term select(Term condition, Term yes, Term no);
template <Number N>
Term select(Term condition, N yes, Term no) {
  return select(condition, no.constant(yes), no);
}
template <Number N>
Term select(Term condition, Term yes, N no) {
  return select(condition, yes, yes.constant(no));
}

Term cast(Term a, DType type);  // a itself if it already has the type
Term bitcast(Term a, DType type);
Term is_nan(Term a);  // false for integers

}  // namespace pel::scalar
