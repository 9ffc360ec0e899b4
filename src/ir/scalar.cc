// Scalar expressions: the table of operations, printing (node_text), the rules (broken_rule, verify),
// is_sign_agnostic, the builder (which interns nodes and drops unused ones in finish), and the operators of
// Term.
#include "ir/scalar.h"

#include <bit>
#include <iterator>

#include "base/bytes.h"
#include "base/check.h"
#include "tensor/convert.h"

namespace pel::scalar {
namespace {

struct OpInfo {
  std::string_view name;
  int arity;
};
// In the order of ScalarOp.
constexpr OpInfo kOpInfo[] = {
    {"input", 0}, {"param", 0},  {"constant", 0}, {"add", 2},         {"sub", 2},    {"mul", 2}, {"div", 2},
    {"rem", 2},   {"neg", 1},    {"abs", 1},      {"min", 2},         {"max", 2},    {"fma", 3}, {"sqrt", 1},
    {"floor", 1}, {"ceil", 1},   {"trunc", 1},    {"round", 1},       {"and", 2},    {"or", 2},  {"xor", 2},
    {"not", 1},   {"shl", 2},    {"shr", 2},      {"shr_logical", 2}, {"eq", 2},     {"ne", 2},  {"lt", 2},
    {"le", 2},    {"select", 3}, {"cast", 1},     {"bitcast", 1},     {"lookup", 1},
};
static_assert(std::size(kOpInfo) == kScalarOpCount);

bool is_half(DType type) { return type == kF16 || type == kBF16; }
bool is_wide_float(DType type) { return type == kF32 || type == kF64; }

std::string constant_text(DType type, std::uint64_t bits) {
  return with_type(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (kIsHalf<T>) {
      return fmt::format("{:#06x}", bits);
    } else {
      return fmt::format("{}", load_as<T>(&bits));
    }
  });
}

std::string node_text(const ScalarExpr& expr, std::size_t i) {
  const ScalarNode& node = expr.nodes[i];
  std::string text = fmt::format("%{} = {} {}", i, name(node.op), name(node.type));
  if (node.op == ScalarOp::Constant) return text + " " + constant_text(node.type, node.bits);
  if (node.op <= ScalarOp::Param) return text + fmt::format(" {}", node.bits);
  for (int a = 0; a < arity(node.op); ++a) text += fmt::format("{}%{}", a == 0 ? " " : ", ", node.args[a]);
  if (node.op == ScalarOp::Lookup) text += fmt::format(" in table {}", node.bits);
  return text;
}

// Returns the rule that a node violates, or null.
const char* broken_rule(const ScalarExpr& expr, std::size_t i) {
  const ScalarNode& node = expr.nodes[i];
  const int count = arity(node.op);
  DType types[3] = {};
  for (int a = 0; a < count; ++a) {
    if (node.args[a] < 0 || node.args[a] >= static_cast<std::int32_t>(i))
      return "arguments must be earlier nodes";
    types[a] = expr.nodes[static_cast<std::size_t>(node.args[a])].type;
  }
  const bool half = is_half(node.type);
  switch (node.op) {
    case ScalarOp::Input:
      return node.bits < expr.inputs.size() && expr.inputs[node.bits] == node.type
                 ? nullptr
                 : "an input must exist and have the declared type";
    case ScalarOp::Param:
      return node.bits < expr.params.size() && expr.params[node.bits] == node.type
                 ? nullptr
                 : "a param must exist and have the declared type";
    case ScalarOp::Constant:
    case ScalarOp::Cast:
      return nullptr;
    case ScalarOp::Lookup:
      return node.bits < expr.tables.size() && expr.tables[node.bits].type == node.type &&
                     (types[0] == kI32 || types[0] == kI64)
                 ? nullptr
                 : "lookup takes an index of type i32 or i64 and returns its table's type";
    case ScalarOp::Bitcast:
      return size_bytes(types[0]) == size_bytes(node.type) ? nullptr : "a bitcast must not change the width";
    case ScalarOp::Select:
      return types[0] == kBool && types[1] == node.type && types[2] == node.type
                 ? nullptr
                 : "select takes bool and two values of its type";
    case ScalarOp::Eq:
    case ScalarOp::Ne:
    case ScalarOp::Lt:
    case ScalarOp::Le:
      return node.type == kBool && types[0] == types[1] && !is_half(types[0])
                 ? nullptr
                 : "a comparison takes two values of one type and returns bool";
    default:
      break;
  }
  for (int a = 0; a < count; ++a) {
    if (types[a] != node.type) return "arguments must have the type of the result";
  }
  if (half) return "f16 and bf16 have no arithmetic";
  if (node.op >= ScalarOp::Fma && node.op <= ScalarOp::Round)
    return is_wide_float(node.type) ? nullptr : "only floating point is supported";
  if (node.op >= ScalarOp::And && node.op <= ScalarOp::Not)
    return !is_floating(node.type) ? nullptr : "only integers and bool are supported";
  if (node.op >= ScalarOp::Shl && node.op <= ScalarOp::ShrLogical)
    return is_integral(node.type) ? nullptr : "only integers are supported";
  return node.type != kBool ? nullptr : "bool has no arithmetic";
}

}  // namespace

