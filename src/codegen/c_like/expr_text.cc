#include "codegen/c_like/expr_text.h"

#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "codegen/c_like/dialect.h"

namespace pel::codegen {

using scalar::ScalarExpr;
using scalar::ScalarNode;
using scalar::ScalarOp;
using scalar::ScalarTable;

namespace {

bool is_half(DType type) { return type == kF16 || type == kBF16; }

// The unsigned type of the same width.
std::string unsigned_name(DType type, int lanes) {
  const std::string scalar = fmt::format("pel_u{}", 8 * size_bytes(type));
  return lanes == 1 ? scalar : fmt::format("{}x{}", scalar, lanes);
}

class Writer {
 public:
  Writer(const ScalarExpr& expr, int lanes, std::string_view prefix, std::string_view tables)
      : expr_(expr), lanes_(lanes), prefix_(prefix), tables_(tables) {}

  std::string statements() const {
    std::string text;
    for (std::size_t i = 0; i < expr_.nodes.size(); ++i)
      text += fmt::format("  const {} {}{} = {};\n", type(expr_.nodes[i].type), prefix_, i,
                          value(expr_.nodes[i]));
    return text;
  }

 private:
  std::string type(DType t) const { return value_type_name(t, lanes_); }
  std::string arg(const ScalarNode& node, int i) const { return fmt::format("{}{}", prefix_, node.args[i]); }
  DType arg_type(const ScalarNode& node) const {
    return expr_.nodes[static_cast<std::size_t>(node.args[0])].type;
  }
  bool is_vector() const { return lanes_ > 1; }

  // A condition for a choice between values of `chosen`: masks have the width of what they choose from.
  std::string condition(const std::string& mask, DType chosen) const {
    if (!is_vector() || size_bytes(chosen) == 1) return mask;
    return fmt::format("convert_pel_i{}x{}({})", 8 * size_bytes(chosen), lanes_, mask);
  }
  std::string compared(const std::string& comparison) const {
    return is_vector() ? fmt::format("convert_pel_i8x{}({})", lanes_, comparison) : comparison;
  }

