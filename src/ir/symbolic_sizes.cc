#include "ir/symbolic_sizes.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"
#include "base/check.h"

namespace pel {

using detail::DimOp;
using detail::DimRelation;

namespace {

// Dim arithmetic checks for overflow.
std::int64_t checked_add(std::int64_t a, std::int64_t b) { return (Dim(a) + Dim(b)).value(); }
std::int64_t checked_mul(std::int64_t a, std::int64_t b) { return (Dim(a) * Dim(b)).value(); }

// Returns whether a number exceeds every size, such as the end of a slice that goes to the end. Comparing
// with it needs no guard, and their difference may not fit a Dim.
bool is_beyond_sizes(Dim dim) {
  constexpr std::int64_t kBeyond = std::int64_t{1} << 61;
  return !dim.is_symbolic() && (dim.value() >= kBeyond || dim.value() <= -kBeyond);
}

}  // namespace

Dim SymbolicSizes::symbol(std::int64_t hint, std::int64_t generic, Sign sign) {
  Expression atom;
  atom.never_negative = sign == Sign::NeverNegative;
  atom.symbol = static_cast<std::uint32_t>(generic_values_.size());
  generic_values_.push_back(generic);
  hints_.push_back(hint);
  atom.hint = hint;
  return new_atom(std::move(atom));
}

Dim SymbolicSizes::new_atom(Expression atom) {
  const auto number = static_cast<std::uint32_t>(expressions_.size());
  atom.is_atom = true;
  atom.sum = {{1, {number}}};
  expressions_.push_back(std::move(atom));
  ids_.emplace(atom_text(number), number);
  return Dim::from_symbol(number);
}

SymbolicSizes::Polynomial SymbolicSizes::polynomial(Dim dim) const {
  if (dim.is_symbolic()) return expressions_.at(dim.symbol()).sum;
  return dim.value() == 0 ? Polynomial{} : Polynomial{{dim.value(), {}}};
}

std::int64_t SymbolicSizes::hint(Dim dim) const {
  return dim.is_symbolic() ? expressions_.at(dim.symbol()).hint : dim.value();
}

Dim SymbolicSizes::intern(Polynomial sum) {
  if (sum.empty()) return 0;
  if (sum.size() == 1 && sum[0].atoms.empty()) return sum[0].coefficient;
  if (sum.size() == 1 && sum[0].coefficient == 1 && sum[0].atoms.size() == 1)
    return Dim::from_symbol(sum[0].atoms[0]);
  Expression expression;
  for (const Monomial& term : sum) {
    std::int64_t value = term.coefficient;
    for (std::uint32_t atom : term.atoms) value = checked_mul(value, expressions_[atom].hint);
    expression.hint = checked_add(expression.hint, value);
  }
  expression.sum = std::move(sum);
  const auto number = static_cast<std::uint32_t>(expressions_.size());
  expressions_.push_back(std::move(expression));
  const auto [known, is_new] = ids_.emplace(text(Dim::from_symbol(number)), number);
  if (!is_new) expressions_.pop_back();
  return Dim::from_symbol(known->second);
}

std::size_t SymbolicSizes::OperationHash::operator()(const Operation& operation) const {
  const auto left = std::bit_cast<std::uint64_t>(operation.left);
  const auto right = std::bit_cast<std::uint64_t>(operation.right);
  return ((left * 0x9e3779b97f4a7c15 + right) * 0x9e3779b97f4a7c15) ^ static_cast<std::size_t>(operation.op);
}

Dim SymbolicSizes::combine(DimOp op, Dim a, Dim b) {
  const Operation operation{op, a, b};
  if (const auto known = combined_.find(operation); known != combined_.end()) return known->second;
  const Dim result = combined(op, a, b);
  combined_.emplace(operation, result);
  return result;
}

Dim SymbolicSizes::combined(DimOp op, Dim a, Dim b) {
  const auto collect = [](Polynomial terms) {
    std::sort(terms.begin(), terms.end(),
              [](const Monomial& x, const Monomial& y) { return x.atoms < y.atoms; });
    Polynomial sum;
    for (Monomial& term : terms) {
      if (!sum.empty() && sum.back().atoms == term.atoms) {
        sum.back().coefficient = checked_add(sum.back().coefficient, term.coefficient);
      } else {
        sum.push_back(std::move(term));
      }
      if (sum.back().coefficient == 0) sum.pop_back();
    }
    return sum;
  };
  Polynomial x = polynomial(a);
  const Polynomial y = polynomial(b);
  switch (op) {
    case DimOp::Add:
    case DimOp::Sub:
      for (const Monomial& term : y) {
        x.push_back({op == DimOp::Add ? term.coefficient : checked_mul(term.coefficient, -1), term.atoms});
      }
      return intern(collect(std::move(x)));
    case DimOp::Mul: {
      Polynomial terms;
      for (const Monomial& m : x) {
        for (const Monomial& n : y) {
          Monomial both{checked_mul(m.coefficient, n.coefficient), m.atoms};
          both.atoms.insert(both.atoms.end(), n.atoms.begin(), n.atoms.end());
          std::sort(both.atoms.begin(), both.atoms.end());
          terms.push_back(std::move(both));
        }
      }
      return intern(collect(std::move(terms)));
    }
    case DimOp::FloorDiv:
    case DimOp::Mod:
      break;
  }
  if (y.size() == 1) {
    // A single product divides each term that contains it: (4*s0*s1) / (2*s1) is 2*s0, without a remainder.
    const Monomial& by = y[0];
    Polynomial divided;
    const bool exact = std::all_of(x.begin(), x.end(), [&](const Monomial& term) {
      if (term.coefficient % by.coefficient != 0) return false;
      Monomial part{term.coefficient / by.coefficient, {}};
      std::set_difference(term.atoms.begin(), term.atoms.end(), by.atoms.begin(), by.atoms.end(),
                          std::back_inserter(part.atoms));
      divided.push_back(part);
      return part.atoms.size() + by.atoms.size() == term.atoms.size();
    });
    if (exact) return op == DimOp::Mod ? Dim(0) : intern(collect(std::move(divided)));
  }
  return quotient(op, a, b);
}

Dim SymbolicSizes::quotient(DimOp op, Dim a, Dim b) {
  Expression atom;
  atom.op = op;
  atom.left = a;
  atom.right = b;
  const Dim plain = detail::dim_combine(op, hint(a), hint(b));
  atom.hint = plain.value();
  atom.never_negative = is_never_negative(b) && (op == DimOp::Mod || is_never_negative(a));
  const std::string key = quotient_text(op, a, b);
  if (const auto known = ids_.find(key); known != ids_.end()) return Dim::from_symbol(known->second);
  return new_atom(std::move(atom));
}

bool SymbolicSizes::is_never_negative(Dim dim) const { return !possible_signs(polynomial(dim)).negative; }

SymbolicSizes::Signs SymbolicSizes::possible_signs(const Polynomial& difference) const {
  std::int64_t constant = 0;
  bool grows = true, shrinks = true;  // the remaining terms are never negative, never positive
  for (const Monomial& term : difference) {
    if (term.atoms.empty()) {
      constant = term.coefficient;
      continue;
    }
    const bool known = std::all_of(term.atoms.begin(), term.atoms.end(),
                                   [&](std::uint32_t atom) { return expressions_[atom].never_negative; });
    grows = grows && known && term.coefficient > 0;
    shrinks = shrinks && known && term.coefficient < 0;
  }
  return {.negative = !grows || constant < 0,
          .zero = (!grows || constant <= 0) && (!shrinks || constant >= 0),
          .positive = !shrinks || constant > 0};
}

bool SymbolicSizes::compare(DimRelation relation, Dim a, Dim b, const Site& site) {
  if (is_beyond_sizes(a) || is_beyond_sizes(b)) {
    const std::int64_t x = hint(a), y = hint(b);
    return relation == DimRelation::Eq   ? x == y
           : relation == DimRelation::Ne ? x != y
           : relation == DimRelation::Lt ? x < y
                                         : x <= y;
  }
  Dim difference = combine(DimOp::Sub, a, b);
  // One of d and -d stands for both, so that s0 == 6 and 6 == s0 record one guard.
  const Polynomial sum = polynomial(difference);
  const bool flipped = !sum.empty() && sum.back().coefficient < 0;
  if (flipped) difference = combine(DimOp::Sub, b, a);
  Signs signs = possible_signs(polynomial(difference));
  if (difference.is_symbolic()) {
    if (const auto known = known_signs_.find(difference.symbol()); known != known_signs_.end())
      signs = known->second;
  }
  // The signs of the difference that make the relation true.
  const bool on_zero = relation == DimRelation::Eq || relation == DimRelation::Le;
  const bool on_negative = relation != DimRelation::Eq, on_positive = relation == DimRelation::Ne;
  const Signs yes = {.negative = flipped ? on_positive : on_negative,
                     .zero = on_zero,
                     .positive = flipped ? on_negative : on_positive};
  const std::int64_t value = hint(difference);
  const bool answer = value < 0 ? yes.negative : value == 0 ? yes.zero : yes.positive;
  const bool settled = (!signs.negative || yes.negative == answer) && (!signs.zero || yes.zero == answer) &&
                       (!signs.positive || yes.positive == answer);
  if (settled) return answer;

  SizeGuard guard{relation, a, b, site};
  if (!answer) {  // record the relation that holds
    if (relation == DimRelation::Eq) guard.relation = DimRelation::Ne;
    if (relation == DimRelation::Ne) guard.relation = DimRelation::Eq;
    if (relation == DimRelation::Lt) guard = {DimRelation::Le, b, a, site};
    if (relation == DimRelation::Le) guard = {DimRelation::Lt, b, a, site};
  }
  if (source_of) guard.source = source_of(guard);
  guards_.push_back(guard);
  known_signs_[difference.symbol()] = {.negative = signs.negative && yes.negative == answer,
                                       .zero = signs.zero && yes.zero == answer,
                                       .positive = signs.positive && yes.positive == answer};
  return answer;
}

bool SymbolicSizes::is_known_equal(Dim a, Dim b) const {
  return Dim::identical(a, b) || std::ranges::any_of(guards_, [&](const SizeGuard& guard) {
           return guard.relation == DimRelation::Eq &&
                  ((Dim::identical(guard.left, a) && Dim::identical(guard.right, b)) ||
                   (Dim::identical(guard.left, b) && Dim::identical(guard.right, a)));
         });
}

std::int64_t SymbolicSizes::value(Dim a, const Site& site) {
  compare(DimRelation::Eq, a, hint(a), site);
  return hint(a);
}

std::int64_t SymbolicSizes::evaluate(Dim dim, const std::vector<std::int64_t>& symbol_values) const {
  if (!dim.is_symbolic()) return dim.value();
  std::int64_t sum = 0;
  for (const Monomial& term : expressions_.at(dim.symbol()).sum) {
    std::int64_t value = term.coefficient;
    for (std::uint32_t number : term.atoms) {
      const Expression& atom = expressions_[number];
      if (atom.op == DimOp::Add) {
        value = checked_mul(value, symbol_values.at(atom.symbol));
      } else {
        const std::int64_t left = evaluate(atom.left, symbol_values);
        const std::int64_t right = evaluate(atom.right, symbol_values);
        value = checked_mul(value, detail::dim_combine(atom.op, left, right).value());
      }
    }
    sum = checked_add(sum, value);
  }
  return sum;
}

namespace {
// What an expression is, in the bytes of expressions().
enum class Form : std::uint32_t { Symbol, Quotient, Sum };
}  // namespace

std::string SymbolicSizes::expressions() const {
  ByteWriter writer;
  const auto form = [&](Form which) { writer.number(static_cast<std::uint32_t>(which)); };
  for (const Expression& expression : expressions_) {
    if (!expression.is_atom) {
      form(Form::Sum);
      writer.number(static_cast<std::uint32_t>(expression.sum.size()));
      for (const Monomial& term : expression.sum) {
        writer.wide(static_cast<std::uint64_t>(term.coefficient));
        writer.number(static_cast<std::uint32_t>(term.atoms.size()));
        for (const std::uint32_t atom : term.atoms) writer.number(atom);
      }
    } else if (expression.op == DimOp::Add) {
      form(Form::Symbol);
      writer.wide(static_cast<std::uint64_t>(expression.hint));
      writer.wide(static_cast<std::uint64_t>(generic_values_[expression.symbol]));
      writer.number(expression.never_negative ? 1 : 0);
    } else {
      form(Form::Quotient);
      writer.number(static_cast<std::uint32_t>(expression.op));
      for (const Dim dim : {expression.left, expression.right})
        writer.wide(std::bit_cast<std::uint64_t>(dim));
    }
  }
  return std::move(writer).bytes();
}

// Each expression is made again, in the same order, from those before it: numbers of expressions stay.
std::shared_ptr<SymbolicSizes> SymbolicSizes::from_expressions(std::string_view bytes) {
  auto made = std::make_shared<SymbolicSizes>();
  ByteReader reader(bytes);
  const auto signed_wide = [&] { return static_cast<std::int64_t>(reader.wide()); };
  const auto size = [&] { return std::bit_cast<Dim>(reader.wide()); };
  try {
    while (reader.is_good() && !reader.is_at_end()) {
      const std::size_t number = made->expressions_.size();
      const std::uint32_t form = reader.number();
      Dim dim;
      if (form == static_cast<std::uint32_t>(Form::Symbol)) {
        const std::int64_t hint = signed_wide(), generic = signed_wide();
        dim = made->symbol(hint, generic, reader.number() != 0 ? Sign::NeverNegative : Sign::Any);
      } else if (form == static_cast<std::uint32_t>(Form::Quotient)) {
        const std::uint32_t op = reader.number();
        const Dim left = size(), right = size();
        if (op != static_cast<std::uint32_t>(DimOp::FloorDiv) && op != static_cast<std::uint32_t>(DimOp::Mod))
          return nullptr;
        if (!made->has(left) || !made->has(right)) return nullptr;
        dim = made->quotient(static_cast<DimOp>(op), left, right);
      } else if (form == static_cast<std::uint32_t>(Form::Sum)) {
        Polynomial sum;
        for (std::uint32_t left = reader.number(); left > 0 && reader.is_good(); --left) {
          Monomial& term = sum.emplace_back();
          term.coefficient = signed_wide();
          for (std::uint32_t atoms = reader.number(); atoms > 0 && reader.is_good(); --atoms) {
            term.atoms.push_back(reader.number());
            if (term.atoms.back() >= number || !made->expressions_[term.atoms.back()].is_atom) return nullptr;
          }
        }
        dim = made->intern(std::move(sum));
      } else {
        return nullptr;
      }
      if (!reader.is_good() || !dim.is_symbolic() || dim.symbol() != number) return nullptr;
    }
  } catch (const Error&) {  // a hint overflows, or divides by zero
    return nullptr;
  }
  return made;
}

std::int64_t SymbolicSizes::generic(Dim a) const {
  const std::int64_t value = evaluate(a, generic_values_);
  return value > 0 ? value : std::max(value, hint(a));  // s0 - 72, if only this call knows that it is a size
}

std::string SymbolicSizes::atom_text(std::uint32_t number) const {
  const Expression& atom = expressions_.at(number);
  if (atom.op == DimOp::Add) return fmt::format("s{}", atom.symbol);
  return quotient_text(atom.op, atom.left, atom.right);
}

std::string SymbolicSizes::quotient_text(DimOp op, Dim left, Dim right) const {
  const auto operand = [&](Dim dim) {
    const bool is_sum = dim.is_symbolic() && !expressions_.at(dim.symbol()).is_atom;
    return is_sum ? "(" + text(dim) + ")" : text(dim);
  };
  return fmt::format("({} {} {})", operand(left), op == DimOp::FloorDiv ? "//" : "%", operand(right));
}

std::string SymbolicSizes::text(Dim dim) const {
  if (!dim.is_symbolic()) return std::to_string(dim.value());
  const Expression& expression = expressions_.at(dim.symbol());
  if (expression.is_atom) return atom_text(dim.symbol());
  std::string out;
  for (const Monomial& term : expression.sum) {
    const std::int64_t c = term.coefficient;
    std::string part = c == 1 && !term.atoms.empty() ? "" : std::to_string(c);
    for (std::uint32_t atom : term.atoms) part += (part.empty() ? "" : "*") + atom_text(atom);
    out += (out.empty() ? "" : " + ") + part;
  }
  return out;
}

std::string SymbolicSizes::text(const SizeGuard& guard) const {
  constexpr const char* kSigns[] = {"==", "!=", "<", "<="};
  return fmt::format("{} {} {}", text(guard.left), kSigns[static_cast<int>(guard.relation)],
                     text(guard.right));
}

}  // namespace pel
