// The state of a thread while it runs tiles.
#pragma once

#include <optional>

#include "backends/cpu/elementwise/float_mode.h"
#include "backends/cpu/gemm/amx.h"
#include "backends/cpu/gemm/tile_set.h"

namespace pel::cpu {

// The mode for tiles, in addition to the library's default: pairs flush denormals, as AMX does.
class TileMode {
 public:
  explicit TileMode(const TileFamily& family) : flushes_(family.order == codegen::TileOrder::Pairs) {
    if (family.is_amx()) registers_.emplace();
  }
  template <class F>
  void multiply(F&& f) const {
    std::optional<FlushingFloatMode> flushing;
    if (flushes_) flushing.emplace();
    f();
  }

 private:
  DefaultFloatMode default_;
  bool flushes_;
  std::optional<AmxRegisters> registers_;
};

}  // namespace pel::cpu
