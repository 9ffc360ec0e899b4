// nvjet_sm90_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT, made by cuBLASLt at run time and documented by nobody:
// dtypes of A and B, sums, D; tile; K and stages; cluster; raster; what is done with C; layouts of A, B and
// D.
#include <algorithm>

#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

std::string_view nvjet_dtype(char letter) {
  switch (letter) {
    case 't':
      return "bf16";
    case 'h':
      return "f16";
    case 's':
      return "f32";
    case 'd':
      return "f64";
    case 'q':
      return "f8e4m3";
    case 'o':
      return "f4e2m1";
    default:
      return {};
  }
}

void guess_dtype(NameFact<std::string>& fact, char letter, std::string_view word) {
  if (const std::string_view dtype = nvjet_dtype(letter); !dtype.empty())
    fact.guess(std::string(dtype), word);
}

}  // namespace

bool decode_nvjet(const NameText& name, KernelName& out) {
  if (!name.leaf.starts_with("nvjet_")) return false;
  out.family.say(KernelFamily::Gemm, "nvjet");
  out.library.say("cuBLASLt nvjet", "nvjet");
  out.tensor_cores.guess(true);
  const Pieces words = split(name.leaf, '_');
  int extents = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view w = words[i];
    if (w.starts_with("sm") && number(w.substr(2))) {
      out.arch.say(std::string(w), w);
    } else if (const auto e = tile_size(w)) {
      if (extents == 0) out.tile.say(*e, w);
      if (extents == 1) {
        out.tile.value.k = e->m;
        out.tile.from += '_' + std::string(w);
        out.stages.say(e->n, w);
      }
      if (extents == 2) out.cluster.say(*e, w);
      ++extents;
    } else if (extents == 0 && w.size() >= 3) {  // tst, and of block-scaled types longer
      guess_dtype(out.a, w[0], w);
      out.b = out.a;
      guess_dtype(out.accumulate, w[1], w);
      guess_dtype(out.c, w[2], w);
    } else if (w == "bias") {
      out.epilogue.say("bias", w);
    } else if (w == "badd") {
      out.add("adds C").guess("yes", w);
    } else if (w == "splitK") {
      out.split_k.say(0, w);
    } else if (w == "2cta") {
      out.add("two blocks per tile").say("yes", w);
    } else if (w.size() == 3 && std::ranges::all_of(w, [](char c) { return c == 'T' || c == 'N'; })) {
      out.layout.say({w[0] == 'T' ? 't' : 'n', w[1] == 'T' ? 't' : 'n'}, w);
    }
  }
  return true;
}

}  // namespace pel::doctor::names
