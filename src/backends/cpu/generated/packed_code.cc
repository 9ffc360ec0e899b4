// Unpacks the kernels of the instruction sets that a process uses. Replaces the generated table of the
// library, which links object files.
#include "backends/cpu/generated/packed_code.h"

#include <bit>
#include <vector>

#include "backends/cpu/generated/prebuilt_code.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/compressed.h"
#include "codegen/code_image.h"

// In the order of Isa, by the names of packed_symbol().
extern "C" [[gnu::visibility("hidden")]] const char pel_packed_kernels_avx2[];
extern "C" [[gnu::visibility("hidden")]] const char pel_packed_kernels_avx512[];

namespace pel::cpu {
namespace {

// Images give functions one type; callers know which type each has.
template <class F>
F* with_type(codegen::PelLoopFn* function) {
  return reinterpret_cast<F*>(reinterpret_cast<void*>(function));
}

struct Unpacked {
  std::string names;
  std::vector<PrebuiltKernel> kernels;
  std::vector<PrebuiltTile> tiles;
  codegen::CompiledKernels code{{}, nullptr};
  PrebuiltCode result;
};

// Never destroyed: kernels run until the process ends.
const PrebuiltCode* unpack(const char* packed) {
  ByteReader sizes({packed, kPackedHeadBytes});
  const std::size_t packed_bytes = sizes.number(), unpacked_bytes = sizes.number();
  const std::optional<std::string> bytes =
      decompressed({packed + kPackedHeadBytes, packed_bytes}, unpacked_bytes);
  PEL_ASSERT(bytes, "the library has whole kernels");
  ByteReader reader(*bytes);
  auto* const all = new Unpacked;
  all->names.reserve(reader.number());  // so that names stay where they are
  const auto next_name = [&] {
    const std::size_t begin = all->names.size();
    all->names.append(reader.text());
    return all->names.data() + begin;
  };
  struct Numbers {
    std::uint32_t function, runs;
  };
  std::vector<Numbers> numbers;
  for (std::uint32_t left = reader.number(); left > 0; --left) {
    PrebuiltKernel& kernel = all->kernels.emplace_back();
    kernel.name = next_name();
    kernel.cost = std::bit_cast<float>(reader.number());
    kernel.reads = reader.wide();
    const std::uint32_t function = reader.number();
    numbers.push_back({function, reader.number()});
  }
  for (std::uint32_t left = reader.number(); left > 0; --left) {
    PrebuiltTile& tile = all->tiles.emplace_back();
    tile.name = next_name();
    numbers.push_back({reader.number(), kNoFunction});
  }
  const std::optional<codegen::CodeImage> image = codegen::image_from(reader.text());
  PEL_ASSERT(image && reader.is_good() && reader.is_at_end(), "the library has a valid image of its kernels");
  all->code = codegen::load(*image);

  const Numbers* next = numbers.data();
  for (PrebuiltKernel& kernel : all->kernels) {
    kernel.function = all->code[next->function];
    if (next->runs != kNoFunction) kernel.runs = with_type<codegen::PelRunsFn>(all->code[next->runs]);
    ++next;
  }
  for (PrebuiltTile& tile : all->tiles)
    tile.function = with_type<codegen::PelTileFn>(all->code[next++->function]);
  all->result = {all->kernels, all->tiles};
  return &all->result;
}

}  // namespace

const PrebuiltCode& prebuilt_code(codegen::Isa isa) {
  if (isa == codegen::Isa::Avx2) {
    static const PrebuiltCode* const code = unpack(pel_packed_kernels_avx2);
    return *code;
  }
  static const PrebuiltCode* const code = unpack(pel_packed_kernels_avx512);
  return *code;
}

}  // namespace pel::cpu
