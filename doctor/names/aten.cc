// PyTorch's own kernels: elementwise ops by functor, reductions, and those that have a name.
#include <algorithm>
#include <cctype>

#include "doctor/names/decoders.h"
#include "doctor/names/op_families.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

// Identifiers around the one that says what is computed.
constexpr std::string_view kAround[] = {"at",
                                        "native",
                                        "anonymous",
                                        "namespace",
                                        "gpu_kernel_impl",
                                        "gpu_kernel_impl_nocast",
                                        "gpu_index_kernel",
                                        "type_specialized_broadcast_kernel_launcher",
                                        "apply",
                                        "AUnaryFunctor",
                                        "BUnaryFunctor",
                                        "BinaryFunctor",
                                        "binary_internal",
                                        "float",
                                        "double",
                                        "c10",
                                        "BFloat16",
                                        "Half",
                                        "long",
                                        "int",
                                        "bool",
                                        "unsigned",
                                        "char",
                                        "short",
                                        "signed",
                                        "complex",
                                        "detail",
                                        "std",
                                        "templates",
                                        "cuda",
                                        "fbgemm_gpu",
                                        "ReduceOp",
                                        "func_wrapper_t",
                                        "void",
                                        "Float8_e4m3fn",
                                        "Float8_e5m2",
                                        "Float8_e4m3fnuz",
                                        "Float8_e5m2fnuz",
                                        "thrust",
                                        "const",
                                        "OpaqueType",
                                        "opmath_symmetric_gpu_kernel_with_scalars"};

