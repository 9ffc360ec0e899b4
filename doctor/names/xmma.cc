// sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_…_cublas: types of A and C, of multiplication
// and sums, of factors; layouts of A and B, then of C.
#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

// bf16 and f32 of bf16f32.
Pieces type_pair(std::string_view word) {
  Pieces types;
  while (!word.empty()) {
    std::size_t length = word.size();
    while (length > 0 && dtype_of_word(word.substr(0, length)).empty()) --length;
    if (length == 0) return {};
    types.push_back(word.substr(0, length));
    word.remove_prefix(length);
  }
  return types;
}

void say_types(const Pieces& first, const Pieces& second, KernelName& out) {
  if (second.size() == 2) {
    out.a.say(std::string(dtype_of_word(second[0])), second[0]);
    out.b = out.a;
    out.accumulate.say(std::string(dtype_of_word(second[1])), second[1]);
  }
  if (first.size() == 2) out.c.guess(std::string(dtype_of_word(first[1])), first[1]);
}

}  // namespace

bool decode_xmma(const NameText& name, KernelName& out) {
  const std::string_view rest = after(name.leaf, "_xmma_");
  if (rest.empty() || !name.leaf.starts_with("sm")) return false;
  const Pieces words = split(rest, '_');
  const std::string_view kind = words[0];
  if (kind == "gemm") {
    out.family.say(Family::Gemm, kind);
  } else if (kind == "fprop" || kind == "dgrad" || kind == "wgrad" || kind == "conv" || kind == "deconv") {
    out.family.say(Family::Convolution, kind);
    if (kind != "conv" && kind != "deconv")
      out.direction.say(kind == "fprop"   ? "forward"
                        : kind == "dgrad" ? "backward data"
                                          : "backward weights",
                        kind);
  } else {
    return false;
  }
  out.library.say(name.leaf.find("cublas") != std::string_view::npos ? "cuBLAS" : "cuDNN", words.back());
  const std::string_view arch = name.leaf.substr(0, name.leaf.find('_'));
  out.arch.guess(std::string(arch), arch);
  Pieces first, second;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view w = words[i];
    const Pieces pair = type_pair(w);
    if (pair.size() == 2 && first.empty()) {
      first = pair;
    } else if (pair.size() == 2 && second.empty()) {
      second = pair;
    } else if (w == "tn" || w == "nt" || w == "nn" || w == "tt") {
      out.layout.say(std::string(w), w);
    } else if (w.starts_with("nhwc") || w.starts_with("nchw") || w.starts_with("ndhwc") ||
               w.starts_with("ncdhw")) {
      if (!out.layout) out.layout.say(std::string(w.substr(0, w.find("krsc"))), w);
    } else if (w.starts_with("tilesize")) {
      if (const auto e = tile_size(w.substr(8))) out.tile.say(*e, w);
    } else if (w.starts_with("stage") && number(w.substr(5))) {
      out.stages.say(*number(w.substr(5)), w);
    } else if (w.starts_with("tensor")) {
      if (const auto e = tile_size(w.substr(6))) out.instruction.say(*e, w);
      out.tensor_cores.say(true, w);
    } else if (w == "ffma" || w == "dfma" || w == "simt") {
      out.tensor_cores.say(false, w);
    } else if (w.starts_with("warpgroupsize")) {
      out.tensor_cores.guess(true, w);  // a warp group is what issues them on sm90
    } else if (w == "split" && i + 1 < words.size() && words[i + 1] == "k") {
      out.split_k.say(0, w);
    } else if (w == "relu" || w == "bias" || w == "gelu") {
      out.epilogue.say(std::string(w), w);
    }
  }
  say_types(first, second, out);
  if (!out.tensor_cores && out.a) out.tensor_cores.guess(*out.a != "f32");
  return true;
}

}  // namespace pel::doctor::names