std::string_view name(ScalarOp op) { return kOpInfo[static_cast<int>(op)].name; }
int arity(ScalarOp op) { return kOpInfo[static_cast<int>(op)].arity; }

// Returns whether a node reports a divisor of 0: integer divisions do, even if the quotient is unused.
static bool reports_zero(const ScalarNode& node) {
  return (node.op == ScalarOp::Div || node.op == ScalarOp::Rem) && !is_floating(node.type);
}

void verify(const ScalarExpr& expr) {
  std::vector<bool> used(expr.nodes.size());
  for (const std::int32_t result : expr.results) {
    PEL_ASSERT(result >= 0 && result < static_cast<std::int32_t>(expr.nodes.size()),
               "a result must be a node");
    used[static_cast<std::size_t>(result)] = true;
  }
  for (std::size_t i = expr.nodes.size(); i-- > 0;) {
    const char* rule = broken_rule(expr, i);
    if (rule == nullptr && !used[i] && expr.nodes[i].op > ScalarOp::Param && !reports_zero(expr.nodes[i]))
      rule = "every node must be needed by a result";
    if (rule != nullptr) throw InternalError(fmt::format("{}: {}", node_text(expr, i), rule));
    for (int a = 0; a < arity(expr.nodes[i].op); ++a)
      used[static_cast<std::size_t>(expr.nodes[i].args[a])] = true;
  }
}

std::string to_string(const ScalarExpr& expr) {
  std::string text;
  for (std::size_t i = 0; i < expr.nodes.size(); ++i) text += node_text(expr, i) + "\n";
  text += "result";
  for (std::size_t i = 0; i < expr.results.size(); ++i)
    text += fmt::format("{}%{}", i == 0 ? " " : ", ", expr.results[i]);
  return text + "\n";
}

std::string content(const ScalarExpr& expr) {
  ByteWriter writer;
  const auto count = [&](const auto& list) { writer.number(static_cast<std::uint32_t>(list.size())); };
  const auto type = [&](DType dtype) { writer.number(static_cast<std::uint32_t>(dtype)); };
  const auto bits = [&](std::uint64_t value) {
    writer.number(static_cast<std::uint32_t>(value));
    writer.number(static_cast<std::uint32_t>(value >> 32));
  };
  count(expr.inputs);
  for (const DType input : expr.inputs) type(input);
  count(expr.params);
  for (const DType param : expr.params) type(param);
  count(expr.tables);
  for (const ScalarTable& table : expr.tables) {
    type(table.type);
    count(table.bits);
    for (const std::uint64_t value : table.bits) bits(value);
  }
  count(expr.nodes);
  for (const ScalarNode& node : expr.nodes) {
    writer.number(static_cast<std::uint32_t>(node.op));
    type(node.type);
    for (const std::int32_t arg : node.args) writer.number(static_cast<std::uint32_t>(arg));
    bits(node.bits);
  }
  count(expr.results);
  for (const std::int32_t result : expr.results) writer.number(static_cast<std::uint32_t>(result));
  return std::move(writer).bytes();
}

