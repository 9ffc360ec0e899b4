// Tensile, for rocBLAS and hipBLASLt: Cijk_Alik_Bljk_BBS_BH_…_MT128x160x64_MI16x16x1_…_ISA942_….
// k counts the batch and l is summed over: Ailk is A as it is, Alik is A transposed, Bljk is B as it is.
#include <algorithm>

#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

struct TypeCode {
  std::string_view code, dtype;
};
// Longer codes first.
constexpr TypeCode kTypeCodes[] = {{"F8N", "f8e4m3"}, {"B8N", "f8e5m2"}, {"F8", "f8e4m3"}, {"B8", "f8e5m2"},
                                   {"I8", "i8"},      {"S", "f32"},      {"D", "f64"},     {"H", "f16"},
                                   {"B", "bf16"},     {"I", "i32"},      {"C", "c64"},     {"Z", "c128"},
                                   {"X", "tf32"}};

// The dtypes of BBS; none where a letter is not a code.
std::vector<std::string_view> coded_types(std::string_view word) {
  std::vector<std::string_view> types;
  while (!word.empty()) {
    const auto code =
        std::ranges::find_if(kTypeCodes, [&](const TypeCode& c) { return word.starts_with(c.code); });
    if (code == std::end(kTypeCodes)) return {};
    types.push_back(code->dtype);
    word.remove_prefix(code->code.size());
  }
  return types;
}

// A, result and sums stand as BBS, or as B_BS; S_B and SB are f32 throughout, with a factor of C.
void say_coded_types(const Pieces& words, std::size_t at, KernelName& out) {
  std::vector<std::string_view> types = coded_types(words[at]);
  const bool has_next = at + 1 < words.size();
  const std::string_view from = words[at];
  if (types.size() == 1 && has_next && words[at + 1] != "B") {
    const std::vector<std::string_view> rest = coded_types(words[at + 1]);
    types.insert(types.end(), rest.begin(), rest.end());
  } else if (types.size() == 2 && words[at].ends_with('B') && (!has_next || words[at + 1] != "BH")) {
    types.pop_back();
  }
  if (types.empty()) return;
  out.a.say(std::string(types[0]), from);
  out.b = out.a;
  out.c.say(std::string(types.size() > 1 ? types[1] : types[0]), from);
  out.accumulate.say(std::string(types.size() > 2 ? types[2] : types[0]), from);
  if (std::ranges::find(words, "MX") != words.end() && types[0] == "f32") out.a.say("tf32", "MX");
}

char transposed(std::string_view indices, char outer) {
  return indices.find('l') < indices.find(outer) ? 't' : 'n';
}

void say_tensile_word(std::string_view w, KernelName& out) {
  if (w.starts_with("MT") && !out.tile) {
    if (const auto e = tile_size(w.substr(2))) out.tile.say(*e, w);
  } else if (w.starts_with("MI") && !out.instruction) {
    const Pieces sides = split(w.substr(2, 20), 'x');
    if (sides.size() < 3) return;
    // The fourth number counts blocks; without it the third does.
    out.instruction.say(
        {leading_number(sides[0]), leading_number(sides[1]), sides.size() > 3 ? leading_number(sides[2]) : 0},
        w);
    out.tensor_cores.say(true, w);
  } else if (w.starts_with("ISA")) {
    out.arch.say("gfx" + std::string(w.substr(3)), w);
  } else if (w.starts_with("GRVWA") || (w.starts_with("GRVW") && number(w.substr(4)))) {
    out.vector_width.say(leading_number(w.substr(w.starts_with("GRVWA") ? 5 : 4)), w);
  } else if (w.starts_with("GSU") && number(w.substr(3)) && *number(w.substr(3)) > 1) {
    out.split_k.say(*number(w.substr(3)), w);
  } else if (w.starts_with("SK") && number(w.substr(2)) && *number(w.substr(2)) > 0) {
    out.add("stream K").say("yes", w);
  } else if (w == "Bias") {
    out.epilogue.guess("bias", w);  // it can add one; whether it does is an argument
  }
}

}  // namespace

bool decode_tensile(const NameText& name, KernelName& out) {
  if (!name.leaf.starts_with("Cij")) return false;
  const Pieces words = split(name.leaf, '_');
  out.library.say("Tensile", words[0]);
  if (words.size() < 4 || !words[1].starts_with('A') || !words[2].starts_with('B')) {
    out.family.say(KernelFamily::GemmHelper, words[0]);
    out.functor.say("sum after split K", words[0]);
    return true;
  }
  out.family.say(KernelFamily::Gemm, words[0]);
  out.layout.say({transposed(words[1], 'i'), transposed(words[2], 'j') == 't' ? 'n' : 't'},
                 name.leaf.substr(5, 9));
  say_coded_types(words, 3, out);
  for (std::size_t i = 4; i < words.size(); ++i) say_tensile_word(words[i], out);
  if (!out.tensor_cores) out.tensor_cores.guess(false);
  return true;
}

}  // namespace pel::doctor::names