  // Integers are computed unsigned: they wrap. Short ones of a scalar are computed in 32 bits.
  std::string wrapped(const ScalarNode& node, std::string_view op, const std::string& b) const {
    const std::string a = arg(node, 0);
    if (is_vector()) {
      const std::string u = unsigned_name(node.type, lanes_);
      return fmt::format("as_{}(as_{}({}) {} as_{}({}))", type(node.type), u, a, op, u, b);
    }
    const std::string_view wide = size_bytes(node.type) == 8 ? "pel_u64" : "pel_u32";
    return fmt::format("({})(({}){} {} ({}){})", type(node.type), wide, a, op, wide, b);
  }
  std::string negated(const ScalarNode& node) const {
    const std::string a = arg(node, 0);
    if (is_vector()) {
      const std::string u = unsigned_name(node.type, lanes_);
      return fmt::format("as_{}(({})(0) - as_{}({}))", type(node.type), u, u, a);
    }
    const std::string_view wide = size_bytes(node.type) == 8 ? "pel_u64" : "pel_u32";
    return fmt::format("({})(({})0 - ({}){})", type(node.type), wide, wide, a);
  }
  std::string floating(const ScalarNode& node, std::string_view op) const {
    return fmt::format("{}_{}({}, {})", op, name(node.type), arg(node, 0), arg(node, 1));
  }
  std::string constant(const ScalarNode& node) const {
    std::string text;
    switch (node.type) {
      case DType::F32:
        text = fmt::format("as_pel_f32((pel_u32)0x{:x}u)", node.bits & 0xffffffffu);
        break;
      case DType::F64:
        text = fmt::format("as_pel_f64((pel_u64)0x{:x}ul)", node.bits);
        break;
      case DType::Bool:
        if (is_vector()) return fmt::format("({})({})", type(kBool), (node.bits & 1) != 0 ? -1 : 0);
        return (node.bits & 1) != 0 ? "true" : "false";
      case DType::I64:
        text = fmt::format("(pel_i64)0x{:x}ul", node.bits);
        break;
      default:
        text = fmt::format("({})0x{:x}u", value_type_name(node.type),
                           node.bits & ((std::uint64_t{1} << (8 * size_bytes(node.type))) - 1));
    }
    return is_vector() ? fmt::format("({})({})", type(node.type), text) : text;
  }
  std::string compare(const ScalarNode& node, std::string_view op) const {
    const std::string a = arg(node, 0), b = arg(node, 1);
    if (is_vector() && arg_type(node) == kBool) {  // true is -1
      if (node.op == ScalarOp::Lt) return fmt::format("(~{} & {})", a, b);
      if (node.op == ScalarOp::Le) return fmt::format("(~{} | {})", a, b);
    }
    return compared(fmt::format("{} {} {}", a, op, b));
  }
  std::string shift(const ScalarNode& node) const {
    const std::string a = arg(node, 0);
    const std::int64_t most = 8 * size_bytes(node.type) - 1;
    if (is_vector()) {
      const std::string u = unsigned_name(node.type, lanes_);
      const std::string by = fmt::format("(as_{}({}) & ({})({}))", u, arg(node, 1), u, most);
      if (node.op == ScalarOp::Shr && node.type != kU8)
        return fmt::format("({} >> as_{}({}))", a, type(node.type), by);
      return fmt::format("as_{}(as_{}({}) {} {})", type(node.type), u, a,
                         node.op == ScalarOp::Shl ? "<<" : ">>", by);
    }
    const std::string by = fmt::format("({} & {})", arg(node, 1), most);
    if (node.op == ScalarOp::Shl) {
      const std::string_view wide = size_bytes(node.type) == 8 ? "pel_u64" : "pel_u32";
      return fmt::format("({})(({}){} << {})", type(node.type), wide, a, by);
    }
    if (node.op == ScalarOp::Shr) return fmt::format("({})({} >> {})", type(node.type), a, by);
    return fmt::format("({})(({}){} >> {})", type(node.type), unsigned_name(node.type, 1), a, by);
  }
  std::string lookup(const ScalarNode& node) const {
    const ScalarTable& table = expr_.tables[static_cast<std::size_t>(node.bits)];
    const std::string at = fmt::format("{}{}", tables_, node.bits), u = unsigned_name(node.type, lanes_);
    const std::string bits = is_vector()
                                 ? fmt::format("PEL_LOOKUP16({}, {}, ({} & ({})({})))", u, at, arg(node, 0),
                                               type(arg_type(node)), table.bits.size() - 1)
                                 : fmt::format("{}[{} & {}]", at, arg(node, 0), table.bits.size() - 1);
    return fmt::format("as_{}({})", type(node.type), bits);
  }

