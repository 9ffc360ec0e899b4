// Compiled kernels as bytes: machine code that runs at any address, its constants, and which functions of
// the C library it calls. What compiles in process, what the cache keeps and what is loaded are the same
// bytes. Nothing here needs LLVM.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/loop_ir.h"

namespace pel::codegen {

// Functions that generated code may call: LLVM lowers copies and remainders to them.
enum class Import : std::uint8_t { Memcpy, Memmove, Memset, Fmod, Fmodf };
std::optional<Import> import_named(std::string_view name);

struct CodeImage {
  static constexpr std::uint32_t kPage = 4096;
  // Code, padded to pages; then constants and the addresses of imports.
  std::string bytes;
  std::uint32_t code_bytes = 0;
  struct Function {
    std::string name;
    std::uint32_t offset = 0;
  };
  std::vector<Function> functions;  // in the order in which they were requested
  struct Slot {
    Import import{};
    std::uint32_t offset = 0;  // of eight bytes; the loader stores the address there
  };
  std::vector<Slot> slots;
};

std::string to_bytes(const CodeImage& image);
// Returns nothing if these bytes are not an image, or if an offset is outside it.
std::optional<CodeImage> image_from(std::string_view bytes);

// Functions in the order of the requested kernels. Their code lives as long as this object.
class CompiledKernels {
 public:
  CompiledKernels(std::vector<PelLoopFn*> functions, std::shared_ptr<void> code)
      : functions_(std::move(functions)), code_(std::move(code)) {}
  PelLoopFn* operator[](std::size_t i) const { return functions_[i]; }
  std::size_t size() const { return functions_.size(); }

 private:
  std::vector<PelLoopFn*> functions_;
  std::shared_ptr<void> code_;
};

// Pages are written first and made executable afterwards, never both. Throws if there is no memory.
CompiledKernels load(const CodeImage& image);

}  // namespace pel::codegen