bool is_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view telling_identifier(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (!is_identifier(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_identifier(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    if (std::isdigit(static_cast<unsigned char>(word[0])) == 0 && !is_one_of(word, kAround)) return word;
    i = end;
  }
  return {};
}

// mul of MulFunctor, gelu of GeluCUDAKernelImpl, copy of direct_copy_kernel_cuda.
std::string plain_name(std::string_view id) {
  for (const std::string_view begin :
       {"CUDAFunctorOnSelf_", "CUDAFunctorOnOther_", "CUDAFunctor_", "launch_", "direct_", "_cuda_", "_"})
    if (id.starts_with(begin) && id.size() > begin.size()) id.remove_prefix(begin.size());
  bool is_shorter = true;
  while (is_shorter) {
    is_shorter = false;
    for (const std::string_view end :
         {"_kernel_cuda", "_cuda_kernel", "_kernel_impl", "_kernel", "KernelImplInternal", "CUDAKernelImpl",
          "KernelImpl", "Functor", "_functor", "_cuda_out", "_cuda", "_impl", "_gpu", "Ops", "_internal",
          "_scalar", "_tensor", "_and_transform", "_device_to_device"}) {
      if (!id.ends_with(end) || id.size() == end.size()) continue;
      id.remove_suffix(end.size());
      is_shorter = true;
    }
  }
  std::string plain;
  for (const char c : id) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (is_upper && !plain.empty() && plain.back() != '_') plain += '_';
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

std::string_view first_value_type(const Pieces& types) {
  std::string_view first;
  for (std::string_view type : types) {
    while (type.starts_with(' ')) type.remove_prefix(1);
    const std::string_view dtype = dtype_of_cpp(type);
    if (!dtype.empty() && dtype != "bool") return type;  // a mask's type is not what is computed
    if (first.empty() && !dtype.empty()) first = type;
  }
  return first;
}

// The lambda at the end has the types of its operands: {lambda(c10::BFloat16, bool)#1}. Those of loops have
// an int.
std::string_view lambda_type(std::string_view text) {
  std::string_view last;
  for (std::string_view rest = after(text, "{lambda("); !rest.empty(); rest = after(rest, "{lambda(")) {
    const std::string_view type = first_value_type(split(rest.substr(0, rest.find(')')), ','));
    if (!type.empty() && (last.empty() || type != "int")) last = type;
    if (!last.empty() && last != "int") break;
  }
  return last;
}

// The first dtype before the functor's parameters: BinaryFunctor<float, …>, CUDAFunctor_add<long>.
std::string_view functor_type(std::string_view functor) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  for (std::size_t i = 0; i < functor.size();) {
    if (functor.substr(i).starts_with(kUnnamed)) {
      i += kUnnamed.size();
      continue;
    }
    if (functor[i] == '(') return {};
    if (!is_identifier(functor[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    const auto to_end_of_word = [&] {
      while (end < functor.size() && is_identifier(functor[end])) ++end;
    };
    to_end_of_word();
    if (functor.substr(i, end - i) == "unsigned" || functor.substr(i, end - i) == "signed") {
      ++end;
      to_end_of_word();
    }
    const std::string_view type = functor.substr(i, std::min(end, functor.size()) - i);
    if (!dtype_of_cpp(type).empty()) return type;
    i = end;
  }
  return {};
}

bool is_cast(const NameText& name) { return name.has("WithCast"); }

void say_functor(std::string_view functor, KernelName& out) {
  const std::string_view id = telling_identifier(functor);
  if (id.empty()) return;
  const std::string plain = plain_name(id);
  out.functor.say(plain, id);
  std::string_view type = functor_type(functor);
  if (type.empty()) type = lambda_type(functor);
  if (!type.empty()) out.a.say(std::string(dtype_of_cpp(type)), type);
}

struct FunctorFamily {
  std::string_view plain;
  Family family;
};
constexpr FunctorFamily kFunctorFamilies[] = {{"*copy*", Family::Copy},
                                              {"fill*", Family::Fill},
                                              {"arange*", Family::Fill},
                                              {"*linspace*", Family::Fill},
                                              {"eye*", Family::Fill},
                                              {"batch_norm*", Family::Norm},
                                              {"group_norm*", Family::Norm},
                                              {"layer_norm*", Family::Norm},
                                              {"mse*", Family::Loss},
                                              {"smooth_l1*", Family::Loss},
                                              {"huber*", Family::Loss},
                                              {"binary_cross_entropy*", Family::Loss},
                                              {"*nll_loss*", Family::Loss},
                                              {"kl_div*", Family::Loss},
                                              {"*float_to_*", Family::Quantize},
                                              {"*hfp8_to_float*", Family::Quantize},
                                              {"*quantize*", Family::Quantize},
                                              {"normal*", Family::Random},
                                              {"uniform*", Family::Random},
                                              {"bernoulli*", Family::Random},
                                              {"random*", Family::Random},
                                              {"exponential*", Family::Random},
                                              {"*dropout*", Family::Random},
                                              {"index*", Family::Index},
                                              {"put*", Family::Index},
                                              {"take*", Family::Index},
                                              {"flip*", Family::Copy},
                                              {"roll*", Family::Copy},
                                              {"upsample*", Family::Resize}};

Family family_of_functor(std::string_view plain) {
  const auto at =
      std::ranges::find_if(kFunctorFamilies, [&](const FunctorFamily& f) { return fits(f.plain, plain); });
  return at == std::end(kFunctorFamilies) ? Family::Elementwise : at->family;
}

void say_operands(const NameText& name, KernelName& out) {
  for (const std::string_view array : {"Array<char*, ", "array<char*, "}) {
    const std::string_view rest = after(name.head, array);
    if (const int count = leading_number(rest); count > 0)
      return out.operands.say(count, rest.substr(0, leading_digits(rest).size()));
  }
}

bool decode_elementwise(const NameText& name, KernelName& out) {
  struct Loop {
    std::string_view leaf;
    std::size_t functor;
    bool says_width;
  };
  constexpr Loop kLoops[] = {{"vectorized_elementwise_kernel", 1, true},
                             {"vectorized_templated_elementwise_kernel", 1, true},
                             {"unrolled_elementwise_kernel", 0, false},
                             {"unrolled_templated_elementwise_kernel", 0, false},
                             {"unrolled_elementwise_kernel_for_multi_outputs", 1, false},
                             {"elementwise_kernel", 2, false},
                             {"elementwise_kernel_manual_unroll", 2, false},
                             {"legacy_elementwise_kernel", 2, false},
                             {"elementwise_kernel_with_index", 1, false},
                             {"index_elementwise_kernel", 2, false},
                             {"_scatter_gather_elementwise_kernel", 2, false},
                             {"distribution_elementwise_grid_stride_kernel", 2, false},
                             {"distribution_binary_elementwise_kernel", 0, false}};
  const auto loop = std::ranges::find(kLoops, name.leaf, &Loop::leaf);
  if (loop == std::end(kLoops)) return false;
  out.library.say("ATen", name.scope);
  out.family.say(Family::Elementwise, name.leaf);
  if (loop->functor < name.arguments.size()) {
    say_functor(name.arguments[loop->functor], out);
    if (out.functor) out.family.say(family_of_functor(*out.functor), out.functor.from);
  }
  if (name.leaf == "index_elementwise_kernel" || name.leaf == "_scatter_gather_elementwise_kernel") {
    out.family.say(Family::Index, name.leaf);
    out.a = {};  // as bytes, whatever they are
  }
  if (name.leaf.starts_with("distribution_")) {
    out.family.say(Family::Random, name.leaf);
    if (!out.functor && name.has("normal")) out.functor.say("normal", "normal");
    if (!name.arguments.empty() && !dtype_of_cpp(name.arguments[0]).empty())
      out.accumulate.say(std::string(dtype_of_cpp(name.arguments[0])), name.arguments[0]);
  }
  if (loop->says_width && !name.arguments.empty())
    out.vector_width.say(leading_number(name.arguments[0]), name.arguments[0]);
  say_operands(name, out);
  if (is_cast(name)) out.add("casts").say("operands of several dtypes", found(name.text, "WithCast"));
  const bool is_strided = name.leaf.starts_with("elementwise_kernel") && !name.leaf.ends_with("index");
  if (is_strided) out.add("strided").say("operands are broadcast or not dense", name.leaf);
  const bool is_named_cast = out.functor && out.functor->find("float") != std::string::npos;  // bfloat16_copy
  if (*out.family == Family::Copy && (is_cast(name) || is_named_cast)) out.functor.value = "cast";
  return true;
}

bool decode_reduction(const NameText& name, KernelName& out) {
  if (name.leaf != "reduce_kernel" || name.arguments.size() < 3) return false;
  out.library.say("ATen", name.scope);
  out.family.say(Family::Reduction, name.leaf);
  const Pieces inner = template_arguments(name.arguments[2]);
  if (inner.size() < 2) return true;
  const std::string_view id = telling_identifier(inner[1]);
  if (!id.empty()) out.functor.say(plain_name(id), id);
  if (!dtype_of_cpp(inner[0]).empty()) out.a.say(std::string(dtype_of_cpp(inner[0])), inner[0]);
  if (inner.size() > 3 && !dtype_of_cpp(inner[3]).empty())
    out.c.say(std::string(dtype_of_cpp(inner[3])), inner[3]);
  out.vector_width.say(leading_number(name.arguments[1]), name.arguments[1]);
  return true;
}

// TensorListMetadata<4>, AdamFunctor<float>, …: many tensors at once, as optimizers need them.
bool decode_multi_tensor(const NameText& name, KernelName& out) {
  if (name.leaf != "multi_tensor_apply_kernel") return false;
  const bool is_aten = name.scope.starts_with("at::");
  out.library.say(is_aten ? "ATen" : "Apex", name.leaf);
  out.family.guess(Family::Optimizer, name.leaf);
  std::string inner;
  for (std::size_t i = 1; i < name.arguments.size(); ++i) {
    const std::string_view argument = name.arguments[i];
    const std::string plain = plain_name(telling_identifier(argument));
    if (i == 1) {
      out.functor.say(plain, telling_identifier(argument));
      if (const std::string_view type = functor_type(argument); !type.empty())
        out.a.say(std::string(dtype_of_cpp(type)), type);
    } else if (argument.starts_with("std::") || argument.find("Copy<") != std::string_view::npos) {
      inner = plain;
      break;
    }
  }
  if (inner == "plus") inner = "add";
  if (inner == "minus") inner = "sub";
  if (inner == "multiplies") inner = "mul";
  if (!inner.empty()) out.functor.say("foreach " + inner, out.functor.from);
  if (fits("*dam*", *out.functor) || fits("*sgd*", *out.functor) || fits("*lamb*", *out.functor)) {
    out.family.say(Family::Optimizer, out.functor.from);
  } else if (fits("*copy*", *out.functor)) {
    out.family.say(Family::Copy, out.functor.from);
  } else if (fits("*norm*", *out.functor)) {
    out.family.say(Family::Reduction, out.functor.from);
  }
  return true;
}

constexpr KnownKernel kAten[] = {
    {"CatArrayBatchedCopy*", Family::Copy, "cat"},
    {"HIP_CatArrayBatchedCopy*", Family::Copy, "cat"},
    {"*softmax_warp_forward*", Family::Softmax, "softmax"},
    {"*softmax_warp_backward*", Family::Softmax, "softmax"},
    {"cunn_SoftMax*", Family::Softmax, "softmax"},
    {"cunn_SpatialSoftMax*", Family::Softmax, "softmax"},
    {"*masked_softmax*", Family::Softmax, "softmax"},
    {"*layer_norm*", Family::Norm, "layer_norm"},
    {"LayerNorm*", Family::Norm, "layer_norm"},
    {"RowwiseMoments*", Family::Norm, "moments of rows"},
    {"cuComputeGradGammaBeta*", Family::Norm, "layer_norm"},
    {"cuComputePartGradGammaBeta*", Family::Norm, "layer_norm"},
    {"GammaBetaBackward*", Family::Norm, "gradients of gamma and beta"},
    {"ComputeFusedParams*", Family::Norm, "group_norm"},
    {"ComputeBackwardFusedParams*", Family::Norm, "group_norm"},
    {"ComputeInternalGradients*", Family::Norm, "group_norm"},
    {"Compute1dBackwardFusedParams*", Family::Norm, "group_norm"},
    {"batch_norm_*", Family::Norm, "batch_norm"},
    {"*rms_norm*", Family::Norm, "rms_norm"},
    {"weight_norm_*", Family::Norm, "weight_norm"},
    {"welford_*", Family::Norm, "batch_norm"},
    {"*nll_loss*", Family::Loss, "nll_loss"},
    {"cunn_ClassNLLCriterion_*", Family::Loss, "nll_loss"},
    {"*ctc_loss*", Family::Loss, "ctc_loss"},
    {"*cross_entropy*", Family::Loss, "cross_entropy"},
    {"indexSelect*", Family::Index, "index_select"},
    {"indexFunc*", Family::Index, "index_add"},
    {"indexing_backward_kernel*", Family::Index, "index_put"},
    {"vectorized_gather_kernel*", Family::Index, "gather"},
    {"write_indices*", Family::Index, "nonzero"},
    {"searchsorted_*", Family::Index, "searchsorted"},
    {"bincount*", Family::Index, "bincount"},
    {"kernelHistogram1D*", Family::Index, "histogram"},
    {"to_dense_representation_kernel", Family::Index, "to_dense"},
    {"compute_cuda_kernel*", Family::Index, "repeat_interleave"},
    {"compute_grad_weight*", Family::Embedding, "embedding"},
    {"embedding_*", Family::Embedding, "embedding"},
    {"EmbeddingBag_*", Family::Embedding, "embedding_bag"},
    {"sum_and_scatter*", Family::Embedding, "embedding"},
    {"krn_partial*", Family::Embedding, "embedding"},
    {"radixSort*", Family::Sort, "sort"},
    {"bitonicSort*", Family::Sort, "sort"},
    {"warpMergeSort*", Family::Sort, "sort"},
    {"*atherTopK*", Family::Sort, "topk"},
    {"*RadixSort*", Family::Sort, "sort"},
    {"*radixFindKthValues*", Family::Sort, "topk"},
    {"computeBlockwiseWithinKCounts*", Family::Sort, "topk"},
    {"computeBlockDigitCounts*", Family::Sort, "topk"},
    {"computeDigitCumSum*", Family::Sort, "topk"},
    {"fill_index_and_segment_kernel*", Family::Sort, "sort"},
    {"fill_reverse_indices_kernel*", Family::Sort, "sort"},
    {"sort_postprocess_kernel*", Family::Sort, "sort"},
    {"tensor_kernel_scan_*", Family::Scan, "scan"},
    {"*max_pool*", Family::Pooling, "max_pool"},
    {"*avg_pool*", Family::Pooling, "avg_pool"},
    {"adaptive_average_pool*", Family::Pooling, "adaptive_avg_pool"},
    {"*adaptive_average_*", Family::Pooling, "adaptive_avg_pool"},
    {"*adaptiveaverage*", Family::Pooling, "adaptive_avg_pool"},
    {"atomic_adaptive_*", Family::Pooling, "adaptive_avg_pool"},
    {"upsample_*", Family::Resize, "upsample"},
    {"grid_sampler_*", Family::Resize, "grid_sample"},
    {"*dropout_kernel*", Family::Random, "dropout"},
    {"*multinomial*", Family::Random, "multinomial"},
    {"*sampleMultinomial*", Family::Random, "multinomial"},
    {"randperm_*", Family::Random, "randperm"},
    {"transform_bias_rescale_qkv_kernel*", Family::Elementwise, "add and scale"},
    {"triu_tril_kernel*", Family::Copy, "triangle"},
    {"reflection_pad*", Family::Copy, "pad"},
    {"replication_pad*", Family::Copy, "pad"},
    {"*roll_*kernel*", Family::Copy, "roll"},
    {"flip_*", Family::Copy, "flip"},
    {"*chunk_cat*", Family::Copy, "cat"},
    {"split_with_sizes_copy*", Family::Copy, "split"},
    {"tensor_apply_*", Family::Elementwise, "apply"},
    {"*amp_update_scale*", Family::Optimizer, "scale of gradients"},
    {"*amp_non_finite_check*", Family::Optimizer, "scale of gradients"},
    {"conv_depthwise*", Family::Convolution, ""},
    {"*depthwise_conv*", Family::Convolution, ""},
    {"im2col_kernel*", Family::ConvolutionHelper, "im2col"},
    {"col2im_*", Family::ConvolutionHelper, "col2im"},
    {"vol2col*", Family::ConvolutionHelper, "im2col"},
    {"reduction_prod_kernel", Family::Reduction, "prod"},
    {"lstm_cell_*", Family::Elementwise, "lstm_cell"},
    {"gru_cell_*", Family::Elementwise, "gru_cell"},
    {"spin_kernel", Family::Other, "sleep"},
    {"nms_kernel_impl*", Family::Other, "nms"},
    {"roi_align_*", Family::Other, "roi_align"},
    {"int4_mm_kernel*", Family::Gemm, ""},
    {"tinygemm_*", Family::Gemm, ""},
    {"coalesceValuesKernel*", Family::Index, "coalesce"},
};

}  // namespace

bool decode_aten(const NameText& name, KernelName& out) {
  // Kernels of extensions that are written over ATen's loops have no scope of ATen's, or none at all.
  if (decode_elementwise(name, out) || decode_multi_tensor(name, out)) return true;
  const bool is_own = name.scope.starts_with("at::") || name.scope.starts_with("(anonymous namespace)::") ||
                      name.scope.starts_with("vision::") || name.scope.empty();
  if (!is_own) return false;
  if (decode_reduction(name, out)) return true;
  if (!say_known(kAten, name, name.scope.starts_with("vision::") ? "torchvision" : "ATen", out)) return false;
  if (!name.scope.starts_with("at::") && !name.scope.starts_with("vision::")) out.library.guess("ATen");
  say_value_dtype(name.arguments, out);
  if (*out.functor == "nonzero") out.add("the CPU waits").guess("for the number of elements", name.leaf);
  if (*out.functor == "softmax" && name.leaf.starts_with("softmax_warp") && name.arguments.size() > 4 &&
      name.arguments[4] == "true")
    out.functor.say("log_softmax", name.arguments[4]);
  if (*out.functor == "gather" || *out.functor == "nonzero") out.a = {};  // the type is that of indices
  if (*out.functor == "cat" && !name.arguments.empty() && name.has("OpaqueType")) out.a = {};
  if (*out.family == Family::Convolution) {
    out.layout.guess("nchw");
    out.tensor_cores.guess(false);
    if (out.a) out.b = out.c = out.a;
  }
  return true;
}

}  // namespace pel::doctor::names
