#include "backends/cpu/jit/saved_loops.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cpu/isa.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/checksum.h"

namespace pel::cpu {
namespace {

// Changes with what kernels assume about their drivers: signatures, the order of operands, padding.
constexpr std::uint32_t kInterface = 1;

// Equal for the same computations in the same order.
std::uint64_t checksum_of(const LoopList& list) {
  std::string contents;
  for (const codegen::LoopKernel& kernel : list.kernels()) contents.append(content(kernel)).append(1, '\n');
  return checksum(contents);
}

// The best of those that this processor runs.
const SavedLoops& best_of(ArrayView<SavedLoops> saved) {
  const std::optional<codegen::Isa> active = active_isa();
  const SavedLoops* best = nullptr;
  codegen::Isa best_isa{};
  std::vector<std::string_view> names;
  for (const SavedLoops& each : saved) {
    names.push_back(each.isa);
    const std::optional<codegen::Isa> isa = codegen::isa_named(each.isa);
    if (!isa || !active || *isa > *active || (best != nullptr && *isa < best_isa)) continue;
    best = &each;
    best_isa = *isa;
  }
  PEL_CHECK(best != nullptr, FileError,
            "its kernels are compiled for {}, and this processor has {}; save it for that too, with "
            "SaveOptions::instruction_sets",
            fmt::join(names, " and "), active ? codegen::name(*active) : "neither AVX2 nor AVX-512");
  return *best;
}

CompiledLoops load_loops(const std::vector<LoopSource>& sources, ArrayView<SavedLoops> saved) {
  const SavedLoops& best = best_of(saved);
  LoopList list(sources, *codegen::isa_named(best.isa));
  ByteReader reader(best.bytes);
  const std::uint32_t interface = reader.number();
  const std::uint64_t content = reader.wide();
  PEL_CHECK(interface == kInterface && content == checksum_of(list), FileError,
            "its kernels for {} are not those that this version of Pellucid would call; save it again with "
            "this version",
            best.isa);
  const std::optional<codegen::CodeImage> image = codegen::image_from(reader.text());
  PEL_CHECK(image && reader.is_at_end() && image->functions.size() == list.kernels().size(), FileError,
            "its kernels for {} are not valid", best.isa);
  return std::move(list).finish(codegen::load(*image));
}

}  // namespace

std::string saved_bytes(const LoopList& list, const codegen::CodeImage& image) {
  ByteWriter writer;
  writer.number(kInterface);
  writer.wide(checksum_of(list));
  writer.text(to_bytes(image));
  return std::move(writer).bytes();
}

void register_saved_loops() {
  static const LoopFiles files{loop_saver(), load_loops};
  set_loop_files(DeviceType::Cpu, &files);
}

}  // namespace pel::cpu