bool is_sign_agnostic(const ScalarExpr& expr) {
  for (const ScalarNode& node : expr.nodes) {
    switch (node.op) {
      case ScalarOp::Div:
      case ScalarOp::Rem:
      case ScalarOp::Abs:
      case ScalarOp::Min:
      case ScalarOp::Max:
      case ScalarOp::Shr:
      case ScalarOp::Lt:
      case ScalarOp::Le:
        return false;
      case ScalarOp::Cast: {
        const DType from = expr.nodes[static_cast<std::size_t>(node.args[0])].type;
        if (from != kBool && node.type != kBool) return false;
        break;
      }
      default:
        break;
    }
  }
  return true;
}

DType Term::type() const { return builder_->type(id_); }
Term Term::constant(double value) const { return builder_->constant(type(), value); }
Term Term::constant(std::int64_t value) const { return builder_->constant(type(), value); }

Term ScalarBuilder::input(DType type) {
  expr_.inputs.push_back(type);
  return add({ScalarOp::Input, type, {-1, -1, -1}, expr_.inputs.size() - 1});
}
Term ScalarBuilder::param(DType type) {
  expr_.params.push_back(type);
  return add({ScalarOp::Param, type, {-1, -1, -1}, expr_.params.size() - 1});
}
Term ScalarBuilder::constant(DType type, double value) {
  return with_type(type, [&]<class T>(std::type_identity<T>) {
    const T converted = convert<T>(value);
    if constexpr (std::is_integral_v<T>) {
      PEL_ASSERT(static_cast<double>(converted) == value, "the constant must fit its type");
    }
    std::uint64_t raw = 0;
    store_as(&raw, converted);
    return bits(type, raw);
  });
}
Term ScalarBuilder::constant(DType type, std::int64_t value) {
  return with_type(type, [&]<class T>(std::type_identity<T>) {
    std::uint64_t raw = 0;
    store_as(&raw, convert<T>(value));
    return bits(type, raw);
  });
}
Term ScalarBuilder::bits(DType type, std::uint64_t bits) {
  return add({ScalarOp::Constant, type, {-1, -1, -1}, bits});
}

Term ScalarBuilder::node(ScalarOp op, DType type, std::initializer_list<Term> args) {
  ScalarNode created{op, type, {-1, -1, -1}, 0};
  int i = 0;
  for (const Term& arg : args) {
    PEL_ASSERT(&arg.builder() == this, "terms must belong to one expression");
    created.args[i++] = arg.id();
  }
  PEL_ASSERT(i == arity(op), "the number of arguments must match the operation");
  return add(created);
}

Term ScalarBuilder::lookup(DType type, ArrayView<double> values, Term index) {
  PEL_ASSERT(std::has_single_bit(values.size()), "a table must have 2^n elements");
  ScalarTable table{type, {}};
  for (const double value : values) {
    std::uint64_t raw = 0;
    with_type(type, [&]<class T>(std::type_identity<T>) { store_as(&raw, convert<T>(value)); });
    table.bits.push_back(raw);
  }
  std::size_t number = 0;
  while (number < expr_.tables.size() && expr_.tables[number] != table) ++number;
  if (number == expr_.tables.size()) expr_.tables.push_back(std::move(table));
  return add({ScalarOp::Lookup, type, {index.id(), -1, -1}, number});
}

Term ScalarBuilder::add(const ScalarNode& node) {
  for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
    if (expr_.nodes[i] == node) return {this, static_cast<std::int32_t>(i)};
  }
  expr_.nodes.push_back(node);
  if (const char* rule = broken_rule(expr_, expr_.nodes.size() - 1))
    throw InternalError(fmt::format("{}: {}", node_text(expr_, expr_.nodes.size() - 1), rule));
  return {this, static_cast<std::int32_t>(expr_.nodes.size()) - 1};
}

