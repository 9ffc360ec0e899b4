// FBGEMM: embedding tables of recommendation models, sparse features, quantised rows.
#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

constexpr KnownKernel kFbgemm[] = {
    {"split_embedding_backward_codegen_*find_long_segments*", Family::Embedding, "find long segments"},
    {"split_embedding_backward_codegen_*", Family::Embedding, "embedding and optimizer step"},
    {"split_embedding*codegen_forward_*", Family::Embedding, "embedding"},
    {"split_embedding*codegen_grad_indice_weights_*", Family::Embedding, "embedding"},
    {"split_embedding*", Family::Embedding, "embedding"},
    {"dense_embedding_codegen_*", Family::Embedding, "embedding"},
    {"embedding_codegen_*", Family::Embedding, "embedding"},
    {"bounds_check_indices_kernel*", Family::Index, "check indices"},
    {"linearize_index_kernel*", Family::Index, "linearize indices"},
    {"linearize_cache_indices_*", Family::Index, "linearize indices"},
    {"permute_pooled_embs_kernel*", Family::Copy, "permute"},
    {"recat_copy_async_kernel*", Family::Copy, "permute"},
    {"*block_bucketize_sparse_features*", Family::Index, "bucketize"},
    {"*bucketize*", Family::Index, "bucketize"},
    {"_offsets_range_*", Family::Index, "ranges of offsets"},
    {"permute_*_lengths_kernel*", Family::Index, "permute sparse"},
    {"permute_*_data_kernel*", Family::Index, "permute sparse"},
    {"permute_indices_weights_kernel*", Family::Index, "permute sparse"},
    {"*asynchronous_*cumsum*", Family::Scan, "cumsum"},
    {"*jagged*", Family::Index, "jagged"},
    {"*qparam*", Family::Quantize, "quantize"},
    {"*quantize*", Family::Quantize, "quantize"},
    {"*rowwise_to_float*", Family::Quantize, "dequantize"},
    {"*float_to_*", Family::Quantize, "quantize"},
};

}  // namespace

bool decode_fbgemm(const NameText& name, KernelName& out) {
  const bool is_own = name.scope.starts_with("fbgemm_gpu::") || name.scope.empty();
  if (!is_own || (name.scope.empty() && name.arguments.empty() && !fits("split_embedding*", name.leaf)))
    return false;
  if (name.scope.empty() && fits("*quant*", name.leaf)) return false;
  if (!say_known(kFbgemm, name, "FBGEMM", out)) return false;
  say_value_dtype(name.arguments, out);
  for (const std::string_view optimizer :
       {"rowwise_adagrad", "adagrad", "partial_rowwise_adam", "adam", "lamb", "sgd"}) {
    if (const std::string_view piece = found(name.leaf, optimizer); !piece.empty()) {
      out.add("optimizer").say(std::string(optimizer), piece);
      break;
    }
  }
  return true;
}

}  // namespace pel::doctor::names
