#include "codegen/llvm/link.h"

#include <map>
#include <optional>
#include <string_view>

#include <llvm/Object/ELF.h>
#include <llvm/Support/MemoryBuffer.h>

#include "base/check.h"

namespace pel::codegen {
namespace {

using Elf = llvm::object::ELF64LE;

template <class T>
T take(llvm::Expected<T> result) {
  if (!result)
    throw InternalError("LLVM wrote an invalid object file: " + llvm::toString(result.takeError()));
  return std::forward<T>(*result);
}

void pad(std::string& bytes, std::uint64_t alignment) {
  while (bytes.size() % alignment != 0) bytes += '\0';
}

class Linker {
 public:
  void add(const llvm::MemoryBuffer& buffer) {
    Object& object = objects_.emplace_back(take(llvm::object::ELFFile<Elf>::create(buffer.getBuffer())));
    object.sections = take(object.file.sections());
    object.places.resize(object.sections.size());
    for (std::size_t i = 0; i < object.sections.size(); ++i) {
      const Elf::Shdr& section = object.sections[i];
      if (is_loaded(section)) object.places[i] = place(object, section);
    }
  }

  CodeImage finish(const std::vector<std::string>& functions) {
    for (const Object& object : objects_) find_calls(object);
    pad(code_, CodeImage::kPage);
    image_.code_bytes = static_cast<std::uint32_t>(code_.size());
    pad(constants_, kSlotBytes);
    for (const auto& [import, stub] : stubs_) add_slot(import, stub);
    image_.bytes = code_ + constants_;
    for (const Object& object : objects_) relocate(object);
    find(functions);
    return std::move(image_);
  }

 private:
  static constexpr std::size_t kSlotBytes = 8;
  struct Place {
    bool is_code = false;
    std::uint64_t offset = 0;  // within the code or the constants of the image
  };
  struct Object {
    explicit Object(llvm::object::ELFFile<Elf> elf) : file(std::move(elf)) {}
    llvm::object::ELFFile<Elf> file;
    Elf::ShdrRange sections;
    std::vector<std::optional<Place>> places;  // of loaded sections
  };

  // Frames for exceptions are left out: kernels throw none.
  static bool is_loaded(const Elf::Shdr& section) {
    const bool is_data = section.sh_type == llvm::ELF::SHT_PROGBITS && section.sh_size > 0;
    if (!is_data || !(section.sh_flags & llvm::ELF::SHF_ALLOC)) return false;
    PEL_ASSERT(!(section.sh_flags & llvm::ELF::SHF_WRITE), "kernels have no variables");
    return true;
  }

  Place place(const Object& object, const Elf::Shdr& section) {
    const bool is_code = section.sh_flags & llvm::ELF::SHF_EXECINSTR;
    std::string& bytes = is_code ? code_ : constants_;
    pad(bytes, std::max<std::uint64_t>(section.sh_addralign, 1));
    const Place result{is_code, bytes.size()};
    const auto content = take(object.file.getSectionContents(section));
    bytes.append(reinterpret_cast<const char*>(content.data()), content.size());
    return result;
  }

  std::uint64_t offset_of(const Place& place) const {
    return place.is_code ? place.offset : image_.code_bytes + place.offset;
  }

  template <class F>
  void each_relocation(const Object& object, F f) {
    for (const Elf::Shdr& section : object.sections) {
      if (section.sh_type != llvm::ELF::SHT_RELA || !object.places[section.sh_info]) continue;
      const Elf::Shdr& symbols = object.sections[section.sh_link];
      for (const Elf::Rela& relocation : take(object.file.relas(section))) {
        const Elf::Sym* symbol = take(object.file.getRelocationSymbol(relocation, &symbols));
        PEL_ASSERT(symbol != nullptr, "relocations of kernels have symbols");
        const std::string_view name =
            take(symbol->getName(take(object.file.getStringTableForSymtab(symbols))));
        f(*object.places[section.sh_info], relocation, *symbol, name);
      }
    }
  }