  std::string value(const ScalarNode& node) const {
    const bool is_float = arity(node.op) > 0 && is_floating(arg_type(node));
    const auto both = [&](std::string_view op) {
      return is_float ? floating(node, op == "+"   ? "add"
                                       : op == "-" ? "sub"
                                                   : "mul")
                      : wrapped(node, op, arg(node, 1));
    };
    const auto rounded = [&](std::string_view function) {
      return fmt::format("{}({})", function, arg(node, 0));
    };
    const auto logic = [&](std::string_view of_masks, std::string_view of_bools) {
      if (node.type != kBool) return wrapped(node, of_masks, arg(node, 1));
      return fmt::format("({} {} {})", arg(node, 0), is_vector() ? of_masks : of_bools, arg(node, 1));
    };
    const auto chosen = [&](std::string_view op) {
      const std::string a = arg(node, 0), b = arg(node, 1);
      if (node.type == kBool && is_vector()) return fmt::format("({} {} {})", a, op == "<" ? "&" : "|", b);
      return fmt::format("({} {} {} ? {} : {})", a, op, b, a, b);
    };
    switch (node.op) {
      case ScalarOp::Input:
        return fmt::format("in{}", node.bits);
      case ScalarOp::Param:
        return fmt::format("param{}", node.bits);
      case ScalarOp::Constant:
        return constant(node);
      case ScalarOp::Add:
        return both("+");
      case ScalarOp::Sub:
        return both("-");
      case ScalarOp::Mul:
        return both("*");
      case ScalarOp::Div:
        if (is_float) return floating(node, "div");
        return fmt::format("div_{}({}, {}, &failed)", type(node.type), arg(node, 0), arg(node, 1));
      case ScalarOp::Rem: {
        if (is_float) return fmt::format("rem_{}({}, {})", type(node.type), arg(node, 0), arg(node, 1));
        const std::string_view wide = size_bytes(node.type) == 8 ? "pel_u64" : "pel_u32";
        return fmt::format("({0})(({1}){2} - ({1})div_{0}({2}, {3}, &failed) * ({1}){3})", type(node.type),
                           wide, arg(node, 0), arg(node, 1));
      }
      case ScalarOp::Neg:
        return is_float ? fmt::format("-{}", arg(node, 0)) : negated(node);
      case ScalarOp::Abs:
        if (is_float) return rounded("pel_fabs");
        if (node.type == kU8 || node.type == kBool) return arg(node, 0);
        return fmt::format("({} < ({})(0) ? {} : {})", arg(node, 0), type(node.type), negated(node),
                           arg(node, 0));
      case ScalarOp::Min:
        return chosen("<");
      case ScalarOp::Max:
        return chosen(">");
      case ScalarOp::Fma:
        return fmt::format("fma_{}({}, {}, {})", name(node.type), arg(node, 0), arg(node, 1), arg(node, 2));
      case ScalarOp::Sqrt:
        return fmt::format("sqrt_{}({})", name(node.type), arg(node, 0));
      case ScalarOp::Floor:
        return rounded("pel_floor");
      case ScalarOp::Ceil:
        return rounded("pel_ceil");
      case ScalarOp::Trunc:
        return rounded("pel_trunc");
      case ScalarOp::Round:
        return rounded("pel_rint");
      case ScalarOp::And:
        return logic("&", "&&");
      case ScalarOp::Or:
        return logic("|", "||");
      case ScalarOp::Xor:
        return logic("^", "!=");
      case ScalarOp::Not:
        if (is_vector()) return fmt::format("~{}", arg(node, 0));
        return node.type == kBool ? fmt::format("!{}", arg(node, 0))
                                  : fmt::format("({})~{}", type(node.type), arg(node, 0));
      case ScalarOp::Shl:
      case ScalarOp::Shr:
      case ScalarOp::ShrLogical:
        return shift(node);
      case ScalarOp::Eq:
        return compare(node, "==");
      case ScalarOp::Ne:
        return compare(node, "!=");
      case ScalarOp::Lt:
        return compare(node, "<");
      case ScalarOp::Le:
        return compare(node, "<=");
      case ScalarOp::Select:
        return fmt::format("({} ? {} : {})", condition(arg(node, 0), node.type), arg(node, 1), arg(node, 2));
      case ScalarOp::Cast:
        return cast_text(arg(node, 0), arg_type(node), node.type, lanes_);
      case ScalarOp::Bitcast:
        return fmt::format("as_{}({})", type(node.type), arg(node, 0));
      case ScalarOp::Lookup:
        return lookup(node);
    }
    PEL_ASSERT(false, "an operation of the set");
  }

