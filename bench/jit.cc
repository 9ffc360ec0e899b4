// Compiling kernels in process: emitted, compiled, linked and ready to call. The peer, peer_plain/jit.cc,
// runs LLVM's O3 pipeline on the same IR first.
#include "codegen/llvm/jit.h"

#include "backends/cpu/isa.h"
#include "jit_kernels.h"
#include "server.h"

int main(int argc, char** argv) {
  const auto isa = pel::cpu::best_isa().value();
  const auto one = bench::some_kernels(1, isa), fifty = bench::some_kernels(50, isa);
  return bench::serve(argc, argv,
                      {{"one_kernel", [&] { return pel::codegen::compile_in_process(one, isa); }},
                       {"fifty_kernels", [&] { return pel::codegen::compile_in_process(fifty, isa); }}});
}
