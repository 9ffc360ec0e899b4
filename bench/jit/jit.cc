// Compiling kernels in process: emitted, compiled, linked and ready to call. The peer, peer_jit.plain.cc,
// runs LLVM's O3 pipeline on the same IR first.
#include "codegen/llvm/jit.h"

#include "../support/server.h"
#include "backends/cpu/isa.h"
#include "kernels.h"

int main(int argc, char** argv) {
  const auto isa = pel::cpu::best_isa().value();
  const auto one = bench::some_kernels(1, isa), fifty = bench::some_kernels(50, isa);
  return bench::serve(argc, argv,
                      {{"one_kernel", [&] { return pel::codegen::compile_in_process(one, isa); }},
                       {"fifty_kernels", [&] { return pel::codegen::compile_in_process(fifty, isa); }}});
}
