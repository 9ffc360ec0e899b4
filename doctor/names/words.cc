// The last resort: a word in the name that tells the family. All that is said here is guessed.
#include <algorithm>
#include <cctype>

#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

struct Telling {
  std::string_view piece;  // in lower case
  Family family;
};
// The first that stands in the name; what is more particular comes first.
constexpr Telling kTelling[] = {{"splitkreduce", Family::GemmHelper},
                                {"allreduce", Family::Collective},
                                {"all_reduce", Family::Collective},
                                {"allgather", Family::Collective},
                                {"all_gather", Family::Collective},
                                {"reduce_scatter", Family::Collective},
                                {"all_to_all", Family::Collective},
                                {"alltoall", Family::Collective},
                                {"nccl", Family::Collective},
                                {"attention", Family::Attention},
                                {"attn", Family::Attention},
                                {"fmha", Family::Attention},
                                {"cross_entropy", Family::Loss},
                                {"_loss", Family::Loss},
                                {"softmax", Family::Softmax},
                                {"layer_norm", Family::Norm},
                                {"layernorm", Family::Norm},
                                {"rms_norm", Family::Norm},
                                {"rmsnorm", Family::Norm},
                                {"batch_norm", Family::Norm},
                                {"batchnorm", Family::Norm},
                                {"groupnorm", Family::Norm},
                                {"group_norm", Family::Norm},
                                {"conv2d", Family::Convolution},
                                {"conv3d", Family::Convolution},
                                {"convolution", Family::Convolution},
                                {"moe_", Family::Moe},
                                {"expert", Family::Moe},
                                {"routing", Family::Moe},
                                {"gemv", Family::Gemv},
                                {"gemm", Family::Gemm},
                                {"matmul", Family::Gemm},
                                {"quant", Family::Quantize},
                                {"rotary", Family::Elementwise},
                                {"embedding", Family::Embedding},
                                {"adam", Family::Optimizer},
                                {"sgd", Family::Optimizer},
                                {"dropout", Family::Random},
                                {"philox", Family::Random},
                                {"random", Family::Random},
                                {"pooling", Family::Pooling},
                                {"pool2d", Family::Pooling},
                                {"interpolate", Family::Resize},
                                {"upsample", Family::Resize},
                                {"topk", Family::Sort},
                                {"sort", Family::Sort},
                                {"cumsum", Family::Scan},
                                {"scan", Family::Scan},
                                {"gather", Family::Index},
                                {"scatter", Family::Index},
                                {"index", Family::Index},
                                {"indices", Family::Index},
                                {"position", Family::Index},
                                {"transpose", Family::Copy},
                                {"permute", Family::Copy},
                                {"memcpy", Family::Copy},
                                {"copy", Family::Copy},
                                {"concat", Family::Copy},
                                {"cast", Family::Copy},
                                {"memset", Family::Fill},
                                {"fill", Family::Fill},
                                {"reduce", Family::Reduction},
                                {"reduction", Family::Reduction},
                                {"rope", Family::Elementwise},
                                {"swiglu", Family::Elementwise},
                                {"geglu", Family::Elementwise},
                                {"gelu", Family::Elementwise},
                                {"silu", Family::Elementwise},
                                {"relu", Family::Elementwise},
                                {"activation", Family::Elementwise},
                                {"elementwise", Family::Elementwise},
                                {"pointwise", Family::Elementwise}};

}  // namespace

bool decode_words(const NameText& name, KernelName& out) {
  std::string lower(name.leaf);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Telling& telling : kTelling) {
    const std::size_t at = lower.find(telling.piece);
    if (at == std::string::npos) continue;
    out.family.guess(telling.family, name.leaf.substr(at, telling.piece.size()));
    say_value_dtype(name.arguments, out);
    if (out.a) out.a.certainty = Certainty::Guessed;
    return true;
  }
  return false;
}

}  // namespace pel::doctor::names
