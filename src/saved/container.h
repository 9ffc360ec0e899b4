// A file of sections. Numbers are little-endian:
//
//   8 bytes   "PELPLAN\n"
//   4         version of the format
//   4         number of sections
//   24 each   kind (4), zero (4), length in bytes (8), checksum (8)
//   8         checksum of all before
//
// Then the sections, each at a multiple of 64 bytes with zeros before it. The file ends with the last one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/array_view.h"

namespace pel::saved {

// Raised when a section changes its meaning, or what kernels and ops of a file assume about the library.
inline constexpr std::uint32_t kVersion = 1;

enum class SectionKind : std::uint32_t {
  Plan = 1,   // graphs, and where their weights are (plan_file.h)
  Code,       // kernels of one graph for one instruction set
  Weights,    // one block of memory
  Signature,  // the last one, if the file is signed (signed_content.h)
};
inline constexpr std::uint64_t kSectionAlignment = 64;

struct Section {
  SectionKind kind{};
  std::string_view bytes;
};

void write_sections(const std::string& path, ArrayView<Section> sections);

enum class CheckWeights : bool { No, Yes };
// Throws a FileError if the file is damaged. The sections are views of it.
std::vector<Section> read_sections(std::string_view file, CheckWeights check);

}  // namespace pel::saved
