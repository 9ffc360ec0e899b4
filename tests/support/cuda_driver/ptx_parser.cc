#include <cctype>
#include <cstring>
#include <set>
#include <unordered_map>

#include "support/cuda_driver/ptx_function.h"
#include "support/cuda_driver/ptx_rules.h"

namespace pel::test::ptx {
namespace {

[[noreturn]] void fail(const std::string& why, const std::string& text) {
  throw PtxError(why + (text.empty() ? "" : " in: " + text));
}

Type type_named(const std::string& name) {
  static const std::unordered_map<std::string, Type> types = {
      {"u8", Type::U8},   {"u16", Type::U16}, {"u32", Type::U32}, {"u64", Type::U64},
      {"s8", Type::S8},   {"s16", Type::S16}, {"s32", Type::S32}, {"s64", Type::S64},
      {"b8", Type::B8},   {"b16", Type::B16}, {"b32", Type::B32}, {"b64", Type::B64},
      {"f16", Type::F16}, {"f32", Type::F32}, {"f64", Type::F64}, {"pred", Type::Pred}};
  const auto found = types.find(name);
  return found == types.end() ? Type::None : found->second;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\r"), end = text.find_last_not_of(" \t\n\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}
// Parts between a separator that is in no bracket.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c == separator && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}
std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> list;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \t\n\r", at);
    if (begin == std::string::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t\n\r", begin), text.size());
    list.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return list;
}
std::uint64_t number_of(std::string text) {
  text = trimmed(text);
  const bool is_float_bits = text.size() > 2 && text[0] == '0' && std::strchr("fFdD", text[1]) != nullptr;
  if (is_float_bits) return std::stoull(text.substr(2), nullptr, 16);
  const bool is_negative = text[0] == '-';
  if (is_negative) text.erase(0, 1);
  if (!text.empty() && std::strchr("uU", text.back()) != nullptr) text.pop_back();
  const std::uint64_t value = std::stoull(text, nullptr, 0);
  return is_negative ? 0 - value : value;
}
std::string without_comments(const std::string& source) {
  std::string text;
  for (std::size_t at = 0; at < source.size();) {
    if (source.compare(at, 2, "//") == 0) {
      at = std::min(source.find('\n', at), source.size());
    } else if (source.compare(at, 2, "/*") == 0) {
      at = source.find("*/", at) + 2;
    } else {
      text += source[at++];
    }
  }
  return text;
}

// ".align 8 .b8 name[24]": a variable or a parameter.
struct Declared {
  std::string name;
  Type type = Type::None;
  std::size_t align = 1, count = 1;
  std::size_t bytes() const { return count * width(type); }
};
Declared declared_in(const std::string& text) {
  Declared found;
  const std::vector<std::string> all = words(text);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const Type type = type_named(all[i].substr(1)); all[i][0] == '.' && type != Type::None)
      found.type = type;
    if (all[i] == ".align") found.align = std::stoull(all[i + 1]);
  }
  found.name = all.back();
  if (found.type == Type::None) fail("a variable has no type", text);
  if (const std::size_t bracket = found.name.find('['); bracket != std::string::npos) {
    found.count = std::stoull(found.name.substr(bracket + 1));
    found.name.resize(bracket);
  }
  found.align = std::max(found.align, width(found.type));
  return found;
}

}  // namespace

class Parser {
 public:
  explicit Parser(Module::Contents& module) : module_(module) {}

  void parse(const std::string& source) {
    const std::string text = without_comments(source);
    for (std::size_t at = 0; (at = text.find_first_not_of(" \t\n\r", at)) != std::string::npos;) {
      if (text[at] != '.') fail("a directive was expected", text.substr(at, 60));
      const std::string first = words(text.substr(at, 40))[0];
      if (first == ".version" || first == ".target" || first == ".address_size") {
        at = std::min(text.find('\n', at), text.size());
        continue;
      }
      const std::size_t semicolon = std::min(text.find(';', at), text.size()), brace = text.find('{', at);
      const std::string head = text.substr(at, std::min(semicolon, brace) - at);
      if (head.find(".entry") != std::string::npos) {
        std::size_t end = brace + 1;
        for (int depth = 1; depth > 0; ++end) depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
        function(head, text.substr(brace + 1, end - brace - 2));
        at = end;
      } else if (first == ".global" || first == ".const" || first == ".visible") {
        module_variable(text.substr(at, semicolon - at));
        at = semicolon + 1;
      } else {
        fail("a directive is not known", head.substr(0, 80));
      }
    }
  }

