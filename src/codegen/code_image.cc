#include "codegen/code_image.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include <sys/mman.h>

#include "base/bytes.h"
#include "base/check.h"

namespace pel::codegen {
namespace {

constexpr std::size_t kSlotBytes = 8;

struct ImportedFunction {
  std::string_view name;
  void* address;
};
template <class F>
void* address_of(F* function) {
  return reinterpret_cast<void*>(function);
}
// In the order of Import.
const std::array<ImportedFunction, 5>& imports() {
  static const std::array<ImportedFunction, 5> functions{{
      {"memcpy", address_of<void*(void*, const void*, std::size_t)>(std::memcpy)},
      {"memmove", address_of<void*(void*, const void*, std::size_t)>(std::memmove)},
      {"memset", address_of<void*(void*, int, std::size_t)>(std::memset)},
      {"fmod", address_of<double(double, double)>(std::fmod)},
      {"fmodf", address_of<float(float, float)>(std::fmod)},
  }};
  return functions;
}

}  // namespace

std::optional<Import> import_named(std::string_view name) {
  for (std::size_t i = 0; i < imports().size(); ++i)
    if (imports()[i].name == name) return static_cast<Import>(i);
  return std::nullopt;
}

std::string to_bytes(const CodeImage& image) {
  ByteWriter writer;
  writer.number(image.code_bytes);
  writer.number(static_cast<std::uint32_t>(image.functions.size()));
  for (const CodeImage::Function& function : image.functions) {
    writer.text(function.name);
    writer.number(function.offset);
  }
  writer.number(static_cast<std::uint32_t>(image.slots.size()));
  for (const CodeImage::Slot& slot : image.slots) {
    writer.number(static_cast<std::uint32_t>(slot.import));
    writer.number(slot.offset);
  }
  writer.text(image.bytes);
  return std::move(writer).bytes();
}

std::optional<CodeImage> image_from(std::string_view bytes) {
  ByteReader reader(bytes);
  CodeImage image;
  image.code_bytes = reader.number();
  for (std::uint32_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    std::string name(reader.text());
    image.functions.push_back({std::move(name), reader.number()});
  }
  for (std::uint32_t left = reader.number(); left > 0 && reader.is_good(); --left) {
    const std::uint32_t import = reader.number();
    if (import >= imports().size()) return std::nullopt;
    image.slots.push_back({static_cast<Import>(import), reader.number()});
  }
  image.bytes = reader.text();
  if (!reader.is_good() || !reader.is_at_end()) return std::nullopt;

  const auto is_in_code = [&](const CodeImage::Function& f) { return f.offset < image.code_bytes; };
  const auto is_in_constants = [&](const CodeImage::Slot& slot) {
    return slot.offset >= image.code_bytes && slot.offset % kSlotBytes == 0 &&
           std::size_t{slot.offset} + kSlotBytes <= image.bytes.size();
  };
  const bool is_valid = image.code_bytes > 0 && image.code_bytes % CodeImage::kPage == 0 &&
                        image.code_bytes <= image.bytes.size() &&
                        std::ranges::all_of(image.functions, is_in_code) &&
                        std::ranges::all_of(image.slots, is_in_constants);
  if (!is_valid) return std::nullopt;
  return image;
}

CompiledKernels load(const CodeImage& image) {
  const std::size_t size = image.bytes.size();
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  PEL_CHECK(memory != MAP_FAILED, MemoryError, "could not map {} bytes for compiled kernels: {}", size,
            std::strerror(errno));
  std::shared_ptr<void> code(memory, [size](void* mapped) { munmap(mapped, size); });
  char* const base = static_cast<char*>(memory);
  std::memcpy(base, image.bytes.data(), size);
  for (const CodeImage::Slot& slot : image.slots) {
    void* const address = imports()[static_cast<std::size_t>(slot.import)].address;
    std::memcpy(base + slot.offset, &address, sizeof(address));
  }
  const auto protect = [&](std::size_t begin, std::size_t bytes, int rights) {
    PEL_CHECK(bytes == 0 || mprotect(base + begin, bytes, rights) == 0, MemoryError,
              "this system does not allow compiled kernels to run: {}", std::strerror(errno));
  };
  protect(0, image.code_bytes, PROT_READ | PROT_EXEC);
  protect(image.code_bytes, size - image.code_bytes, PROT_READ);

  std::vector<PelLoopFn*> functions;
  for (const CodeImage::Function& function : image.functions)
    functions.push_back(reinterpret_cast<PelLoopFn*>(base + function.offset));
  return {std::move(functions), std::move(code)};
}

}  // namespace pel::codegen
