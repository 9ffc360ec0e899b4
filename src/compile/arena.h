// Places in memory for what is in use at known times: pieces that are not in use together share places.
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

// Sets host and offset of each piece, at multiples of 64 bytes, and gives the size of the arena. Hosts are
// filled first: what lies there costs nothing.
std::int64_t place_pieces(std::vector<ArenaPiece>& pieces, const std::vector<ArenaHost>& hosts);

// The most bytes that are in use at one step.
std::int64_t most_in_use(const std::vector<ArenaPiece>& pieces);

}  // namespace pel::compiler
