#include "doctor/names/gemm_words.h"

#include <algorithm>

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

struct MatmulKind {
  std::string_view ending;
  Family family;
  std::string_view direction;
};
constexpr MatmulKind kMatmulKinds[] = {{"gemm", Family::Gemm, ""},
                                       {"gemv", Family::Gemv, ""},
                                       {"fprop", Family::Convolution, "forward"},
                                       {"dgrad", Family::Convolution, "backward data"},
                                       {"wgrad", Family::Convolution, "backward weights"},
                                       {"cudnn", Family::Convolution, ""}};

// The digits of a matrix instruction are written without a mark between them.
struct Shape {
  std::string_view digits;
  TileSize size;
};
constexpr Shape kShapes[] = {{"884", {8, 8, 4}},       {"1684", {16, 8, 4}},     {"1688", {16, 8, 8}},
                             {"16816", {16, 8, 16}},   {"16832", {16, 8, 32}},   {"16864", {16, 8, 64}},
                             {"8816", {8, 8, 16}},     {"8832", {8, 8, 32}},     {"161616", {16, 16, 16}},
                             {"88128", {8, 8, 128}},   {"168256", {16, 8, 256}}, {"161664", {16, 16, 64}},
                             {"323216", {32, 32, 16}}, {"16168", {16, 16, 8}}};

// s16816gemm: accumulates in f32, by instructions of 16x8x16.
struct Core {
  const MatmulKind* kind = nullptr;
  std::string_view accumulate, digits;
};

Core core_of(std::string_view word) {
  Core core;
  for (const MatmulKind& kind : kMatmulKinds) {
    if (!word.ends_with(kind.ending)) continue;
    std::string_view rest = word.substr(0, word.size() - kind.ending.size());
    if (rest.starts_with('g') && rest.size() > 1) rest.remove_prefix(1);  // gcgemm: complex by three products
    if (rest.empty()) {  // cudnn_infer_volta_… begins with the library
      if (kind.ending == "cudnn") return {};
      return {&kind, {}, {}};
    }
    core.accumulate = rest.substr(0, 1);
    core.digits = rest.substr(1);
    const bool is_shape =
        std::ranges::all_of(core.digits, [](char c) { return (c >= '0' && c <= '9') || c == 'x'; });
    if (dtype_of_letter(rest[0]).empty() || !is_shape) continue;
    core.kind = &kind;
    return core;
  }
  return {};
}

bool is_layout(std::string_view word) {
  return (word.size() == 2 || word.size() == 3) &&
         std::ranges::all_of(word, [](char c) { return c == 'n' || c == 't' || c == 'c' || c == 'h'; });
}

constexpr std::string_view kImageLayouts[] = {"nhwc", "nchw", "ndhwc", "ncdhw", "nc32hw32", "nhwckrsc"};
constexpr std::string_view kEpilogues[] = {"relu",  "gelu",  "silu",  "bias",
                                           "drelu", "dgelu", "swish", "sigmoid"};

class WordReader {
 public:
  WordReader(const Pieces& words, KernelName& out) : words_(words), out_(out) {}

  bool read() {
    const auto at = std::ranges::find_if(words_, [&](std::string_view word) {
      core_ = core_of(word);
      return core_.kind != nullptr;
    });
    if (at == words_.end()) return false;
    const auto core = static_cast<std::size_t>(at - words_.begin());
    out_.family.say(core_.kind->family, words_[core]);
    if (!core_.kind->direction.empty())
      out_.direction.say(std::string(core_.kind->direction), core_.kind->ending);
    std::string_view result;
    for (std::size_t i = 0; i < core; ++i) {
      before(words_[i]);
      if (!dtype_of_word(words_[i]).empty()) result = words_[i];
    }
    for (std::size_t i = core + 1; i < words_.size(); ++i) word(words_[i]);
    say_types(words_[core], result);
    say_instruction(words_[core]);
    return true;
  }

 private:
  void before(std::string_view w) {
    if (w == "tensorop" || w == "wmma") out_.tensor_cores.say(true, w);
    if (w == "simt") out_.tensor_cores.say(false, w);
    if (w.starts_with("sm") && number(w.substr(2))) out_.arch.say(std::string(w), w);
  }

