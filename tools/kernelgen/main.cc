// pellucid-kernelgen OUT_DIR: writes the kernels that eager execution runs, as object files, and the table
// that names them. Runs while the library is built.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include "backends/cpu/gemm/tile_set.h"
#include "backends/cpu/generated/kernel_set.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/emit_tile.h"
#include "codegen/llvm/target.h"
#include "dispatch/registry.h"

namespace pel {

// The ops are wired without any backend: their kernels are what is being made.
void register_everything() { Registry::register_builtins(); }

namespace cpu {
extern const PrebuiltKernel kPrebuiltKernels[] = {{}};
extern const std::size_t kPrebuiltKernelCount = 0;
extern const PrebuiltTile kPrebuiltTiles[] = {{}};
extern const std::size_t kPrebuiltTileCount = 0;
}  // namespace cpu

namespace {

using codegen::Isa;

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::size_t write_object(const std::filesystem::path& path, const std::vector<codegen::LoopKernel>& kernels,
                         Isa isa) {
  llvm::LLVMContext context;
  const auto machine = codegen::make_target_machine(isa);
  const auto module = codegen::emit_module(context, kernels, isa, codegen::Linkage::IntoLibrary);
  codegen::emit_tiles(*module, cpu::tile_set(isa), isa);
  codegen::verify(*module);
  const auto object = codegen::compile_object(*machine, *module);
  write_file(path, {object->getBufferStart(), object->getBufferSize()});
  return object->getBufferSize();
}

std::string table_text(const std::vector<cpu::KernelSpec>& specs) {
  std::string declarations, rows;
  for (const cpu::KernelSpec& spec : specs) {
    std::string costs, functions, runs;
    for (const Isa isa : {Isa::Avx2, Isa::Avx512}) {
      const codegen::LoopKernel kernel = spec.lower(isa);
      const std::string function = cpu::symbol(spec.code, isa);
      if (spec.code == spec.name) declarations += fmt::format("pel::codegen::PelLoopFn {};\n", function);
      if (spec.code == spec.name && spec.has_runs)
        declarations += fmt::format("pel::codegen::PelRunsFn {};\n", kernel.runs_name());
      if (spec.has_runs) runs += fmt::format("{}{}_runs", runs.empty() ? "" : ", ", function);
      costs += fmt::format("{}{:.3f}f", costs.empty() ? "" : ", ", codegen::cost_per_element(kernel, isa));
      functions += fmt::format("{}{}", functions.empty() ? "" : ", ", function);
    }
    rows += fmt::format("    {{\"{}\", {{{}}}, {{{}}}, {}, {{{}}}}},\n", spec.name, costs, functions,
                        spec.reads(), runs);
  }
  std::string tiles;
  std::size_t tile_count = 0;
  for (const Isa isa : {Isa::Avx2, Isa::Avx512}) {
    for (const codegen::TileKernel& tile : cpu::tile_set(isa)) {
      declarations += fmt::format("pel::codegen::PelTileFn {};\n", tile.name);
      tiles += fmt::format("    {{\"{}\", {}}},\n", tile.name, tile.name);
      ++tile_count;
    }
  }
  return fmt::format(
      "// Written by pellucid-kernelgen.\n#include \"backends/cpu/generated/kernel_set.h\"\n"
      "#include \"backends/cpu/gemm/tile_set.h\"\n\nextern \"C\" {{\n{}}}\n\n"
      "namespace pel::cpu {{\nextern const PrebuiltKernel kPrebuiltKernels[] = {{\n{}}};\n"
      "extern const std::size_t kPrebuiltKernelCount = {};\n"
      "extern const PrebuiltTile kPrebuiltTiles[] = {{\n{}}};\n"
      "extern const std::size_t kPrebuiltTileCount = {};\n}}  // namespace pel::cpu\n",
      declarations, rows, specs.size(), tiles, tile_count);
}

void generate(const std::filesystem::path& folder) {
  const std::vector<cpu::KernelSpec> specs = cpu::kernel_set();
  for (const Isa isa : {Isa::Avx2, Isa::Avx512}) {
    std::vector<codegen::LoopKernel> kernels;
    for (const cpu::KernelSpec& spec : specs) {
      if (spec.code == spec.name) kernels.push_back(spec.lower(isa));
    }
    const std::size_t bytes =
        write_object(folder / fmt::format("kernels_{}.o", codegen::name(isa)), kernels, isa);
    fmt::print("kernelgen: {} kernels for {}, {:.1f} MB\n", kernels.size(), codegen::name(isa),
               static_cast<double>(bytes) / 1e6);
  }
  write_file(folder / "kernel_table.cc", table_text(specs));
}

}  // namespace
}  // namespace pel

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: pellucid-kernelgen OUT_DIR\n", stderr);
    return 2;
  }
  try {
    pel::generate(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernelgen: %s\n", error.what());
    return 1;
  }
}
