// pellucid-kernelgen OUT_DIR [aarch64]: writes the kernels of eager execution as object files with the table
// that names them, and compressed for the runtime library. Runs while the library is built; with aarch64 it
// writes those of that architecture, without the compressed ones.
#include <bit>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include "backends/cpu/gemm/tile_set.h"
#include "backends/cpu/generated/kernel_set.h"
#include "backends/cpu/generated/packed_code.h"
#include "backends/cpu/generated/prebuilt_code.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/compressed.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/emit_tile.h"
#include "codegen/llvm/link.h"
#include "codegen/llvm/target.h"
#include "device/registry.h"
#include "dispatch/registry.h"

namespace pel {

// Registers the ops without any backend: this program generates the kernels.
void register_everything() { Registry::register_builtins(); }
void register_devices() {}

namespace cpu {
const PrebuiltCode& prebuilt_code(codegen::Isa) {
  throw InternalError("pellucid-kernelgen has no kernels, it writes them");
}
}  // namespace cpu

namespace {

using codegen::Isa;
using Specs = std::vector<cpu::KernelSpec>;

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::unique_ptr<llvm::MemoryBuffer> compile(const Specs& specs, Isa isa) {
  std::vector<codegen::LoopKernel> kernels;
  for (const cpu::KernelSpec& spec : specs) {
    if (spec.code == spec.name) kernels.push_back(spec.lower(isa));
  }
  llvm::LLVMContext context;
  const auto machine = codegen::make_target_machine(isa);
  const auto module = codegen::emit_module(context, kernels, isa, codegen::Linkage::IntoLibrary);
  codegen::emit_tiles(*module, cpu::tile_set(isa), isa);
  codegen::verify(*module);
  return codegen::compile_object(*machine, *module);
}

// The same in the table and in the compressed form.
float cost_of(const cpu::KernelSpec& spec, Isa isa) {
  return std::stof(fmt::format("{:.3f}", codegen::cost_per_element(spec.lower(isa), isa)));
}

std::string table_text(const Specs& specs, codegen::Architecture architecture) {
  std::string declarations, tables, results;
  for (const codegen::IsaFacts& each : codegen::kIsas) {
    const Isa isa = each.isa;
    if (each.architecture != architecture) {
      results += "    {{}, {}},\n";
      continue;
    }
    std::string kernels, tiles;
    for (const cpu::KernelSpec& spec : specs) {
      const codegen::LoopKernel kernel = spec.lower(isa);
      const std::string function = cpu::symbol(spec.code, isa);
      if (spec.code == spec.name) {
        declarations += fmt::format("pel::codegen::PelLoopFn {};\n", function);
        if (spec.has_runs) declarations += fmt::format("pel::codegen::PelRunsFn {};\n", kernel.runs_name());
      }
      kernels += fmt::format("    {{\"{}\", {:#}f, {}, {}, {}}},\n", spec.name, cost_of(spec, isa), function,
                             spec.has_runs ? function + "_runs" : "nullptr", spec.reads());
    }
    for (const codegen::TileKernel& tile : cpu::tile_set(isa)) {
      declarations += fmt::format("pel::codegen::PelTileFn {};\n", tile.name);
      tiles += fmt::format("    {{\"{}\", {}}},\n", tile.name, tile.name);
    }
    tables += fmt::format(
        "constexpr PrebuiltKernel kKernels_{0}[] = {{\n{1}}};\n"
        "constexpr PrebuiltTile kTiles_{0}[] = {{\n{2}}};\n",
        codegen::name(isa), kernels, tiles);
    results += fmt::format(
        "    {{ArrayView(kKernels_{0}, std::size(kKernels_{0})), ArrayView(kTiles_{0}, "
        "std::size(kTiles_{0}))}},\n",
        codegen::name(isa));
  }
  return fmt::format(
      "// Written by pellucid-kernelgen.\n#include \"backends/cpu/generated/prebuilt_code.h\"\n\n"
      "extern \"C\" {{\n{}}}\n\nnamespace pel::cpu {{\nnamespace {{\n\n{}\n"
      "constexpr PrebuiltCode kCode[] = {{\n{}}};\n\n}}  // namespace\n\n"
      "const PrebuiltCode& prebuilt_code(codegen::Isa isa) {{ return kCode[static_cast<int>(isa)]; }}\n\n"
      "}}  // namespace pel::cpu\n",
      declarations, tables, results);
}

// Functions by number, in the order in which they are first asked for.
class Functions {
 public:
  std::uint32_t operator()(const std::string& symbol) {
    const auto [known, is_new] = numbers_.emplace(symbol, static_cast<std::uint32_t>(symbols_.size()));
    if (is_new) symbols_.push_back(symbol);
    return known->second;
  }
  const std::vector<std::string>& symbols() const { return symbols_; }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> symbols_;
};

// See packed_code.h.
std::string packed(const Specs& specs, Isa isa, std::unique_ptr<llvm::MemoryBuffer> object) {
  const std::vector<codegen::TileKernel> tiles = cpu::tile_set(isa);
  ByteWriter writer;
  Functions functions;
  const auto write_name = [&](const std::string& name) { writer.text({name.c_str(), name.size() + 1}); };
  std::size_t name_bytes = 0;
  for (const cpu::KernelSpec& spec : specs) name_bytes += spec.name.size() + 1;
  for (const codegen::TileKernel& tile : tiles) name_bytes += tile.name.size() + 1;
  writer.number(static_cast<std::uint32_t>(name_bytes));
  writer.number(static_cast<std::uint32_t>(specs.size()));
  for (const cpu::KernelSpec& spec : specs) {
    const std::string function = cpu::symbol(spec.code, isa);
    write_name(spec.name);
    writer.number(std::bit_cast<std::uint32_t>(cost_of(spec, isa)));
    writer.wide(spec.reads());
    writer.number(functions(function));
    writer.number(spec.has_runs ? functions(function + "_runs") : cpu::kNoFunction);
  }
  writer.number(static_cast<std::uint32_t>(tiles.size()));
  for (const codegen::TileKernel& tile : tiles) {
    write_name(tile.name);
    writer.number(functions(tile.name));
  }
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  objects.push_back(std::move(object));
  codegen::CodeImage image = codegen::link(objects, functions.symbols());
  for (codegen::CodeImage::Function& function : image.functions) function.name.clear();
  writer.text(to_bytes(image));
  const std::string bytes = std::move(writer).bytes();

  const std::string content = compressed(bytes);
  ByteWriter head;
  head.number(static_cast<std::uint32_t>(content.size()));
  head.number(static_cast<std::uint32_t>(bytes.size()));
  return std::move(head).bytes() + content;
}

void add_bytes(llvm::Module& module, const std::string& symbol, const std::string& bytes) {
  auto* const content = llvm::ConstantDataArray::getString(module.getContext(), bytes, /*AddNull=*/false);
  auto* const variable =
      llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal(symbol, content->getType()));
  variable->setInitializer(content);
  variable->setConstant(true);
  variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
}

void generate(const std::filesystem::path& folder, codegen::Architecture architecture) {
  const Specs specs = cpu::kernel_set();
  const bool is_packed = architecture == codegen::Architecture::X86;
  const auto write_kernels = [&](Isa isa) -> std::string {
    auto object = compile(specs, isa);
    const std::size_t bytes = object->getBufferSize();
    write_file(folder / fmt::format("kernels_{}.o", codegen::name(isa)), {object->getBufferStart(), bytes});
    std::string content = is_packed ? packed(specs, isa, std::move(object)) : "";
    fmt::print("kernelgen: {} kernels for {}, {:.1f} MB, compressed {:.2f} MB\n", specs.size(),
               codegen::name(isa), static_cast<double>(bytes) / 1e6,
               static_cast<double>(content.size()) / 1e6);
    return content;
  };
  std::vector<std::pair<Isa, std::future<std::string>>> contents;  // next to each other
  for (const codegen::IsaFacts& each : codegen::kIsas)
    if (each.architecture == architecture)
      contents.emplace_back(each.isa, std::async(std::launch::async, write_kernels, each.isa));
  llvm::LLVMContext context;
  llvm::Module packed_module("pellucid", context);
  for (auto& [isa, content] : contents) add_bytes(packed_module, cpu::packed_symbol(isa), content.get());
  if (is_packed) {
    const auto object =
        codegen::compile_object(*codegen::make_target_machine(contents[0].first), packed_module);
    write_file(folder / "packed_kernels.o", {object->getBufferStart(), object->getBufferSize()});
  }
  write_file(folder / "kernel_table.cc", table_text(specs, architecture));
}

}  // namespace
}  // namespace pel

int main(int argc, char** argv) {
  const bool is_for_arm = argc == 3 && std::string_view(argv[2]) == "aarch64";
  if (argc != 2 && !is_for_arm) {
    std::fputs("usage: pellucid-kernelgen OUT_DIR [aarch64]\n", stderr);
    return 2;
  }
  try {
    if (is_for_arm) {
      LLVMInitializeAArch64TargetInfo();
      LLVMInitializeAArch64Target();
      LLVMInitializeAArch64TargetMC();
      LLVMInitializeAArch64AsmPrinter();
    }
    pel::generate(argv[1], is_for_arm ? pel::codegen::Architecture::Arm : pel::codegen::kArchitecture);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernelgen: %s\n", error.what());
    return 1;
  }
}
