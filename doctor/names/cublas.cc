// The kernels of cuBLAS that are templates: vectors, thin matrices, sums after split K, epilogues.
#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

constexpr KnownKernel kCublas[] = {
    {"splitKreduce_kernel", Family::GemmHelper, "sum after split K"},
    {"globalKernel", Family::GemmHelper, "epilogue"},
    {"gemv*", Family::Gemv, ""},
    {"gemmSN_*", Family::Gemm, ""},
    {"gemmk1_kernel", Family::Gemm, ""},
    {"gemm_kernel*", Family::Gemm, ""},
    {"magma_*gemm*", Family::Gemm, ""},
    {"*gemm_largek_lds*", Family::Gemm, ""},
    {"dot_kernel", Family::Reduction, "dot"},
    {"reduce_1Block_kernel", Family::Reduction, "dot"},
    {"asum_kernel", Family::Reduction, "sum of magnitudes"},
    {"nrm2_kernel", Family::Reduction, "norm_two"},
    {"scal_kernel*", Family::Elementwise, "mul"},
    {"axpy_kernel*", Family::Elementwise, "add"},
    {"copy_kernel", Family::Copy, "copy"},
    {"*trsm*", Family::Other, "triangular solve"},
};

// Thin matmuls name A, B and C as cublasGemvTensorStridedBatched<__half const>, and sums as the first
// argument.
void say_tensor_types(const NameText& name, KernelName& out) {
  Pieces types;
  for (const std::string_view argument : name.arguments) {
    if (argument.find("Tensor") == std::string_view::npos) continue;
    const Pieces inner = template_arguments(argument);
    if (!inner.empty() && !dtype_of_cpp(inner[0]).empty()) types.push_back(inner[0]);
  }
  for (const std::string_view argument : name.arguments) {
    if (argument == "int") continue;
    if (const std::string_view dtype = dtype_of_cpp(argument); !dtype.empty())
      out.accumulate.say(std::string(dtype), argument);
    break;
  }
  if (types.size() < 3) return;
  out.a.say(std::string(dtype_of_cpp(types[0])), types[0]);
  out.b.say(std::string(dtype_of_cpp(types[1])), types[1]);
  out.c.say(std::string(dtype_of_cpp(types[2])), types[2]);
}

// gemv2T_kernel_val<int, int, A, x, y, sums, …>; the integers are those of indices, and not always there.
void say_gemv(const NameText& name, KernelName& out) {
  Pieces types;
  for (const std::string_view argument : name.dtypes_from(0))
    if (argument != "int" && argument != "long") types.push_back(argument);
  NameFact<std::string>* const to[] = {&out.a, &out.b, &out.c, &out.accumulate};
  for (std::size_t i = 0; i < types.size() && i < 4; ++i)
    to[i]->say(std::string(dtype_of_cpp(types[i])), types[i]);
  std::string_view kind = after(name.leaf, "gemv");
  if (kind.starts_with('2')) kind.remove_prefix(1);
  if (kind.starts_with('T')) out.layout.say("t", name.leaf);
  if (kind.starts_with('N')) out.layout.say("n", name.leaf);
}

char letter_of(std::string_view is_transposed) { return is_transposed == "true" ? 't' : 'n'; }

void say_thin_gemm(const NameText& name, KernelName& out) {
  say_tensor_types(name, out);
  if (const std::string_view letters = after(name.leaf, "gemmSN_"); letters.size() >= 2) {
    out.layout.say({letters[0] == 'T' ? 't' : 'n', letters[1] == 'T' ? 't' : 'n'}, letters.substr(0, 2));
    return;
  }
  const bool is_f32 = name.leaf.find("sgemm") != std::string_view::npos;
  Pieces flags;
  for (const std::string_view argument : name.arguments)
    if (argument == "true" || argument == "false") flags.push_back(argument);
  if (!out.a && is_f32) {
    out.a.say("f32", "sgemm");
    out.b = out.c = out.accumulate = out.a;
  }
  if (name.leaf == "gemmk1_kernel") {
    out.layout.guess("nt");  // a column times a row
    out.add("K").say("1: an outer product", name.leaf);
  } else if (flags.size() >= 2) {
    out.layout.guess({letter_of(flags[0]), letter_of(flags[1])}, flags[0]);
  }
}

}  // namespace

bool decode_cublas(const NameText& name, KernelName& out) {
  if (name.leaf == "globalKernel" && name.scope != "epilogue::impl::") return false;
  const bool is_gemvx = name.scope.find("gemvx::") != std::string_view::npos;
  if (is_gemvx) {
    out.family.say(Family::Gemv, "gemvx");
    out.library.say("cuBLAS", name.scope);
  } else if (name.leaf == "copy_kernel" && !name.has("cublas")) {
    return false;
  } else if (!say_known(kCublas, name, "cuBLAS", out)) {
    return false;
  }
  if (*out.family == Family::Gemv) {
    say_gemv(name, out);
    out.tensor_cores.guess(false);
  } else if (*out.family == Family::Gemm) {
    say_thin_gemm(name, out);
    out.tensor_cores.guess(false);
  } else if (*out.family == Family::GemmHelper || *out.family == Family::Reduction) {
    say_tensor_types(name, out);
    const Pieces vector = template_arguments(after(name.head, "StridedBatched"));
    if (*out.functor == "dot" && !vector.empty()) say_value_dtype({vector[0]}, out);
    if (!out.a) say_value_dtype(name.arguments, out);
    if (*out.family == Family::GemmHelper) out.accumulate = {};
  } else {
    say_value_dtype(name.arguments, out);
  }
  return true;
}

}  // namespace pel::doctor::names
