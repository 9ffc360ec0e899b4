// Every kernel of backends/grid as CUDA: compiled by NVRTC, assembled by ptxas, and audited. Nothing runs.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "backends/cuda/nvrtc.h"
#include "backends/cuda/table_form.h"
#include "cuda/assemble.h"
#include "cuda/kernel_texts.h"
#include "support/cuda_driver/ptx_rules.h"
#include "support/environment.h"

namespace pel {
namespace {

using test::KernelText;

constexpr std::size_t kInModule = 20;
constexpr int kMaxLoopRegisters = 64;

// Elementwise loops, of ops and of copies.
bool is_loop(const KernelText& kernel) {
  return (kernel.name.ends_with("_text") || kernel.name.starts_with("pel_copy_")) &&
         kernel.text.find("PEL_HALVES") == std::string::npos;
}

// Several kernels as one module: the header once, each in a namespace, with a name of its own.
std::string module_of(ArrayView<KernelText> kernels, std::vector<std::string>& names) {
  static const std::string header = codegen::kernel_header(codegen::cuda_dialect(), 1);
  static const std::regex defined("#define (\\w+)");
  std::string text = header;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelText& kernel = kernels[i];
    EXPECT_TRUE(kernel.text.starts_with(header)) << kernel.name;
    const std::string body = kernel.text.substr(header.size());
    names.push_back(fmt::format("k{}_{}", i, kernel.name));
    text += fmt::format("#define {} {}\nnamespace n{} {{\n{}}}\n#undef {}\n", kernel.name, names.back(), i,
                        body, kernel.name);
    for (std::sregex_iterator at(body.begin(), body.end(), defined), end; at != end; ++at)
      text += fmt::format("#undef {}\n", (*at)[1].str());
  }
  return text;
}

// Of the operands of a kernel that are in memory.
std::size_t address_count(const KernelText& kernel) {
  const std::string function = fmt::format("PEL_KERNEL void {}(", kernel.name);
  const std::size_t begin = kernel.text.find(function), end = kernel.text.find("PEL_STATUS", begin);
  std::size_t count = 0;
  for (std::size_t at = kernel.text.find("PEL_MEMORY", begin); at < end;
       at = kernel.text.find("PEL_MEMORY", at + 1))
    ++count;
  return count;
}

class CudaTexts : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string& refusal = cuda::nvrtc_refusal(); !refusal.empty()) GTEST_SKIP() << refusal;
    if (std::system("ptxas --version > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "ptxas of the CUDA toolkit is not on the PATH";
    folder_ = testing::TempDir() + "cuda_texts_XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string folder_;
};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// PELLUCID_TEST_SHARE=1 compiles all of them, PELLUCID_CASE=add those whose names contain it.
TEST_F(CudaTexts, EveryKernelCompilesToRoundedArithmeticWithoutSpills) {
  const auto began = std::chrono::steady_clock::now();
  std::vector<KernelText> kernels = test::all_kernel_texts();
  const std::size_t all = kernels.size();
  EXPECT_GE(all, 3000U);
  const double writing = seconds_since(began);
  const char* const only = std::getenv("PELLUCID_CASE");
  const std::uint64_t share = only != nullptr ? 1 : test::number_from("PELLUCID_TEST_SHARE", 16);
  std::size_t number = 0;
  std::erase_if(kernels, [&](const KernelText& kernel) {
    if (only != nullptr) return kernel.name.find(only) == std::string::npos;
    return number++ % share != 0;
  });
  struct Architecture {
    const char* name;
    double seconds = 0;
    int registers = 0, loop_registers = 0;
    std::string most{};
  } architectures[] = {{"sm_80"}, {"sm_90"}, {"sm_100"}};
  double compiling = 0;
  int faults = 0, graph_registers = 0;
  for (std::size_t first = 0; first < kernels.size(); first += kInModule) {
    const ArrayView<KernelText> part{kernels.data() + first, std::min(kInModule, kernels.size() - first)};
    std::vector<std::string> names;
    const std::string text = module_of(part, names), path = folder_ + "/module.ptx";
    SCOPED_TRACE(fmt::format("kernels {} to {}, from {}", first, first + part.size(), part[0].name));
    const auto compile_began = std::chrono::steady_clock::now();
    std::string ptx;
    ASSERT_NO_THROW(ptx = cuda::compile_to_ptx("module", text, "compute_80"));
    compiling += seconds_since(compile_began);
    EXPECT_EQ(test::refused_instructions(ptx), "");
    std::ofstream(path) << ptx;
    std::string of_graphs = ptx;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto form = cuda::with_address_table(of_graphs, names[i], address_count(part[i]));
      ASSERT_TRUE(form.has_value()) << part[i].name << " cannot be captured in a graph";
      of_graphs = *form;
    }
    const std::string graphs_path = folder_ + "/graphs.ptx";
    std::ofstream(graphs_path) << of_graphs;
    for (const auto& [name, each] : test::assemble(graphs_path, "sm_80", folder_ + "/graphs.cubin")) {
      EXPECT_EQ(each.spilled_bytes, 0) << name;
      graph_registers = std::max(graph_registers, each.registers);
    }
    for (Architecture& architecture : architectures) {
      const auto assemble_began = std::chrono::steady_clock::now();
      const auto found = test::assemble(path, architecture.name, folder_ + "/module.cubin");
      architecture.seconds += seconds_since(assemble_began);
      for (std::size_t i = 0; i < part.size(); ++i) {
        ASSERT_TRUE(found.contains(names[i])) << names[i];
        const test::Assembled& each = found.at(names[i]);
        if (each.registers > architecture.registers) {
          architecture.registers = each.registers;
          architecture.most = part[i].name;
        }
        const bool too_many = is_loop(part[i]) && each.registers > kMaxLoopRegisters;
        if (is_loop(part[i]))
          architecture.loop_registers = std::max(architecture.loop_registers, each.registers);
        if (each.spilled_bytes == 0 && !too_many) continue;
        if (++faults <= 20)
          ADD_FAILURE() << fmt::format(
              "{} on {}: {} registers, {} bytes of spills\nrepro: PELLUCID_CASE={} ./dev test cuda/CudaTexts",
              part[i].name, architecture.name, each.registers, each.spilled_bytes, part[i].name);
      }
    }
  }
  const auto ms_each = [&](double seconds) {
    return 1e3 * seconds / static_cast<double>(std::max<std::size_t>(1, kernels.size()));
  };
  fmt::print("{} kernels, of which {} were compiled by {} in modules of {}\n", all, kernels.size(),
             cuda::nvrtc_version(), kInModule);
  fmt::print("writing all texts {:.1f} s; NVRTC {:.1f} ms a kernel\n", writing, ms_each(compiling));
  fmt::print("in graphs, on sm_80: at most {} registers\n", graph_registers);
  fmt::print("to machine code of sm_80 {:.1f} ms a kernel; the goal is 40\n",
             ms_each(compiling + architectures[0].seconds));
  for (const Architecture& a : architectures)
    fmt::print("{}: ptxas {:.1f} ms a kernel; at most {} registers ({}), loops {}\n", a.name,
               ms_each(a.seconds), a.registers, a.most, a.loop_registers);
}