  const ScalarExpr& expr_;
  const int lanes_;
  const std::string_view prefix_, tables_;
};

std::string tables_of(const ScalarExpr& expr, std::string_view name) {
  std::string text;
  for (std::size_t t = 0; t < expr.tables.size(); ++t) {
    const ScalarTable& table = expr.tables[t];
    text += fmt::format("PEL_CONSTANT const {} {}{}[{}] = {{", unsigned_name(table.type, 1), name, t,
                        table.bits.size());
    for (const std::uint64_t bits : table.bits)
      text += fmt::format("0x{:x}{},", bits, size_bytes(table.type) == 8 ? "ul" : "u");
    text += "};\n";
  }
  return text;
}

}  // namespace

bool has_vector_form(const ScalarExpr& expr) {
  for (const ScalarNode& node : expr.nodes) {
    const bool divides = node.op == ScalarOp::Div || node.op == ScalarOp::Rem;
    if (divides && (!is_floating(node.type) || node.op == ScalarOp::Rem)) return false;
    const bool is_arithmetic = node.op == ScalarOp::Add || node.op == ScalarOp::Sub ||
                               node.op == ScalarOp::Mul || node.op == ScalarOp::Neg;
    if (is_arithmetic && node.type == kBool) return false;
  }
  return true;
}

std::string cast_text(const std::string& value, DType from, DType to, int lanes) {
  if (from == to) return value;
  const std::string suffix = lanes == 1 ? "" : fmt::format("x{}", lanes), type = value_type_name(to, lanes);
  const auto through = [&](DType between) {
    return cast_text(cast_text(value, from, between, lanes), between, to, lanes);
  };
  if (is_half(from)) {
    if (to != kF32) return through(kF32);
    if (from == kF16) return fmt::format("f16_to_f32{}({})", suffix, value);
    if (lanes == 1) return fmt::format("as_pel_f32((pel_u32)({}) << 16)", value);
    return fmt::format("as_pel_f32x16(convert_uint16({}) << 16u)", value);
  }
  if (is_half(to)) {
    if (from != kF32) return through(kF32);
    return fmt::format("f32_to_{}{}({})", name(to), suffix, value);
  }
  if (from == kBool) {
    if (lanes == 1) return fmt::format("(({}) ? ({})1 : ({})0)", value, type, type);
    const std::string mask =
        size_bytes(to) == 1 ? value : fmt::format("convert_pel_i{}x{}({})", 8 * size_bytes(to), lanes, value);
    return fmt::format("({} ? ({})(1) : ({})(0))", mask, type, type);
  }
  if (to == kBool) {
    if (lanes == 1) return fmt::format("({} != 0)", value);
    return fmt::format("convert_pel_i8x{}({} != ({})(0))", lanes, value, value_type_name(from, lanes));
  }
  if (is_floating(from) && !is_floating(to)) {
    const std::string source = value_type_name(from, lanes);
    if (to == kI64 || to == kI32) return fmt::format("{}_from_{}({})", type, source, value);
    const int high = to == kU8 ? 255 : size_bytes(to) == 1 ? 127 : 32767, low = to == kU8 ? 0 : -high - 1;
    return fmt::format("convert_{}(clamp_i32{}({}_from_{}({}), {}, {}))", type, suffix,
                       value_type_name(kI32, lanes), source, value, low, high);
  }
  return fmt::format("convert_{}({})", type, value);
}

std::string number_text(std::size_t i, DType type, int lanes) {
  const std::string bits = fmt::format("call.number[{}]", i);
  if (type == kBool)
    return lanes == 1 ? fmt::format("{} != 0", bits)
                      : fmt::format("({})({} != 0 ? -1 : 0)", value_type_name(kBool, lanes), bits);
  const std::string value = type == kF32   ? fmt::format("as_pel_f32((pel_u32){})", bits)
                            : type == kF64 ? fmt::format("as_pel_f64((pel_u64){})", bits)
                                           : fmt::format("({}){}", value_type_name(type), bits);
  return lanes == 1 ? value : fmt::format("({})({})", value_type_name(type, lanes), value);
}

std::string expr_statements(const ScalarExpr& expr, int lanes, std::string_view prefix, std::string_view name,
                            std::string& tables) {
  const std::string names = fmt::format("{}_table", name);
  tables += tables_of(expr, names);
  return Writer(expr, lanes, prefix, names).statements();
}

std::string expr_function(const ScalarExpr& expr, std::string_view name, std::size_t of) {
  std::string tables, arguments;
  const auto add = [&](std::string_view kind, std::size_t number, DType type) {
    arguments += fmt::format("{}{} {}{}", arguments.empty() ? "" : ", ", value_type_name(type), kind, number);
  };
  for (std::size_t i = 0; i < expr.inputs.size(); ++i) add("in", i, expr.inputs[i]);
  for (std::size_t i = 0; i < expr.params.size(); ++i) add("param", i, expr.params[i]);
  const std::string body = expr_statements(expr, 1, "v", name, tables);
  const auto result = static_cast<std::size_t>(expr.results[of]);
  return fmt::format("{}PEL_INLINE {} {}({}) {{\n{}  return v{};\n}}\n", tables,
                     value_type_name(expr.nodes[result].type), name, arguments, body, result);
}

}  // namespace pel::codegen