 private:
  void module_variable(const std::string& text) {
    const std::size_t equals = text.find('=');
    const Declared declared = declared_in(text.substr(0, equals));
    std::vector<std::uint64_t>& memory = module_.memory.emplace_back(declared.bytes() / 8 + 1);
    auto* to = reinterpret_cast<char*>(memory.data());
    if (equals != std::string::npos) {
      std::string values = trimmed(text.substr(equals + 1));
      if (values[0] == '{') values = values.substr(1, values.size() - 2);
      for (const std::string& each : split(values, ',')) {
        const std::uint64_t value = number_of(each);
        std::memcpy(to, &value, width(declared.type));
        to += width(declared.type);
      }
    }
    module_.variables[declared.name] = reinterpret_cast<std::uint64_t>(memory.data());
  }

  void function(const std::string& head, const std::string& body) {
    f_ = Function{};
    slots_.clear();
    labels_.clear();
    branches_.clear();
    constants_.clear();
    const std::size_t entry = head.find(".entry") + 6, open = head.find('('), close = head.rfind(')');
    f_.name = words(head.substr(entry, open - entry))[0];
    for (const std::string& each : split(head.substr(open + 1, close - open - 1), ',')) {
      const Declared declared = declared_in(each);
      const std::size_t offset = (f_.parameter_bytes + declared.align - 1) / declared.align * declared.align;
      f_.parameters.push_back({offset, declared.bytes()});
      f_.variables[declared.name] = {Space::Parameter, offset, new_slot()};
      f_.parameter_bytes = offset + declared.bytes();
    }
    for (std::size_t at = 0; (at = body.find_first_not_of(" \t\n\r{}", at)) != std::string::npos;) {
      std::size_t end = at;
      while (std::isalnum(static_cast<unsigned char>(body[end])) != 0 || body[end] == '_' || body[end] == '$')
        ++end;
      if (end > at && body[end] == ':') {
        labels_[body.substr(at, end - at)] = static_cast<int>(f_.code.size());
        at = end + 1;
        continue;
      }
      const std::size_t semicolon = body.find(';', at);
      if (semicolon == std::string::npos) fail("a statement does not end", body.substr(at, 60));
      std::string statement = trimmed(body.substr(at, semicolon - at));
      for (char& c : statement)
        if (c == '\n' || c == '\t' || c == '\r') c = ' ';
      at = semicolon + 1;
      if (statement[0] == '.') {
        directive(statement);
      } else {
        instruction(statement);
      }
    }
    for (const auto& [at, label] : branches_) {
      if (!labels_.contains(label)) fail("there is no label " + label, "");
      f_.code[at].target = labels_[label];
    }
    for (const std::vector<std::uint64_t>& memory : module_.memory)
      f_.constants.emplace_back(reinterpret_cast<std::uint64_t>(memory.data()), 8 * memory.size());
    module_.functions[f_.name] = std::move(f_);
  }

  void directive(const std::string& text) {
    const std::vector<std::string> all = words(text);
    if (all[0] == ".reg") {
      std::string names;
      for (std::size_t i = 2; i < all.size(); ++i) names += all[i];
      for (const std::string& name : split(names, ',')) {
        const std::size_t angle = name.find('<');
        if (angle == std::string::npos) {
          slots_[name] = new_slot();
          continue;
        }
        const int count = std::stoi(name.substr(angle + 1));
        for (int i = 0; i < count; ++i) slots_[name.substr(0, angle) + std::to_string(i)] = new_slot();
      }
    } else if (all[0] == ".local" || all[0] == ".shared") {
      const Declared declared = declared_in(text);
      const bool is_local = all[0] == ".local";
      std::size_t& bytes = is_local ? f_.local_bytes : f_.shared_bytes;
      const std::size_t offset = (bytes + declared.align - 1) / declared.align * declared.align;
      f_.variables[declared.name] = {is_local ? Space::Local : Space::Shared, offset, new_slot()};
      bytes = offset + declared.bytes();
    } else if (all[0] != ".pragma" && all[0] != ".loc") {
      fail("a directive is not known", text);
    }
  }

