// Fused ops as loops to compile, and as kernels once their code is there. Needs no compiler.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/elementwise/pointwise.h"
#include "backends/cpu/gemm/fused_gemm.h"
#include "backends/cpu/generated/kernel_set.h"
#include "backends/cpu/rows/rows.h"
#include "codegen/code_image.h"
#include "dispatch/loop_compiler.h"

namespace pel::cpu {

// All loops of a graph. Equal code is compiled once: the layers of a model are alike.
class LoopList {
 public:
  LoopList(const std::vector<LoopSource>& sources, codegen::Isa isa);

  const std::vector<codegen::LoopKernel>& kernels() const { return kernels_; }
  // Takes the code of kernels(), in their order.
  CompiledLoops finish(codegen::CompiledKernels compiled) &&;

 private:
  // The memory that the kernels point into.
  struct Loops {
    std::deque<LoopCode> codes;
    std::deque<RowCode> rows;
    std::deque<FusedGemmCode> gemms;
    std::optional<codegen::CompiledKernels> compiled;
  };

  // Sets `*to` to the function at the end.
  const codegen::LoopKernel& add(const KernelSpec& spec, codegen::PelLoopFn** to);
  void fill_loop(LoopCode& code, const std::string& name, const scalar::ScalarExpr& body);
  void fill_rows(RowCode& code, const std::string& name, const RowLoops& rows);

  codegen::Isa isa_;
  std::vector<codegen::LoopKernel> kernels_;
  std::map<std::string, std::size_t> by_content_;
  std::vector<std::pair<codegen::PelLoopFn**, std::size_t>> requests_;
  std::shared_ptr<Loops> loops_ = std::make_shared<Loops>();
  CompiledLoops result_;
};

}  // namespace pel::cpu
