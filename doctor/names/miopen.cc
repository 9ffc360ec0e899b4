// MIOpen: igemm_fwd_gtcx3_nhwc_bf16_…_bt128x128x32_…, norms, transposes and fills around convolutions.
#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

constexpr KnownKernel kMiopen[] = {
    {"MIOpenBatchNorm*", Family::Norm, "batch_norm"},
    {"MIOpenLayerNorm*", Family::Norm, "layer_norm"},
    {"LayernormFwd*", Family::Norm, "layer_norm"},
    {"MIOpenSoftmax*", Family::Softmax, "softmax"},
    {"SoftmaxForward*", Family::Softmax, "softmax"},
    {"mloPooling*", Family::Pooling, "pool"},
    {"MIOpenPooling*", Family::Pooling, "pool"},
    {"MIOpenNeuron*", Family::Elementwise, "activation"},
    {"MIOpenActiv*", Family::Elementwise, "activation"},
    {"SubTensorOpWithScalar*", Family::Fill, "fill"},
    {"SubTensorOpWithCastTensor*", Family::Copy, "cast"},
    {"SubTensorOpWithSubTensor*", Family::Copy, "copy"},
    {"SubTensorOpWithTransform*", Family::Copy, "copy"},
    {"Op1dTensor*", Family::Elementwise, "op"},
    {"Op2dTensor*", Family::Elementwise, "op"},
    {"Op3dTensor*", Family::Elementwise, "op"},
    {"OpTensorFwdBias*", Family::Elementwise, "add"},
    {"batched_transpose_*", Family::Copy, "transpose"},
    {"transpose_*2*", Family::Copy, "transpose"},
    {"Im2d2Col*", Family::ConvolutionHelper, "im2col"},
    {"Im3d2Col*", Family::ConvolutionHelper, "im2col"},
    {"Col2Im*", Family::ConvolutionHelper, "col2im"},
    {"miopenSp3AsmConv*", Family::Convolution, ""},
    {"miopenGcnAsm*", Family::Convolution, ""},
    {"gcnAsmConv*", Family::Convolution, ""},
    {"MIOpenConv*", Family::Convolution, ""},
    {"naive_conv_*", Family::Convolution, ""},
    {"xform_*", Family::ConvolutionHelper, "Winograd transform"},
    {"gridwise_convolution_*", Family::Convolution, ""},
};

bool decode_igemm(const NameText& name, KernelName& out) {
  if (!name.leaf.starts_with("igemm_")) return false;
  const Pieces words = split(name.leaf, '_');
  if (words.size() < 4) return false;
  out.family.say(Family::Convolution, words[0]);
  out.library.say("MIOpen", words[0]);
  out.direction.say(words[1] == "fwd"   ? "forward"
                    : words[1] == "bwd" ? "backward data"
                                        : "backward weights",
                    words[1]);
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string_view w = words[i];
    if (w.starts_with("gtcx")) {
      out.tensor_cores.say(true, w);
      const std::string_view arch = w == "gtcx"    ? "gfx908"
                                    : w == "gtcx2" ? "gfx90a"
                                    : w == "gtcx3" ? "gfx942"
                                                   : "";
      if (!arch.empty()) out.arch.guess(std::string(arch), w);
    } else if (w == "nhwc" || w == "nchw") {
      out.layout.say(std::string(w), w);
    } else if (const std::string_view dtype = dtype_of_word(w); !dtype.empty()) {
      out.a.say(std::string(dtype), w);
      out.b = out.c = out.a;
    } else if (w.starts_with("bt")) {
      if (const auto e = tile_size(w.substr(2))) out.tile.say(*e, w);
    } else if (w == "gkgs") {
      out.split_k.say(0, w);
    }
  }
  return true;
}

}  // namespace

bool decode_miopen(const NameText& name, KernelName& out) {
  if (decode_igemm(name, out)) return true;
  if (!name.scope.empty() || !say_known(kMiopen, name, "MIOpen", out)) return false;
  for (const std::string_view word : split(name.leaf, '_'))
    if (const std::string_view dtype = dtype_of_word(word); !dtype.empty())
      out.a.say(std::string(dtype), word);
  if (*out.functor == "transpose" && out.a) {
    const std::string bits = *out.a;
    out.a = {};  // half says only how wide the elements are
    out.add("elements").say(bits == "f16" ? "of 16 bits" : "as " + bits, "half");
  }
  if (*out.family == Family::Convolution)
    out.layout.guess(name.leaf.find("nhwc") != std::string_view::npos ? "nhwc" : "nchw");
  return true;
}

}  // namespace pel::doctor::names