  int new_slot(std::uint64_t value = 0) {
    f_.initial.push_back(value);
    return static_cast<int>(f_.initial.size()) - 1;
  }
  int constant(std::uint64_t value) {
    const auto [found, is_new] = constants_.try_emplace(value, 0);
    if (is_new) found->second = new_slot(value);
    return found->second;
  }
  int slot_of(const std::string& name) {
    if (name == "_") return kNoSlot;
    if (const auto found = slots_.find(name); found != slots_.end()) return found->second;
    if (const auto found = f_.variables.find(name); found != f_.variables.end()) return found->second.slot;
    if (const auto found = module_.variables.find(name); found != module_.variables.end())
      return constant(found->second);
    if (name[0] == '%') {
      static const std::map<std::string, char> kinds = {
          {"%tid", 't'}, {"%ntid", 'n'}, {"%ctaid", 'c'}, {"%nctaid", 'g'}};
      const std::size_t dot = name.find('.');
      const auto kind = kinds.find(name.substr(0, dot));
      if (kind == kinds.end() || dot == std::string::npos) fail("a register is not known", name);
      f_.specials.push_back({new_slot(), kind->second, name[dot + 1] - 'x'});
      return slots_[name] = f_.specials.back().slot;
    }
    if (std::isdigit(static_cast<unsigned char>(name[0])) == 0 && name[0] != '-')
      fail("a name is not known", name);
    return constant(number_of(name));
  }
  std::vector<int> slots_of(const std::string& operand) {
    if (operand[0] != '{') return {slot_of(operand)};
    std::vector<int> list;
    for (const std::string& each : split(operand.substr(1, operand.size() - 2), ','))
      list.push_back(slot_of(each));
    return list;
  }
  // [register+8] or [name].
  void address(Instruction& instruction, const std::string& operand) {
    const std::string inside = trimmed(operand.substr(1, operand.size() - 2));
    const std::size_t sign = inside.find('+');
    instruction.from_slots.push_back(slot_of(trimmed(inside.substr(0, sign))));
    if (sign != std::string::npos)
      instruction.offset = static_cast<std::int64_t>(number_of(inside.substr(sign + 1)));
  }

  void instruction(const std::string& statement) {
    Instruction made;
    made.text = statement;
    std::string rest = statement;
    if (rest[0] == '@') {
      const std::size_t space = rest.find(' ');
      made.is_guard_negated = rest[1] == '!';
      made.guard =
          slot_of(rest.substr(made.is_guard_negated ? 2 : 1, space - (made.is_guard_negated ? 2 : 1)));
      rest = trimmed(rest.substr(space));
    }
    const std::size_t space = std::min(rest.find(' '), rest.size());
    std::vector<std::string> parts = split(rest.substr(0, space), '.');
    const std::string name = parts[0];
    parts.erase(parts.begin());
    const std::vector<std::string> operands = split(rest.substr(space), ',');
    const std::set<std::string> has(parts.begin(), parts.end());
    for (const std::string& part : parts) {
      const Type type = type_named(part);
      if (type == Type::None) continue;
      (made.type == Type::None ? made.type : made.from) = type;
    }
    modifiers(made, has);
    decode(made, name, parts, operands);
    f_.code.push_back(std::move(made));
  }

  static void modifiers(Instruction& made, const std::set<std::string>& has) {
    static const std::map<std::string, Comparison> comparisons = {
        {"eq", Comparison::Eq},   {"ne", Comparison::Ne},   {"lt", Comparison::Lt},
        {"le", Comparison::Le},   {"gt", Comparison::Gt},   {"ge", Comparison::Ge},
        {"equ", Comparison::Equ}, {"neu", Comparison::Neu}, {"ltu", Comparison::Ltu},
        {"leu", Comparison::Leu}, {"gtu", Comparison::Gtu}, {"geu", Comparison::Geu},
        {"num", Comparison::Num}, {"nan", Comparison::Nan}};
    static const std::map<std::string, Rounding> roundings = {
        {"rn", Rounding::Nearest}, {"rni", Rounding::NearestInteger},
        {"rz", Rounding::Zero},    {"rzi", Rounding::Zero},
        {"rm", Rounding::Down},    {"rmi", Rounding::Down},
        {"rp", Rounding::Up},      {"rpi", Rounding::Up}};
    static const std::map<std::string, Combine> combines = {
        {"and", Combine::And}, {"or", Combine::Or}, {"xor", Combine::Xor}};
    for (const std::string& part : has) {
      if (const auto found = comparisons.find(part); found != comparisons.end())
        made.comparison = found->second;
      if (const auto found = roundings.find(part); found != roundings.end()) made.rounding = found->second;
      if (const auto found = combines.find(part); found != combines.end()) made.combine = found->second;
    }
    made.propagates_nan = has.contains("NaN");
    made.saturates = has.contains("sat");
  }

