// Packed bytes as what was packed, piece by piece.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace pel::doctor {

class Unpacker {
 public:
  virtual ~Unpacker() = default;
  // Takes from the front of `input` and writes to the front of `output`; both shrink by what was done. Comes
  // back when one of them is empty, at the latest. Returns what is wrong, or null.
  virtual const char* step(std::span<const char>& input, std::span<char>& output) = 0;
  virtual bool may_end() const = 0;  // after a whole member
  virtual const char* name() const = 0;
};

// By the first bytes of a file; null: it is not packed. Several members of gzip, or frames of zstd, are one
// text.
inline constexpr std::size_t kMagicBytes = 4;
std::unique_ptr<Unpacker> unpacker_of(std::string_view first_bytes);

}  // namespace pel::doctor
