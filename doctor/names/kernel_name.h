// What the name of a GPU kernel says: what it computes, whose it is, dtypes, layout, tile, what is fused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pel::doctor {

enum class KernelFamily : std::uint8_t {
  Unknown,
  Gemm,
  Gemv,
  GemmHelper,  // its time belongs to a matmul: the sum after split K, an epilogue of its own, tables of
               // tiles
  Convolution,
  ConvolutionHelper,  // likewise: offsets, Winograd's and Fourier's transforms, im2col
  Attention,
  Elementwise,
  Reduction,
  Norm,
  Softmax,
  Loss,
  Embedding,
  Index,  // gather, scatter, select, nonzero; the bookkeeping of pages and positions
  Sort,
  Scan,
  Copy,  // also casts, transposes, cat, pad, and copies of the driver
  Fill,
  Quantize,
  Collective,
  Optimizer,
  Random,
  Pooling,
  Resize,
  Moe,    // routing of tokens to experts, and the way back
  Other,  // known, and none of the above
};
std::string_view name(KernelFamily family);

// Matmuls and what is built from them, which tensor cores speed up.
constexpr bool uses_tensor_cores(KernelFamily f) {
  return f == KernelFamily::Gemm || f == KernelFamily::Convolution || f == KernelFamily::Attention;
}

enum class Certainty : std::uint8_t { Absent, Guessed, Certain };

template <class T>
struct NameFact {
  T value{};
  Certainty certainty = Certainty::Absent;
  std::string from;  // the piece of the name that says so; empty: no single piece does

  explicit operator bool() const { return certainty != Certainty::Absent; }
  const T& operator*() const { return value; }
  const T* operator->() const { return &value; }
  void say(T v, std::string_view piece = {}) { set(std::move(v), Certainty::Certain, piece); }
  void guess(T v, std::string_view piece = {}) { set(std::move(v), Certainty::Guessed, piece); }

 private:
  void set(T v, Certainty c, std::string_view piece) {
    if constexpr (requires { v.empty(); }) {
      if (v.empty()) return;  // no text says nothing
    }
    value = std::move(v);
    certainty = c;
    from.assign(piece);
  }
};

struct TileSize {
  int m = 0, n = 0, k = 0;  // 0: not said
};

struct KernelName {
  std::string text;           // as it was read: the first 4,096 bytes, and no longer mangled
  bool was_mangled = false;   // then types that a mangled name only refers back to are "_"
  bool is_truncated = false;  // the rest was not read

  NameFact<KernelFamily> family;
  NameFact<std::string> library;
  NameFact<std::string> arch;       // of the code, which need not be the device's: sm80, gfx942, avx512
  NameFact<std::string> direction;  // forward, backward, backward data, backward weights
  NameFact<std::string> functor;    // what is computed: add, gelu, sum, all_reduce
  NameFact<std::string>
      kind;  // of a compiled kernel: pointwise, looped reduction, persistent reduction, template
  NameFact<std::vector<std::string>> fused;   // the ops of a compiled kernel
  NameFact<std::string> a, b, c, accumulate;  // dtypes: of operands, of the result, of sums
  NameFact<std::string> layout;  // of a matmul's A and B: t is row-major, n column-major; or nhwc
  NameFact<TileSize> tile, instruction, cluster;
  NameFact<int> stages, split_k, vector_width;
  NameFact<int> operands;  // pointers of an elementwise kernel, its result among them
  NameFact<std::string> epilogue;
  NameFact<bool> tensor_cores;                                      // or AMD's matrix cores, or AMX
  std::vector<std::pair<std::string, NameFact<std::string>>> more;  // what only one library says

  std::string title;  // at most 40 columns

  NameFact<std::string>& add(std::string_view label) {
    return more.emplace_back(label, NameFact<std::string>()).second;
  }
};

// Never fails: a name that no decoder knows is Unknown. Looks at the first 4,096 bytes.
KernelName decode_kernel_name(std::string_view name);

// Every fact that the name has, in the order in which it is shown.
struct ShownFact {
  std::string label, value, from;
  bool is_guessed = false;
};
std::vector<ShownFact> shown_facts(const KernelName& name);

// Some lines for a terminal of 100 columns: the title, then each fact, "(guessed)" where it is, and from
// what.
std::string explain(const KernelName& name);

}  // namespace pel::doctor