ScalarExpr ScalarBuilder::finish(ArrayView<Term> results) {
  std::vector<bool> needed(expr_.nodes.size());
  for (const Term& result : results) needed[static_cast<std::size_t>(result.id())] = true;
  for (std::size_t i = 0; i < expr_.nodes.size(); ++i) needed[i] = needed[i] || reports_zero(expr_.nodes[i]);
  for (std::size_t i = expr_.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (int a = 0; a < arity(expr_.nodes[i].op); ++a)
      needed[static_cast<std::size_t>(expr_.nodes[i].args[a])] = true;
  }
  ScalarExpr finished;
  finished.inputs = std::move(expr_.inputs);
  finished.params = std::move(expr_.params);
  finished.tables = std::move(expr_.tables);
  std::vector<std::int32_t> renumbered(expr_.nodes.size(), -1);
  for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
    if (!needed[i]) continue;
    ScalarNode node = expr_.nodes[i];
    for (int a = 0; a < arity(node.op); ++a)
      node.args[a] = renumbered[static_cast<std::size_t>(node.args[a])];
    renumbered[i] = static_cast<std::int32_t>(finished.nodes.size());
    finished.nodes.push_back(node);
  }
  for (const Term& result : results)
    finished.results.push_back(renumbered[static_cast<std::size_t>(result.id())]);
  expr_ = {};
  return finished;
}

namespace {

Term unary(ScalarOp op, Term a) { return a.builder().node(op, a.type(), {a}); }
Term binary(ScalarOp op, Term a, Term b) { return a.builder().node(op, a.type(), {a, b}); }
Term comparison(ScalarOp op, Term a, Term b) { return a.builder().node(op, kBool, {a, b}); }

}  // namespace

Term operator+(Term a, Term b) { return binary(ScalarOp::Add, a, b); }
Term operator-(Term a, Term b) { return binary(ScalarOp::Sub, a, b); }
Term operator*(Term a, Term b) { return binary(ScalarOp::Mul, a, b); }
Term operator/(Term a, Term b) { return binary(ScalarOp::Div, a, b); }
Term operator%(Term a, Term b) { return binary(ScalarOp::Rem, a, b); }
Term operator&(Term a, Term b) { return binary(ScalarOp::And, a, b); }
Term operator|(Term a, Term b) { return binary(ScalarOp::Or, a, b); }
Term operator^(Term a, Term b) { return binary(ScalarOp::Xor, a, b); }
Term operator<<(Term a, Term b) { return binary(ScalarOp::Shl, a, b); }
Term operator>>(Term a, Term b) { return binary(ScalarOp::Shr, a, b); }
Term shr_logical(Term a, Term b) { return binary(ScalarOp::ShrLogical, a, b); }
Term min(Term a, Term b) { return binary(ScalarOp::Min, a, b); }
Term max(Term a, Term b) { return binary(ScalarOp::Max, a, b); }
Term operator<(Term a, Term b) { return comparison(ScalarOp::Lt, a, b); }
Term operator<=(Term a, Term b) { return comparison(ScalarOp::Le, a, b); }
Term operator>(Term a, Term b) { return comparison(ScalarOp::Lt, b, a); }
Term operator>=(Term a, Term b) { return comparison(ScalarOp::Le, b, a); }
Term operator==(Term a, Term b) { return comparison(ScalarOp::Eq, a, b); }
Term operator!=(Term a, Term b) { return comparison(ScalarOp::Ne, a, b); }
Term operator-(Term a) { return unary(ScalarOp::Neg, a); }
Term operator~(Term a) { return unary(ScalarOp::Not, a); }
Term abs(Term a) { return unary(ScalarOp::Abs, a); }
Term sqrt(Term a) { return unary(ScalarOp::Sqrt, a); }
Term floor(Term a) { return unary(ScalarOp::Floor, a); }
Term ceil(Term a) { return unary(ScalarOp::Ceil, a); }
Term trunc(Term a) { return unary(ScalarOp::Trunc, a); }
Term round(Term a) { return unary(ScalarOp::Round, a); }
Term fma(Term a, Term b, Term c) { return a.builder().node(ScalarOp::Fma, a.type(), {a, b, c}); }
Term select(Term condition, Term yes, Term no) {
  return yes.builder().node(ScalarOp::Select, yes.type(), {condition, yes, no});
}
Term cast(Term a, DType type) { return a.type() == type ? a : a.builder().node(ScalarOp::Cast, type, {a}); }
Term bitcast(Term a, DType type) {
  return a.type() == type ? a : a.builder().node(ScalarOp::Bitcast, type, {a});
}
Term is_nan(Term a) { return is_floating(a.type()) ? a != a : a.builder().constant(kBool, std::int64_t{0}); }

}  // namespace pel::scalar
