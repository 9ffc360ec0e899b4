#include "backends/cpu/gemm/packed_gemm.h"

#include <optional>
#include <utility>

#include "tensor/make.h"

namespace pel::cpu {
namespace {

// Forms of the right operands, which outlive the call.
struct PackedForms {
  explicit PackedForms(const TileGemm& gemm) : first(packed_form(gemm)) {
    if (gemm.sums == 1) return;
    TileGemm other = gemm;
    other.b = gemm.second;
    second = packed_form(other);
  }
  bool are_of_all(const TileGemm& gemm) const { return first && (gemm.sums == 1 || second); }

  std::shared_ptr<const PackedForm> first, second;
};
const char* panels_of(const std::shared_ptr<const PackedForm>& form) {
  return form ? static_cast<const char*>(form->panels.raw_data()) : nullptr;
}

// Whether one sum is written to memory for the other: few rows read panels of one matrix only.
bool is_in_turns(const TileGemm& gemm, const PackedForms& forms) {
  return gemm.sums == 2 && gemm.m <= kFewRows && !forms.are_of_all(gemm);
}
std::int64_t bytes_of_sums(const TileGemm& gemm) {
  return gemm.batch * gemm.m * gemm.n * size_bytes(tiles_for(gemm.dtype).type);
}

// The second sum first; then the other one, whose epilogue reads it.
void run_in_turns(TileGemm gemm, const PackedForms& forms) {
  const DType type = tiles_for(gemm.dtype).type;
  std::optional<Tensor> allocated;
  char* sums = std::exchange(gemm.scratch, nullptr);
  if (sums == nullptr) {
    allocated = make_dense({bytes_of_sums(gemm)}, kU8, kCpu);
    sums = static_cast<char*>(allocated->raw_data());
  }
  TileGemm second = gemm;
  second.b = gemm.second;
  second.out = Matrix{sums, gemm.m * gemm.n, gemm.n, 1};
  second.out_type = type;
  second.epilogue = {};
  second.packed.data = panels_of(forms.second);
  second.sums = gemm.sums = 1;
  run_tiles(second);
  SmallVector<TileEpilogue::Operand, 4> inputs{{second.out, type}};
  for (const TileEpilogue::Operand& input : gemm.epilogue.inputs) inputs.push_back(input);
  gemm.epilogue.inputs = inputs;
  gemm.packed.data = panels_of(forms.first);
  run_tiles(gemm);
}

}  // namespace

std::shared_ptr<const PackedForm> packed_form(const TileGemm& gemm) {
  if (gemm.batch > 1 && gemm.b.batch != 0) return nullptr;
  return find_packed({gemm.b.data, gemm.k, gemm.n, gemm.b.row, gemm.b.column}, gemm.dtype);
}

void run_packed_or_not(TileGemm gemm) {
  const PackedForms forms(gemm);
  if (is_in_turns(gemm, forms)) return run_in_turns(std::move(gemm), forms);
  if (forms.are_of_all(gemm)) gemm.packed = {panels_of(forms.first), panels_of(forms.second)};
  run_tiles(gemm);
}

std::uint64_t kernel_scratch(const TileGemm& gemm) {
  const PackedForms forms(gemm);
  if (is_in_turns(gemm, forms)) return static_cast<std::uint64_t>(bytes_of_sums(gemm));
  if (forms.are_of_all(gemm)) return 0;
  return static_cast<std::uint64_t>(scratch_bytes(gemm, tiles_for(gemm.dtype)));
}

}  // namespace pel::cpu
