// The kernels of cuBLAS and cuDNN that are named after a generation of GPUs: ampere_bf16_s16816gemm_…_tn,
// volta_sgemm_128x64_nn, cudnn_infer_volta_scudnn_….
#include <algorithm>

#include "doctor/names/decoders.h"
#include "doctor/names/gemm_words.h"

namespace pel::doctor::names {
namespace {

struct Generation {
  std::string_view word, arch;
};
constexpr Generation kGenerations[] = {{"kepler", "sm35"}, {"maxwell", "sm50"}, {"pascal", "sm60"},
                                       {"volta", "sm70"},  {"turing", "sm75"},  {"ampere", "sm80"},
                                       {"ada", "sm89"},    {"hopper", "sm90"},  {"blackwell", "sm100"}};

}  // namespace

bool decode_nvidia_sass(const NameText& name, KernelName& out) {
  const Pieces words = split(name.leaf, '_');
  for (std::size_t i = 0; i < words.size() && i < 3; ++i) {
    const auto generation = std::ranges::find(kGenerations, words[i], &Generation::word);
    if (generation == std::end(kGenerations)) continue;
    if (!read_gemm_words(words, out)) return false;
    const bool is_convolution = *out.family == KernelFamily::Convolution;
    out.library.say(is_convolution ? "cuDNN" : "cuBLAS", words[0]);
    out.arch.guess(std::string(generation->arch), words[i]);  // newer devices run it as well
    return true;
  }
  return false;
}

}  // namespace pel::doctor::names
