// Offsets in one memory for pieces that are in use at known times: pieces that are never in use together
// share bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pel::compiler {

struct ArenaPiece {
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;  // steps that use it, both included
  // Where it lies: in the arena, or in a host.
  std::optional<std::size_t> host{};
  std::int64_t offset = 0;
};

// Memory that is there anyway, and unused before step `first`.
struct ArenaHost {
  std::int64_t bytes = 0;
  std::size_t first = 0;
};

// Sets host and offset of each piece, at multiples of 64 bytes, and returns the size of the arena. Hosts are
// filled first: they cost no memory.
std::int64_t place_pieces(std::vector<ArenaPiece>& pieces, const std::vector<ArenaHost>& hosts);

// The largest number of bytes that are in use at one step.
std::int64_t max_in_use(const std::vector<ArenaPiece>& pieces);

}  // namespace pel::compiler
