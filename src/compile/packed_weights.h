// The right operands of a graph's matmuls that are inputs or constants. Those that are unchanged since the
// last call are packed (packing_cache.h), and stay so until they change, are freed, or the graph is.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/small_vector.h"
#include "compile/graph.h"
#include "packing/packing_cache.h"

namespace pel::compiler {

class PackedWeights {
 public:
  PackedWeights() = default;
  ~PackedWeights() { release_packed(this); }
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // A weight in one call. It has the same slot in all plans of the graph.
  struct Weight {
    std::uint32_t slot = 0;
    WantedMatrix matrix;
  };
  std::uint32_t slot_of(ValueId value);

  // Packs weights that are due. Several threads may call it.
  void before_run(ArrayView<Weight> weights);
  // The bytes that the next before_run would add to the memory in use.
  std::int64_t forecast_bytes(ArrayView<Weight> weights) const;

  struct State {
    std::int64_t bytes = 0;       // of the packed form; 0 if there is none
    std::int64_t since_call = 0;  // of the function, counted from 1
    std::string reason;           // if there is none
  };
  State state(const Weight& weight) const;

 private:
  // The matrix that the last call had, and how it fared.
  struct Slot {
    MatrixView view{};
    const detail::StorageHeader* storage = nullptr;
    std::uint32_t version = 0;
    std::uint64_t last_use = 0;     // a moment
    std::uint64_t calls = 0;        // that had it, one after the other
    std::uint64_t wanted = 2;       // it is packed by this one; a power of two
    std::uint64_t packed_at = 0;    // the one that packed it
    std::int64_t since_call = 0;    // the same, of all calls
    const char* refusal = nullptr;  // of the last attempt
    std::weak_ptr<const PackedForm> form{};

    bool has(const WantedMatrix& matrix) const;
    bool is_due() const;
    // Counts a call. Returns a form that is not that of the matrix.
    std::shared_ptr<const PackedForm> see(const WantedMatrix& matrix, std::uint64_t now);
  };

  mutable std::mutex mutex_;
  std::vector<ValueId> values_;  // by slot
  std::vector<Slot> slots_;
  std::int64_t calls_ = 0;
};

}  // namespace pel::compiler
