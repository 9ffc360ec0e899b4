#include "doctor/names/name_text.h"

#include <algorithm>
#include <charconv>

namespace pel::doctor::names {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Keeps count of brackets, of which > may also be an arrow or a comparison.
class Brackets {
 public:
  bool is_outside() const { return open_.empty(); }
  char innermost() const { return open_.empty() ? '\0' : open_.back(); }
  std::size_t depth() const { return open_.size(); }

  void step(std::string_view text, std::size_t at) {
    const char c = text[at];
    if (c >= '@' ? (c & 0x5f) < '[' : c > '*' && c < '<') return;  // letters, digits, points: nearly all
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      open_.push_back(c);
      return;
    }
    if (c == '>' && (at == 0 || text[at - 1] != '-') && innermost() == '<') open_.pop_back();
    if (c == ')' || c == '}' || c == ']') {
      const char partner = c == ')' ? '(' : c == '}' ? '{' : '[';
      if (innermost() == partner) open_.pop_back();
    }
  }

 private:
  std::string open_;
};

constexpr std::string_view kAnonymous = "(anonymous namespace)";

struct Spelling {
  std::string_view text, dtype;
};

constexpr Spelling kCppTypes[] = {
    {"float", "f32"},
    {"double", "f64"},
    {"BFloat16", "bf16"},
    {"__nv_bfloat16", "bf16"},
    {"nv_bfloat16", "bf16"},
    {"__nv_bfloat162", "bf16"},
    {"__hip_bfloat16", "bf16"},
    {"hip_bfloat16", "bf16"},
    {"__bf16", "bf16"},
    {"bfloat16_t", "bf16"},
    {"Half", "f16"},
    {"__half", "f16"},
    {"half", "f16"},
    {"half_t", "f16"},
    {"_Float16", "f16"},
    {"tfloat32_t", "tf32"},
    {"Float8_e4m3fn", "f8e4m3"},
    {"Float8_e4m3fnuz", "f8e4m3"},
    {"Float8_e5m2", "f8e5m2"},
    {"Float8_e5m2fnuz", "f8e5m2"},
    {"__nv_fp8_e4m3", "f8e4m3"},
    {"__nv_fp8x2_e4m3", "f8e4m3"},
    {"__nv_fp8_e5m2", "f8e5m2"},
    {"float_e4m3_t", "f8e4m3"},
    {"float_e5m2_t", "f8e5m2"},
    {"__nv_fp4_e2m1", "f4e2m1"},
    {"float_e2m1_t", "f4e2m1"},
    {"long", "i64"},
    {"long long", "i64"},
    {"unsigned long", "u64"},
    {"int", "i32"},
    {"unsigned int", "u32"},
    {"short", "i16"},
    {"unsigned short", "u16"},
    {"signed char", "i8"},
    {"char", "i8"},
    {"int8_t", "i8"},
    {"unsigned char", "u8"},
    {"uint8_t", "u8"},
    {"bool", "bool"},
    {"complex<float>", "c64"},
    {"complex<double>", "c128"},
};

constexpr Spelling kWords[] = {
    {"bf16", "bf16"},     {"fp16", "f16"},        {"f16", "f16"},         {"half", "f16"},
    {"tf32", "tf32"},     {"f32", "f32"},         {"fp32", "f32"},        {"float", "f32"},
    {"f64", "f64"},       {"fp64", "f64"},        {"s8", "i8"},           {"i8", "i8"},
    {"int8", "i8"},       {"u8", "u8"},           {"s32", "i32"},         {"i32", "i32"},
    {"s4", "i4"},         {"e4m3", "f8e4m3"},     {"e5m2", "f8e5m2"},     {"fp8", "f8e4m3"},
    {"e2m1", "f4e2m1"},   {"mxfp4", "mxf4"},      {"mxfp8", "mxf8"},      {"Bfloat16", "bf16"},
    {"Fp16", "f16"},      {"Fp32", "f32"},        {"E4m3", "f8e4m3"},     {"E5m2", "f8e5m2"},
    {"E2m1", "f4e2m1"},   {"MxE4m3", "mxf8e4m3"}, {"MxE2m1", "mxf4e2m1"}, {"bfloat16", "bf16"},
    {"float16", "f16"},   {"cf32", "c64"},        {"cf64", "c128"},       {"float32", "f32"},
    {"fp8e4m3", "f8e4m3"}};

template <std::size_t N>
std::string_view spelled(const Spelling (&spellings)[N], std::string_view text) {
  for (const Spelling& s : spellings)
    if (s.text == text) return s.dtype;
  return {};
}

}  // namespace

Pieces NameText::dtypes_from(std::size_t first) const {
  Pieces types;
  for (std::size_t i = first; i < arguments.size() && !dtype_of_cpp(arguments[i]).empty(); ++i)
    types.push_back(arguments[i]);
  return types;
}

NameText read_name(std::string_view text) {
  NameText name;
  name.text = text;
  Brackets brackets;
  std::size_t head = 0, leaf = 0, leaf_end = std::string_view::npos, end = 0;
  for (; end < text.size(); ++end) {
    if (brackets.is_outside()) {
      if (text[end] == '(' && text.substr(end).starts_with(kAnonymous)) {
        end += kAnonymous.size() - 1;
        continue;
      }
      if (text[end] == '(' && end > head) break;
      if (text[end] == ' ') {
        head = leaf = end + 1;
        leaf_end = std::string_view::npos;
      } else if (text[end] == ':' && end > 0 && text[end - 1] == ':') {
        leaf = end + 1;
        leaf_end = std::string_view::npos;
      } else if (text[end] == '<' && leaf_end == std::string_view::npos) {
        leaf_end = end;
      }
    }
    brackets.step(text, end);
  }
  name.head = text.substr(head, end - head);
  name.scope = text.substr(head, leaf - head);
  name.leaf = text.substr(leaf, std::min(leaf_end, end) - leaf);
  if (leaf_end < end) name.arguments = template_arguments(text.substr(leaf_end, end - leaf_end));
  return name;
}