  void word(std::string_view w) {
    if (w.empty()) return;
    if (const std::optional<TileSize> e = tile_size(w)) return extents(w, *e);
    if (w == "stages") return void(follows_stages_ = true);
    if (!dtype_of_word(w).empty()) return types_.push_back(w);
    if (is_layout(w)) return out_.layout.say(std::string(w.substr(0, 2)), w);
    if (is_one_of(w, kImageLayouts) && !out_.layout) return out_.layout.say(std::string(w), w);
    if (w.starts_with("align")) {
      if (const std::optional<int> elements = number(w.substr(5))) {
        out_.vector_width.say(*elements, w);
        if (*elements == 1)
          out_.add("alignment").say("elements are loaded one by one: pad the leading size", w);
      }
      return;
    }
    if (w.starts_with("ldg") && number(w.substr(3)))
      return out_.vector_width.say(leading_number(w.substr(3)), w);
    if (w.starts_with("sliced1x")) return out_.add("k sliced in a block").say(std::string(w.substr(8)), w);
    if (w.starts_with("splitK") || w.starts_with("splitk")) return out_.split_k.guess(0, w);
    // CUTLASS names a family of epilogues by relu, of which bias alone is one.
    if (is_one_of(w, kEpilogues)) return out_.epilogue.guess(std::string(w), w);
    if (w == "winograd" || w == "stridedB" || w == "optimized" || w == "analytic" || w == "3dconv")
      return out_.add("algorithm").say(std::string(w), w);
    if (w.find("pingpong") != std::string_view::npos || w.find("cooperative") != std::string_view::npos)
      return out_.add("schedule").say(std::string(w), w);
    if (has_tile_k_ && !out_.stages && number(w)) {
      if (*number(w) > 0) out_.stages.say(*number(w), w);
    }
  }

  void extents(std::string_view w, const TileSize& e) {
    if (!out_.tile) {
      out_.tile.say(e, w);
      has_tile_k_ = e.k != 0;
    } else if (has_tile_k_) {
      if (!out_.cluster && e.k != 0) out_.cluster.say(e, w);
    } else if (e.k == 0 && !out_.stages) {  // 64x3: K of the tile, and stages
      out_.tile.value.k = e.m;
      out_.tile.from += follows_stages_ ? " and " : "_";
      out_.tile.from += w;
      out_.stages.say(e.n, w);
    }
  }

  // The type of sums is always said; that of the result in front of it, that of A and B after it, where they
  // differ. CUTLASS 3 lists all: A B sum C D.
  void say_types(std::string_view core, std::string_view result) {
    const std::string sum(dtype_of_letter(core_.accumulate.empty() ? '\0' : core_.accumulate[0]));
    if (!sum.empty()) out_.accumulate.say(sum, core);
    if (types_.size() >= 4) {
      out_.a.say(std::string(dtype_of_word(types_[0])), types_[0]);
      out_.b.say(std::string(dtype_of_word(types_[1])), types_[1]);
      out_.accumulate.say(std::string(dtype_of_word(types_[2])), types_[2]);
      out_.c.say(std::string(dtype_of_word(types_.back())), types_.back());
      return;
    }
    if (!types_.empty()) {
      out_.a.say(std::string(dtype_of_word(types_[0])), types_[0]);
    } else if (core_.digits == "1688" && sum == "f32") {
      out_.a.guess("tf32", core);  // f32 by instructions of 16x8x8, and no type after it
    } else if (!sum.empty()) {
      out_.a.say(sum, core);
    }
    out_.b = out_.a;
    if (result.empty()) {
      if (!sum.empty()) out_.c.say(sum, core);
    } else {
      out_.c.say(std::string(dtype_of_word(result)), result);
    }
  }

  void say_instruction(std::string_view core) {
    if (core_.digits.empty()) {
      if (!out_.tensor_cores && !core_.accumulate.empty()) out_.tensor_cores.say(false, core);
      return;
    }
    if (!out_.tensor_cores) out_.tensor_cores.say(true, core);
    if (const std::optional<TileSize> e = tile_size(core_.digits)) return out_.instruction.say(*e, core);
    const auto shape = std::ranges::find(kShapes, core_.digits, &Shape::digits);
    if (shape != std::end(kShapes)) out_.instruction.say(shape->size, core);
  }

  const Pieces& words_;
  KernelName& out_;
  Core core_;
  Pieces types_;
  bool follows_stages_ = false, has_tile_k_ = false;
};

}  // namespace

bool read_gemm_words(const Pieces& words, KernelName& out) { return WordReader(words, out).read(); }

}  // namespace pel::doctor::names