  void decode(Instruction& made, const std::string& name, const std::vector<std::string>& parts,
              const std::vector<std::string>& operands) {
    const auto has = [&](std::string_view part) { return std::ranges::find(parts, part) != parts.end(); };
    if (name == "ret" || name == "exit") {
      made.op = Op::Return;
    } else if (name == "bar" || name == "barrier") {
      if (!has("sync") || has("warp")) fail("a barrier is not known", made.text);
      made.op = Op::Barrier;
    } else if (name == "bra") {
      made.op = Op::Branch;
      branches_.emplace_back(f_.code.size(), operands.at(0));
    } else if (name == "ld") {
      made.op = Op::Load;
      made.to = slots_of(operands.at(0));
      address(made, operands.at(1));
    } else if (name == "st") {
      made.op = Op::Store;
      address(made, operands.at(0));
      for (const int slot : slots_of(operands.at(1))) made.from_slots.push_back(slot);
    } else if (name == "atom") {
      made.op = has("cas") ? Op::CompareAndSwap : has("exch") ? Op::Exchange : Op::AtomicAdd;
      if (made.op == Op::AtomicAdd && (!has("add") || made.type >= Type::F16))
        fail("an atomic is not known", made.text);
      made.to = slots_of(operands.at(0));
      address(made, operands.at(1));
      for (std::size_t i = 2; i < operands.size(); ++i) made.from_slots.push_back(slot_of(operands[i]));
    } else if (name == "setp") {
      made.op = Op::Compare;
      const std::size_t bar = operands.at(0).find('|');
      made.to.push_back(slot_of(trimmed(operands[0].substr(0, bar))));
      if (bar != std::string::npos) made.to.push_back(slot_of(trimmed(operands[0].substr(bar + 1))));
      for (std::size_t i = 1; i < operands.size(); ++i) {
        made.is_combined_negated = operands[i][0] == '!';
        made.from_slots.push_back(slot_of(operands[i].substr(operands[i][0] == '!' ? 1 : 0)));
      }
    } else {
      plain(made, name, has("hi"), has("wide"), operands, has("l"));
    }
  }

  // Instructions whose first operand is written and whose others are read.
  void plain(Instruction& made, const std::string& name, bool is_high, bool is_wide,
             const std::vector<std::string>& operands, bool is_left) {
    static const std::map<std::string, Op> ops = {
        {"mov", Op::Mov},     {"cvta", Op::Mov},       {"add", Op::Add},        {"sub", Op::Sub},
        {"mul", Op::Mul},     {"mad", Op::Mad},        {"fma", Op::Fma},        {"div", Op::Div},
        {"rem", Op::Rem},     {"neg", Op::Neg},        {"abs", Op::Abs},        {"min", Op::Min},
        {"max", Op::Max},     {"sqrt", Op::Sqrt},      {"rcp", Op::Reciprocal}, {"and", Op::And},
        {"or", Op::Or},       {"xor", Op::Xor},        {"not", Op::Not},        {"shl", Op::Shl},
        {"shr", Op::Shr},     {"selp", Op::Select},    {"cvt", Op::Convert},    {"popc", Op::Popc},
        {"clz", Op::Clz},     {"bfe", Op::BitsOut},    {"bfi", Op::BitsIn},     {"prmt", Op::Permute},
        {"lop3", Op::Logic3}, {"shf", Op::FunnelRight}};
    const auto found = ops.find(name);
    if (found == ops.end()) fail("an instruction is not known", made.text);
    made.op = found->second;
    if (made.op == Op::FunnelRight && is_left) made.op = Op::FunnelLeft;
    if (made.op == Op::Mul && is_high) made.op = Op::MulHigh;
    if (made.op == Op::Mul && is_wide) made.op = Op::MulWide;
    if (made.op == Op::Mad && is_wide) made.op = Op::MadWide;
    if (made.op == Op::Mad && is_high) fail("an instruction is not known", made.text);
    made.to = slots_of(operands.at(0));
    for (std::size_t i = 1; i < operands.size(); ++i)
      for (const int slot : slots_of(operands[i])) made.from_slots.push_back(slot);
    if (made.op == Op::Mov && made.to.size() > 1) made.op = Op::Unpack;
    if (made.op == Op::Mov && made.from_slots.size() > 1) made.op = Op::Pack;
  }

  Module::Contents& module_;
  Function f_;
  std::unordered_map<std::string, int> slots_;
  std::map<std::uint64_t, int> constants_;
  std::map<std::string, int> labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
};

Module::Module(const std::string& text) : contents_(std::make_unique<Contents>()) {
  if (const std::string refused = refused_instructions(text); !refused.empty())
    throw PtxError("instructions that may have other bits:\n" + refused);
  Parser(*contents_).parse(text);
}
Module::~Module() = default;

const Function* Module::find(const std::string& name) const {
  const auto found = contents_->functions.find(name);
  return found == contents_->functions.end() ? nullptr : &found->second;
}

}  // namespace pel::test::ptx
