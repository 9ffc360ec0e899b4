// Matrices that are packed without a request: for compiled functions, and for all GEMMs if the cache of
// pellucid/packing.h is on. They share one bound. A form goes when its matrix is freed or was written to,
// when no owner is left, or when it gives way to a matrix that was used twice since the form was used last.
#pragma once

#include <memory>

#include "pellucid/array_view.h"

#include "packing/packing.h"

namespace pel {

// A matrix [k, n] that GEMMs read as their right operand. The caller holds its memory.
struct WantedMatrix {
  MatrixView view;
  DType dtype{};
  DeviceType device{};
  detail::StorageHeader* storage = nullptr;
  std::uint64_t previous_use = 0;  // a moment; forms that were used since then do not give way to this matrix
};

void start_packing_cache();  // reads PELLUCID_PACK_CACHE

// Counts calls of compiled functions and offers to the cache: the age of forms.
std::uint64_t next_moment();

struct Packing {
  std::shared_ptr<const PackedForm> form;
  const char* refusal = nullptr;  // a string literal, if there is no form
};

// Returns why a form of this matrix would be unsafe or would not pay off; null if neither.
const char* why_not_packed(const WantedMatrix& matrix);
// Packs a matrix for an owner, or shares the form that another owner has. why_not_packed has no objection.
Packing keep_packed(const void* owner, const WantedMatrix& matrix);
// What keep_packed would add to the memory in use for these matrices, one after the other.
std::int64_t forecast_packing(ArrayView<WantedMatrix> matrices);
// Ends an owner's use of one form, or of all.
void release_packed(const void* owner, const PackedForm& form);
void release_packed(const void* owner);

// The bound for compiled functions while the user has set none, or a sixteenth of RAM if that is less.
inline constexpr std::int64_t kCompiledPackingBytes = std::int64_t{256} << 20;

// Tests pack small matrices, and those whose form takes more memory than they do.
enum class PackingPolicy : std::uint8_t { WhereItPays, Always };
extern constinit std::atomic<PackingPolicy> packing_policy;
void reset_packing_cache();  // as if the user had set no bound

}  // namespace pel