  // A call beyond the image goes through a stub: jmp *slot(%rip).
  void find_calls(const Object& object) {
    each_relocation(object,
                    [&](const Place&, const Elf::Rela&, const Elf::Sym& symbol, std::string_view name) {
                      if (symbol.st_shndx != llvm::ELF::SHN_UNDEF) return;
                      const std::optional<Import> import = import_named(name);
                      PEL_CHECK(import, InternalError, "compiled kernels must not call {}", name);
                      if (stubs_.contains(*import)) return;
                      pad(code_, kSlotBytes);
                      stubs_[*import] = code_.size();
                      code_ += std::string("\xff\x25\0\0\0\0", 6);
                    });
  }
  void add_slot(Import import, std::uint64_t stub) {
    const std::uint64_t slot = image_.code_bytes + constants_.size();
    constants_.append(kSlotBytes, '\0');
    image_.slots.push_back({import, static_cast<std::uint32_t>(slot)});
    const auto distance = static_cast<std::uint32_t>(slot - (stub + 6));
    code_.replace(stub + 2, sizeof(distance), reinterpret_cast<const char*>(&distance), sizeof(distance));
  }

  void relocate(const Object& object) {
    each_relocation(object, [&](const Place& place, const Elf::Rela& relocation, const Elf::Sym& symbol,
                                std::string_view name) {
      const std::uint32_t type = relocation.getType(false);
      PEL_CHECK(type == llvm::ELF::R_X86_64_PC32 || type == llvm::ELF::R_X86_64_PLT32, InternalError,
                "compiled kernels have a relocation of type {} to {}, which the linker does not know",
                llvm::object::getELFRelocationTypeName(llvm::ELF::EM_X86_64, type).str(), name);
      std::uint64_t target = 0;
      if (symbol.st_shndx == llvm::ELF::SHN_UNDEF) {
        target = stubs_.at(*import_named(name));
      } else {
        PEL_ASSERT(symbol.st_shndx < object.places.size() && object.places[symbol.st_shndx],
                   "kernels point into loaded sections");
        target = offset_of(*object.places[symbol.st_shndx]) + symbol.st_value;
      }
      const std::uint64_t at = offset_of(place) + relocation.r_offset;
      const auto distance =
          static_cast<std::uint32_t>(target + static_cast<std::uint64_t>(relocation.r_addend) - at);
      PEL_ASSERT(at + sizeof(distance) <= image_.bytes.size(), "relocations are inside their section");
      image_.bytes.replace(at, sizeof(distance), reinterpret_cast<const char*>(&distance), sizeof(distance));
    });
  }

  void find(const std::vector<std::string>& functions) {
    std::map<std::string, std::uint32_t, std::less<>> offsets;
    for (const Object& object : objects_) {
      for (const Elf::Shdr& section : object.sections) {
        if (section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
        const llvm::StringRef names = take(object.file.getStringTableForSymtab(section));
        for (const Elf::Sym& symbol : take(object.file.symbols(&section))) {
          if (symbol.getType() != llvm::ELF::STT_FUNC || !symbol.isDefined()) continue;
          const std::uint64_t offset = offset_of(*object.places[symbol.st_shndx]) + symbol.st_value;
          offsets.emplace(take(symbol.getName(names)).str(), static_cast<std::uint32_t>(offset));
        }
      }
    }
    for (const std::string& function : functions) {
      const auto found = offsets.find(function);
      PEL_CHECK(found != offsets.end(), InternalError, "LLVM compiled no function {}", function);
      image_.functions.push_back({function, found->second});
    }
  }

  std::vector<Object> objects_;
  std::string code_, constants_;
  std::map<Import, std::uint64_t> stubs_;  // offsets in the code
  CodeImage image_;
};

}  // namespace

CodeImage link(const std::vector<std::unique_ptr<llvm::MemoryBuffer>>& objects,
               const std::vector<std::string>& functions) {
  Linker linker;
  for (const auto& object : objects) linker.add(*object);
  return linker.finish(functions);
}

}  // namespace pel::codegen