Pieces split(std::string_view text, char at) {
  Pieces pieces;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    pieces.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

Pieces template_arguments(std::string_view text) {
  Pieces pieces;
  const std::size_t open = text.find('<');
  if (open == std::string_view::npos) return pieces;
  Brackets brackets;
  std::size_t begin = open + 1;
  const auto close = [&](std::size_t end) {
    std::string_view piece = text.substr(begin, end - begin);
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    while (piece.ends_with(' ')) piece.remove_suffix(1);
    if (!piece.empty()) pieces.push_back(piece);
    begin = end + 1;
  };
  for (std::size_t i = open; i < text.size(); ++i) {
    if (brackets.depth() == 1 && text[i] == ',') close(i);
    brackets.step(text, i);
    if (brackets.is_outside()) {
      close(i);
      return pieces;
    }
  }
  close(text.size());  // the name is cut
  return pieces;
}

std::string_view found(std::string_view text, std::string_view piece) {
  const std::size_t at = text.find(piece);
  return at == std::string_view::npos ? std::string_view() : text.substr(at, piece.size());
}

std::string_view after(std::string_view text, std::string_view piece) {
  const std::size_t at = text.find(piece);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + piece.size());
}

std::string_view leading_digits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return text.substr(0, count);
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || !is_digit(text[0]) || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

int leading_number(std::string_view text) { return number(leading_digits(text)).value_or(0); }

std::optional<TileSize> tile_size(std::string_view text) {
  const Pieces sides = split(text.substr(0, 40), 'x');
  if (text.size() > 40 || sides.size() < 2 || sides.size() > 3) return std::nullopt;
  TileSize e;
  int* const to[] = {&e.m, &e.n, &e.k};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const std::optional<int> side = number(sides[i]);
    if (!side) return std::nullopt;
    *to[i] = *side;
  }
  return e;
}

bool is_one_of(std::string_view text, std::span<const std::string_view> these) {
  return std::ranges::find(these, text) != these.end();
}

std::string_view dtype_of_cpp(std::string_view type) {
  const auto drop = [&](std::string_view end) {
    if (type.ends_with(end)) type.remove_suffix(end.size());
  };
  drop("*");
  drop("&");
  drop(" const");
  if (const std::size_t bracket = type.find('<'); bracket != std::string_view::npos) {
    if (!type.substr(0, bracket).ends_with("complex")) return {};
    return spelled(kCppTypes, type.substr(bracket - std::string_view("complex").size()));
  }
  if (const std::size_t colon = type.rfind(':'); colon != std::string_view::npos)
    type.remove_prefix(colon + 1);
  return spelled(kCppTypes, type);
}

std::string_view dtype_of_letter(char letter) {
  switch (letter) {
    case 's':
      return "f32";
    case 'h':
      return "f16";
    case 'd':
      return "f64";
    case 'i':
      return "i32";
    case 'c':
      return "c64";
    case 'z':
      return "c128";
    default:
      return {};
  }
}

std::string_view dtype_of_word(std::string_view word) { return spelled(kWords, word); }

bool fits(std::string_view pattern, std::string_view leaf) {
  std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == leaf;
  if (!leaf.starts_with(pattern.substr(0, star))) return false;
  leaf.remove_prefix(star);
  for (;;) {  // each piece between stars at the first place after the one before
    pattern.remove_prefix(star + 1);
    star = pattern.find('*');
    if (star == std::string_view::npos) return leaf.ends_with(pattern);
    const std::size_t at = leaf.find(pattern.substr(0, star));
    if (at == std::string_view::npos) return false;
    leaf.remove_prefix(at + star);
  }
}

const KnownKernel* find_known(std::span<const KnownKernel> kernels, std::string_view leaf) {
  const auto at = std::ranges::find_if(kernels, [&](const KnownKernel& k) { return fits(k.leaf, leaf); });
  return at == kernels.end() ? nullptr : &*at;
}

bool say_known(std::span<const KnownKernel> kernels, const NameText& name, std::string_view library,
               KernelName& out) {
  const KnownKernel* known = find_known(kernels, name.leaf);
  if (known == nullptr) return false;
  out.family.say(known->family, name.leaf);
  if (!known->functor.empty()) out.functor.say(std::string(known->functor), name.leaf);
  out.library.say(std::string(library), name.scope);
  return true;
}

void say_value_dtype(const Pieces& types, KernelName& out) {
  const auto is_floating = [](std::string_view type) {
    const std::string_view dtype = dtype_of_cpp(type);
    return !dtype.empty() && std::string_view("fbtc").find(dtype[0]) != std::string_view::npos &&
           dtype != "bool";
  };
  auto at = std::ranges::find_if(types, is_floating);
  if (at == types.end())
    at = std::ranges::find_if(types, [](std::string_view type) { return !dtype_of_cpp(type).empty(); });
  if (at != types.end()) out.a.say(std::string(dtype_of_cpp(*at)), *at);
}

}  // namespace pel::doctor::names