TEST(PtxAudit, FindsWhatMayHaveOtherBits) {
  EXPECT_EQ(test::refused_instructions("\tadd.rn.f32 \t%f1, %f2, %f3;\n\tadd.s64 %rd1, %rd2, 8;\n"
                                       "\tneg.f32 %f1, %f2;\n\t@%p1 bra $L__BB0_2;\n"),
            "");
  for (const char* const bad :
       {"add.f32 %f1, %f2, %f3;", "mul.f64 %fd1, %fd2, %fd3;", "fma.rz.f32 %f1, %f2, %f3, %f4;",
        "div.approx.f32 %f1, %f2, %f3;", "add.rn.ftz.f32 %f1, %f2, %f3;", "ex2.approx.f32 %f1, %f2;"}) {
    EXPECT_NE(test::refused_instructions(fmt::format("\t{}\n", bad)), "") << bad;
    EXPECT_NE(test::refused_instructions(fmt::format("@%p1 {}\n", bad)), "") << bad;
  }
}

TEST(Nvrtc, ARefusedTextIsAnErrorWithItsLog) {
  if (const std::string& refusal = cuda::nvrtc_refusal(); !refusal.empty()) GTEST_SKIP() << refusal;
  try {
    static_cast<void>(cuda::compile_to_ptx(
        "broken", "extern \"C\" __global__ void broken() { undeclared = 1; }", "compute_80"));
    FAIL() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_NE(error.message().find("refused the kernel broken"), std::string::npos) << error.what();
    EXPECT_NE(error.message().find("undeclared"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace pel
