// Passes rows of two outputs and one input as dense arrays. Strided rows are packed, a few adjacent ones at a
// time, because they share cache lines.
#pragma once

#include <vector>

#include "backends/cpu/elementwise/tile.h"
#include "backends/cpu/sorting/axis_rows.h"
#include "base/thread_pool.h"

namespace pel::cpu {

// Calls process(dst0, dst1, src) for each row, where process = make_process() once per thread task. `unit`:
// elements that are worth a task (Grain::of).
template <class MakeProcess>
void for_dense_rows(const AxisRows& rows, std::int64_t unit, MakeProcess&& make_process) {
  constexpr int kInput = 2;
  bool is_dense[3], any_packed = false;
  std::int64_t max_row_bytes = 1;
  for (int o = 0; o < 3; ++o) {
    is_dense[o] = rows.step(o) == rows.width(o) || rows.length(o) == 1;
    any_packed = any_packed || !is_dense[o];
    max_row_bytes = std::max(max_row_bytes, rows.length(o) * rows.width(o));
  }
  // One cache line of f32, and at most half of L2.
  constexpr std::int64_t kGroup = 16, kGroupBytes = 1 << 20;
  const std::int64_t group_size =
      any_packed ? std::clamp<std::int64_t>(kGroupBytes / max_row_bytes, 1, kGroup) : 1;
  parallel_for(
      rows.group_count(group_size), Grain::of(unit, rows.length(kInput) * group_size),
      [&](std::int64_t begin, std::int64_t end) {
        auto process = make_process();
        std::vector<char> packed[3];
        const auto row_bytes = [&](int o) { return rows.length(o) * rows.width(o); };
        for (int o = 0; o < 3; ++o) {
          if (!is_dense[o]) packed[o].resize(static_cast<std::size_t>(group_size * row_bytes(o)));
        }
        for (std::int64_t g = begin; g < end; ++g) {
          const AxisRows::Group group = rows.group(g, group_size);
          const auto in_memory = [&](int o) {
            return Tile{rows.row(o, group.first), rows.to_next_row(o), rows.step(o)};
          };
          const auto in_block = [&](int o) { return Tile{packed[o].data(), row_bytes(o), rows.width(o)}; };
          if (!is_dense[kInput])
            copy_tile(in_block(kInput), in_memory(kInput), group.count, rows.length(kInput),
                      rows.width(kInput));
          for (std::int64_t r = 0; r < group.count; ++r) {
            char* at[3];
            for (int o = 0; o < 3; ++o)
              at[o] = is_dense[o] ? rows.row(o, group.first + r) : packed[o].data() + r * row_bytes(o);
            process(at[0], at[1], at[2]);
          }
          for (int o = 0; o < kInput; ++o) {
            if (!is_dense[o])
              copy_tile(in_memory(o), in_block(o), group.count, rows.length(o), rows.width(o));
          }
        }
      });
}

}  // namespace pel::cpu
