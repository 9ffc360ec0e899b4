// Copies strided elements to dense rows and back, by element width.
#pragma once

#include <cstdint>

namespace pel::cpu {

// A block of `rows` × `columns` elements; steps are in bytes.
struct Tile {
  char* data;
  std::int64_t row_step, column_step;
};

void copy_tile(const Tile& to, const Tile& from, std::int64_t rows, std::int64_t columns, std::int64_t width);

}  // namespace pel::cpu
