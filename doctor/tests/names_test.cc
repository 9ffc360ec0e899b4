// The decoder of kernel names: a golden file over names of our own, real names where they are, and hostile
// ones.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "doctor/names/kernel_name.h"
#include "doctor/names/mangled.h"
#include "doctor/names/op_families.h"
#include "doctor/readers/kineto.h"
#include "doctor/tests/real_traces.h"
#include "doctor/tests/sources.h"
#include "support/cpu_time.h"
#include "support/environment.h"

namespace pel::doctor {
namespace {

using Family = KernelFamily;

const std::string kGolden = std::string(PELLUCID_SOURCE_DIR) + "/doctor/tests/golden/kernel_names";

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// What must hold of any name, known or not.
void expect_sound(std::string_view given, const std::string& repro) {
  const KernelName name = decode_kernel_name(given);
  ASSERT_LE(name.title.size(), 40u) << repro;
  ASSERT_FALSE(name.title.empty()) << repro;
  ASSERT_EQ(static_cast<bool>(name.family), *name.family != Family::Unknown) << repro;
  const std::string text = explain(name);
  ASSERT_LT(text.size(), 20'000u) << repro;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) ASSERT_LE(line.size(), 100u) << repro << "\n" << line;
  for (const char c : text) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << repro;
  for (const ShownFact& fact : shown_facts(name))
    ASSERT_FALSE(fact.value.empty()) << repro << " " << fact.label;
  ASSERT_EQ(text, explain(decode_kernel_name(given))) << repro;
}

TEST(KernelNames, ExplanationsAreThoseOfTheGoldenFile) {
  std::string now;
  for (const std::string& name : lines_of(kGolden + ".in"))
    now += fmt::format("$ {}\n{}\n", name, explain(decode_kernel_name(name)));
  const std::string path = kGolden + ".txt";
  if (std::getenv("PELLUCID_WRITE_DOCS") != nullptr) {
    std::ofstream(path) << now;
    return;
  }
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(golden.str(), now)
      << "rewrite what is meant to change: PELLUCID_WRITE_DOCS=1 ./dev test doctor; then read " << path;
}

TEST(KernelNames, ABackwardSoftmaxIsASoftmaxAndACopyIsACopy) {
  struct Case {
    std::string_view name;
    Family family;
  };
  for (const Case& c :
       {Case{"void (anonymous namespace)::softmax_warp_backward<float, float, float, 3, false, false>(int)",
             Family::Softmax},
        Case{"triton_per_fused__softmax_backward_data_add_mul_3", Family::Softmax},
        Case{"triton_per_fused__log_softmax_nll_loss_forward_3", Family::Loss},
        Case{"triton_red_fused_add_mean_mul_pow_rsqrt_7", Family::Norm},
        Case{"triton_poi_fused_convolution_relu_1", Family::Elementwise},
        Case{"triton_poi_fused_embedding_4", Family::Embedding},
        Case{"triton_tem_fused_convolution_2", Family::Convolution},
        Case{"void cross_device_reduce_1stage<__nv_bfloat16, 4>(int)", Family::Collective},
        Case{"cpu_reduce_scatter", Family::Collective}, Case{"cpu_send", Family::Collective},
        Case{"void at::native::(anonymous namespace)::write_indices<int>(long*)", Family::Index},
        Case{"rotary_embedding_kernel", Family::Elementwise}, Case{"attn_fwd.kd", Family::Attention},
        Case{"Memset (Device)", Family::Fill}, Case{"", Family::Unknown}})
    EXPECT_EQ(*decode_kernel_name(c.name).family, c.family) << c.name;
}

TEST(KernelNames, AMatmulWithoutTensorCoresIsSeen) {
  for (const std::string_view with : {"cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4",
                                      "nvjet_tst_64x8_64x8_4x1_v_bz_TNT", "volta_h884gemm_64x64_ldg8_nn"})
    EXPECT_TRUE(decode_kernel_name(with).tensor_cores && *decode_kernel_name(with).tensor_cores) << with;
  for (const std::string_view without : {"ampere_sgemm_64x64_nn", "cutlass_80_simt_sgemm_64x64_8x5_nn_align1",
                                         "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_"
                                         "warpsize1x2x1_ffma_aligna4_execute_kernel__5x_cublas"}) {
    const KernelName name = decode_kernel_name(without);
    EXPECT_TRUE(name.tensor_cores && !*name.tensor_cores) << without;
  }
}

TEST(KernelNames, OpsOfAFusedKernelAreSplitByTheTable) {
  const auto ops = [](std::string_view joined) {
    std::string text;
    for (const std::string_view op : names::split_ops(joined))
      text += (text.empty() ? "" : "|") + std::string(op);
    return text;
  };
  EXPECT_EQ(ops("_to_copy_add_native_layer_norm_view"), "_to_copy|add|native_layer_norm|view");
  EXPECT_EQ(ops("_scaled_dot_product_efficient_attention_backward_cat"),
            "_scaled_dot_product_efficient_attention_backward|cat");
  EXPECT_EQ(ops("_foo_bar"), "_foo|bar");
  EXPECT_EQ(ops("mul__0"), "mul|_0");
  EXPECT_EQ(ops(""), "");
  EXPECT_EQ(ops("___"), "_|_");
}

TEST(KernelNames, MangledNamesAreReadAsFarAsDecodersNeed) {
  EXPECT_EQ(names::readable_mangled("_ZN2at6native1fIfLi4ELb1EEEvv"), "at::native::f<float, 4, true>");
  EXPECT_EQ(names::readable_mangled("_Z1fIDF16bN1a1bIiEEEvv"), "f<__bf16, a::b<int>>");
  EXPECT_EQ(names::readable_mangled("_ZN1aS_1bE"), "a::_::b");
  EXPECT_EQ(names::readable_mangled("_ZN12_GLOBAL__N_11fEv"), "(anonymous namespace)::f");
  EXPECT_EQ(names::readable_mangled("_ZN99999999999999999999a"), "");
  EXPECT_EQ(names::readable_mangled("_Z"), "");
}

TEST(KernelNames, ATruncatedNameKeepsWhatItHas) {
  const std::string whole =
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int)";
  for (std::size_t length = 0; length <= whole.size(); ++length)
    expect_sound(std::string_view(whole).substr(0, length), fmt::format("the first {} bytes", length));
  const KernelName cut = decode_kernel_name(std::string_view(whole).substr(0, 80));
  EXPECT_EQ(*cut.family, Family::Elementwise);
  EXPECT_EQ(*cut.functor, "add");
}

TEST(KernelNames, OneMegabyteOfBracketsTakesNoTime) {
  const double begin = test::cpu_seconds();
  for (const std::string_view piece : {"<", "(", "a::", "_", "_ZNI", "cutlass_", "triton_poi_fused_", "x",
                                       "1x", "{lambda(", "cute::tuple<", " ", "*"}) {
    std::string long_name;
    while (long_name.size() < 1'000'000) long_name += piece;
    for (const std::string_view head : {"", "_ZN2ck1aI", "void at::native::elementwise_kernel<",
                                        "cutlass::device_kernel<FlashAttn", "Cijk_Alik_Bljk_"}) {
      const std::string name = std::string(head) + long_name;
      expect_sound(name, fmt::format("{} and then '{}' many times", head, piece));
      EXPECT_TRUE(decode_kernel_name(name).is_truncated);
    }
  }
  EXPECT_LT(test::cpu_seconds() - begin, 5.0);
}

TEST(KernelNames, WhatIsMissingInsideABracketIsNotReadFor) {
  for (const std::string_view name :
       {"void internal::gemvx::<int, float>(int)",
        "internal::gemvx::",
        "cutlass::device_kernel<",
        "cutlass::device_kernel<CollectiveMma<a, b, cute::tuple, d, cute::tuple, f>>",
        "cutlass::Kernel<other>",
        "fmhaSm",
        "ck_tile::kentry<1>",
        "Cijk",
        "Cijk_A_B_",
        "_matmul_ogs_",
        "nvjet_",
        "sm_xmma_",
        "triton_",
        "bmm____",
        "triton_poi_fused",
        "at::native::reduce_kernel<1, 2, 3>",
        "igemm_",
        "nccl",
        "pellucid",
        "poi_fused_"})
    expect_sound(name, std::string(name));
}

std::vector<std::string> real_names() {
  const std::string path = test::real_trace("../reference/all_kernel_names.json");
  std::vector<std::string> names;
  if (path.empty()) return names;
  simdjson::dom::parser parser;
  for (const auto row : simdjson::dom::array(parser.load(path).value()))
    names.emplace_back(std::string_view(simdjson::dom::array(row).at(0).value()));
  return names;
}

#define PEL_SKIP_WITHOUT_NAMES(names) \
  if ((names).empty())                \
  GTEST_SKIP() << "PELLUCID_TRACES names no folder next to a reference/all_kernel_names.json"

// PELLUCID_PRINT_NAMES=1 prints each with its family and title, for eyes.
TEST(RealKernelNames, HaveAFamilyAndMatmulsTheirDtypesAndLayouts) {
  const std::vector<std::string> names = real_names();
  PEL_SKIP_WITHOUT_NAMES(names);
  std::map<std::string_view, int> families;
  int unknown = 0, guessed = 0;
  for (const std::string& text : names) {
    const KernelName name = decode_kernel_name(text);
    ++families[doctor::name(*name.family)];
    unknown += name.family ? 0 : 1;
    guessed += name.family.certainty == Certainty::Guessed ? 1 : 0;
    if (std::getenv("PELLUCID_PRINT_NAMES") != nullptr)
      fmt::print("{:<18} {:<40} {}\n", doctor::name(*name.family), name.title, text.substr(0, 160));
    if (*name.family == Family::Gemm) {
      EXPECT_TRUE(name.a && name.b && name.layout && name.tensor_cores) << text.substr(0, 200);
      EXPECT_EQ(name.layout->size(), 2u) << text.substr(0, 200);
    }
    if (*name.family == Family::Gemv) {
      EXPECT_TRUE(name.a && name.b) << text.substr(0, 200);
    }
    if (*name.family == Family::Convolution) {
      EXPECT_TRUE(name.a && name.layout) << text.substr(0, 200);
    }
    expect_sound(text, text.substr(0, 200));
  }
  for (const auto& [family, count] : families) fmt::print("{:>5} {}\n", count, family);
  fmt::print("{} of {} without a family, {} guessed\n", unknown, names.size(), guessed);
  EXPECT_LE(20 * unknown, static_cast<int>(names.size()));
}

TEST(RealKernelNames, AreDecodedInMicroseconds) {
  const std::vector<std::string> names = real_names();
  PEL_SKIP_WITHOUT_NAMES(names);
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    const double begin = test::cpu_seconds();
    std::size_t columns = 0;
    for (const std::string& name : names) columns += decode_kernel_name(name).title.size();
    best = std::min(best, (test::cpu_seconds() - begin) / static_cast<double>(names.size()));
    EXPECT_GT(columns, 0u);
  }
  fmt::print("{:.1f} microseconds a name\n", best * 1e6);
  EXPECT_LT(best, 200e-6);
}

// What an op launches must be of a family that the op can need: a witness that does not know names.
struct Launches {
  std::string_view op;
  std::vector<Family> families;
};
const Launches kLaunches[] = {
    {"aten::mm", {Family::Gemm, Family::Gemv, Family::GemmHelper, Family::Reduction}},
    {"aten::addmm", {Family::Gemm, Family::Gemv, Family::GemmHelper, Family::Copy, Family::Reduction}},
    {"aten::bmm", {Family::Gemm, Family::Gemv, Family::GemmHelper}},
    {"aten::_flash_attention_forward", {Family::Attention}},
    {"aten::cudnn_batch_norm", {Family::Norm}},
    {"aten::cudnn_batch_norm_backward", {Family::Norm}},
    {"aten::native_batch_norm", {Family::Norm}},
    {"aten::native_layer_norm", {Family::Norm}},
    {"aten::_log_softmax", {Family::Softmax}},
    {"aten::_softmax", {Family::Softmax}},
    {"aten::_softmax_backward_data", {Family::Softmax, Family::Elementwise}},
    {"aten::mse_loss", {Family::Loss, Family::Reduction}},
    {"aten::mul", {Family::Elementwise}},
    {"aten::add", {Family::Elementwise}},
    {"aten::gelu", {Family::Elementwise}},
    {"aten::silu", {Family::Elementwise}},
    {"aten::threshold_backward", {Family::Elementwise}},
    {"aten::sum", {Family::Reduction}},
    {"aten::mean", {Family::Reduction}},
    {"aten::cat", {Family::Copy}},
    {"aten::copy_", {Family::Copy}},
    {"aten::fill_", {Family::Fill}},
    {"aten::index_select", {Family::Index}},
    {"aten::max_pool2d_with_indices", {Family::Pooling}},
    {"record_param_comms", {Family::Collective}},
};

TEST(RealKernelNames, AreOfAFamilyThatTheOpWhichLaunchedThemNeeds) {
  PEL_SKIP_WITHOUT_TRACE("EXPECTED.json");
  std::set<std::pair<std::string_view, std::string>> pairs;
  for (const auto& file : std::filesystem::directory_iterator(test::real_trace())) {
    if (file.path().extension() != ".gz") continue;
    std::unordered_map<std::int64_t, const Launches*> ops;  // by external id
    std::set<std::pair<std::int64_t, std::string>> kernels;
    read_kineto(file.path().string(), [&](const TraceEvent& e) {
      const std::int64_t id = e.get(Arg::ExternalId, -1);
      if (id < 0 || e.phase != Phase::Span) return;
      if (e.category == Category::Kernel) kernels.emplace(id, e.name);
      if (e.category != Category::CpuOp) return;
      const auto op = std::ranges::find(kLaunches, e.name, &Launches::op);
      if (op != std::end(kLaunches)) ops[id] = &*op;
    });
    for (const auto& [id, kernel] : kernels) {
      const auto op = ops.find(id);
      if (op == ops.end() || !pairs.emplace(op->second->op, kernel).second) continue;
      const Family family = *decode_kernel_name(kernel).family;
      EXPECT_NE(std::ranges::find(op->second->families, family), op->second->families.end())
          << file.path().filename() << ": " << op->second->op << " launched a " << doctor::name(family)
          << ": " << kernel.substr(0, 200);
    }
  }
  fmt::print("{} pairs of op and kernel\n", pairs.size());
  EXPECT_GT(pairs.size(), 50u);
}

// Bytes flipped, dropped, doubled and spliced. PELLUCID_NAMES_SEED=N repeats one run.
TEST(KernelNames, AreSoundHoweverTheyAreMutated) {
  std::vector<std::string> seeds = lines_of(kGolden + ".in");
  for (const std::string& name : real_names()) seeds.push_back(name);
  const auto one = static_cast<std::uint64_t>(test::number_from("PELLUCID_NAMES_SEED", 0));
  const std::uint64_t runs = one != 0 ? 1 : 20'000 / static_cast<std::uint64_t>(test::test_share());
  for (std::uint64_t run = 1; run <= runs; ++run) {
    const std::uint64_t seed = one != 0 ? one : run;
    std::mt19937_64 random(seed);
    std::string name = seeds[random() % seeds.size()];
    for (std::uint64_t edits = 1 + random() % 4; edits > 0 && !name.empty(); --edits) {
      const std::size_t at = random() % name.size(),
                        length = std::min<std::size_t>(random() % 24, name.size() - at);
      const std::string& other = seeds[random() % seeds.size()];
      constexpr std::string_view kBrackets = "<>(){}:_, x0129_ZNIES\0\xff";
      switch (random() % 6) {
        case 0:
          name[at] = kBrackets[random() % kBrackets.size()];
          break;
        case 1:
          name.erase(at, length);
          break;
        case 2:
          name.insert(at, name.substr(at, length));
          break;
        case 3:
          name = name.substr(0, at) + other.substr(random() % other.size());
          break;
        case 4:
          name.resize(at);
          break;
        default:
          name[at] = static_cast<char>(random());
      }
    }
    expect_sound(
        name,
        fmt::format("PELLUCID_NAMES_SEED={} build/release/bin/doctor_tests --gtest_filter='*Mutated'", seed));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace pel::doctor
