// The fused kernels of a graph, from text. Nothing is built here: a kernel is built for the layout of its
// operands, when a plan prepares it.
#include <deque>
#include <memory>

#include <fmt/format.h>

#include "pellucid/profile.h"

#include "backends/grid/gemm.h"
#include "backends/grid/kernels.h"
#include "backends/grid/loops.h"
#include "backends/grid/rows.h"

namespace pel::grid {
namespace {

// The memory that the kernels point into.
struct Loops {
  std::deque<Loop> loops;
  std::deque<RowLoop> rows;
  std::deque<FusedGemm> gemms;
};

void run_fused_loop(Stream&, const KernelArgs& args) {
  run_loop(*static_cast<Loop*>(const_cast<void*>(args.context)), args.operands,
           {args.scalars, args.scalar_count});
}

}  // namespace

CompiledLoops compile_loops(const std::vector<LoopSource>& sources) {
  CompiledLoops compiled;
  const auto loops = std::make_shared<Loops>();
  for (const LoopSource& source : sources) {
    const char* const name = interned(fmt::format("{}_text", source.name));
    if (source.rows) {
      RowLoop& rows = loops->rows.emplace_back(fused_rows(name, *source.rows));
      compiled.kernels.push_back({name, supports_memory, run_rows, kAllDTypes, 0, &rows});
    } else if (source.gemm) {
      FusedGemm& gemm = loops->gemms.emplace_back();
      gemm.name = name;
      gemm.dtype = source.gemm->dtype;
      gemm.sums = source.gemm->sums;
      gemm.finish = source.body;
      Kernel& kernel = compiled.kernels.emplace_back(fused_gemm_kernel(gemm));
      kernel.name = name;
    } else {
      Loop& loop = loops->loops.emplace_back(Loop::fused(name, source.body));
      compiled.kernels.push_back({name, supports_rank, run_fused_loop, kAllDTypes, 0, &loop});
    }
  }
  compiled.code = loops;
  return compiled;
}

}  // namespace pel::grid
