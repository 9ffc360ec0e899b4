#include "doctor/names/kernel_name.h"

#include <algorithm>

#include <fmt/format.h>

#include "doctor/names/decoders.h"
#include "doctor/names/mangled.h"
#include "doctor/names/title.h"

namespace pel::doctor {
namespace {

using namespace names;

constexpr std::size_t kMaxRead = 4096;

// The first that knows a name decodes it. Wrappers follows what they may wrap: cutlass::device_kernel
// has FlashAttention inside.
constexpr Decoder kDecoders[] = {
    decode_driver,  decode_collective, decode_attention, decode_cutlass, decode_nvidia_sass, decode_xmma,
    decode_nvjet,   decode_cublas,     decode_cudnn,     decode_trtllm,  decode_tensile,     decode_ck,
    decode_miopen,  decode_pellucid,   decode_triton,    decode_aten,    decode_cub,         decode_fbgemm,
    decode_serving, decode_training,   decode_words};

struct DirectionWord {
  std::string_view piece, direction;
};
constexpr DirectionWord kDirections[] = {{"dgrad", "backward data"}, {"wgrad", "backward weights"},
                                         {"fprop", "forward"},       {"backward", "backward"},
                                         {"Backward", "backward"},   {"bwd", "backward"},
                                         {"Bwd", "backward"},        {"_bw_", "backward"},
                                         {"_grad_", "backward"},     {"Wgrad", "backward weights"},
                                         {"Grad", "backward"},       {"forward", "forward"},
                                         {"Forward", "forward"},     {"fwd", "forward"},
                                         {"Fwd", "forward"},         {"_fw_", "forward"}};

void say_direction(std::string_view in, KernelName& out) {
  for (const DirectionWord& word : kDirections) {
    if (const std::string_view piece = found(in, word.piece); !piece.empty())
      return out.direction.say(std::string(word.direction), piece);
  }
}

std::string_view without_suffix(std::string_view text) {
  for (const std::string_view end : {" [clone .kd]", ".kd"})
    if (text.ends_with(end)) text.remove_suffix(end.size());
  return text;
}

}  // namespace

KernelName decode_kernel_name(std::string_view given) {
  KernelName out;
  out.is_truncated = given.size() > kMaxRead;
  given = without_suffix(given.substr(0, kMaxRead));
  out.was_mangled = given.starts_with("_Z");
  std::string text = out.was_mangled ? readable_mangled(given).substr(0, kMaxRead) : std::string(given);
  const NameText name = read_name(text);
  for (const Decoder decode : kDecoders)
    if (decode(name, out)) break;
  if (!out.direction && out.family) say_direction(name.leaf, out);
  if (!out.direction && out.functor) say_direction(*out.functor, out);
  out.text = std::move(text);  // last: the pieces are views into it
  out.title = title_of(out);
  return out;
}

std::string_view name(KernelFamily family) {
  constexpr std::string_view kNames[] = {
      "unknown",     "gemm",      "gemv",   "gemm helper", "convolution", "convolution helper", "attention",
      "elementwise", "reduction", "norm",   "softmax",     "loss",        "embedding",          "index",
      "sort",        "scan",      "copy",   "fill",        "quantize",    "collective",         "optimizer",
      "random",      "pooling",   "resize", "moe",         "other"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(KernelFamily::Other) + 1);
  return kNames[static_cast<std::size_t>(family)];
}

}  // namespace pel::doctor
