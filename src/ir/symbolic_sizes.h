// Sizes as expressions: the symbols of a capture, the expressions computed from them, and the guards that
// comparisons recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pellucid/dim.h"

#include "tensor/dim_context.h"

namespace pel {

// A relation between two sizes that held in the captured call, and the source location of the comparison.
struct SizeGuard {
  detail::DimRelation relation;
  Dim left, right;
  Site site;
  std::string source{};  // the call that needs it, for people: "weight of linear at model.cc:12"
};

// Expressions are interned: equal ones have the same id, so Dim::identical finds them. Sums and products of
// symbols are stored as polynomials, so 2*s0 and s0+s0, or (s0*s1)*4 and s0*(4*s1), are one expression.
class SymbolicSizes final : public DimContext {
 public:
  static constexpr std::int64_t kGenericSize = 16;
  // Creates a new symbol s0, s1, … that has the value `hint` in the captured call. If it is a stride,
  // `generic` orders it among the other strides of its tensor (generic_value).
  enum class Sign : bool { NeverNegative, Any };
  Dim symbol(std::int64_t hint, std::int64_t generic = kGenericSize, Sign sign = Sign::NeverNegative);

  const std::vector<std::int64_t>& hints() const { return hints_; }  // of all symbols
  // Returns whether two sizes are equal in every call that passes the guards. Records no guard.
  bool is_known_equal(Dim a, Dim b) const;
  const std::vector<SizeGuard>& guards() const { return guards_; }
  void add_guard(const SizeGuard& guard) {
    guards_.push_back(guard);
  }  // parsed from text, not recorded by a comparison
  std::string text(const SizeGuard& guard) const;
  // Evaluates an expression for other values of the symbols.
  std::int64_t evaluate(Dim dim, const std::vector<std::int64_t>& symbol_values) const;

  // All symbols and expressions as bytes, and from them: each Dim means the same again. Guards are not in
  // them, nor what comparisons have settled. Returns null if the bytes are not valid.
  std::string expressions() const;
  static std::shared_ptr<SymbolicSizes> from_expressions(std::string_view bytes);
  // Whether a Dim that was read is a number or an expression of these.
  bool has(Dim dim) const {
    return !dim.is_symbolic() ||
           (dim.symbol() < expressions_.size() && Dim::identical(dim, Dim::from_symbol(dim.symbol())));
  }

  Dim combine(detail::DimOp op, Dim a, Dim b) override;
  // Returns the `source` of a new guard. The capture sets it; if unset, sources are empty.
  std::function<std::string(const SizeGuard& guard)> source_of;

  bool compare(detail::DimRelation relation, Dim a, Dim b, const Site& site) override;
  std::int64_t value(Dim a, const Site& site) override;
  std::string text(Dim a) const override;
  std::int64_t generic(Dim a) const override;

 private:
  // Sum of coefficient * product of atoms. An atom is a symbol or a quotient or remainder.
  struct Monomial {
    std::int64_t coefficient;
    std::vector<std::uint32_t> atoms;  // sorted
    bool operator==(const Monomial&) const = default;
  };
  using Polynomial = std::vector<Monomial>;  // sorted by atoms, no zero coefficient
  struct Expression {
    Polynomial sum;  // its value; the sum of an atom is the atom itself
    // For atoms only:
    bool is_atom = false;
    std::uint32_t symbol = 0;  // index of the symbol, if `left` and `right` are not set
    detail::DimOp op = detail::DimOp::Add;
    Dim left = 0, right = 0;  // of a quotient or remainder
    std::int64_t hint = 0;    // value in the captured call
    bool never_negative = true;
  };

  // The signs that a difference of sizes can have: sizes are never negative, and each guard narrows the set.
  struct Signs {
    bool negative = true, zero = true, positive = true;
  };

  // An operation and its operands; layers of a model ask for the same ones.
  struct Operation {
    detail::DimOp op;
    Dim left, right;
    bool operator==(const Operation& other) const {
      return op == other.op && Dim::identical(left, other.left) && Dim::identical(right, other.right);
    }
  };
  struct OperationHash {
    std::size_t operator()(const Operation& operation) const;
  };
  Dim combined(detail::DimOp op, Dim a, Dim b);
  Polynomial polynomial(Dim dim) const;
  Signs possible_signs(const Polynomial& difference) const;
  bool is_never_negative(Dim dim) const;
  Dim intern(Polynomial sum);
  Dim quotient(detail::DimOp op, Dim a, Dim b);  // or remainder, as an atom
  Dim new_atom(Expression atom);
  std::int64_t hint(Dim dim) const;
  std::string atom_text(std::uint32_t atom) const;
  std::string quotient_text(detail::DimOp op, Dim left, Dim right) const;

  std::vector<Expression> expressions_;
  std::unordered_map<std::string, std::uint32_t> ids_;  // by canonical text
  std::unordered_map<Operation, Dim, OperationHash> combined_;
  std::vector<SizeGuard> guards_;
  std::unordered_map<std::uint32_t, Signs> known_signs_;  // of the differences that guards have fixed
  std::vector<std::int64_t> generic_values_, hints_;      // of symbols
};

}  // namespace pel
