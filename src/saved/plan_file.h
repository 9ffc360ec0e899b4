// The content of a file besides code and weights: graphs, where their constants are, which sections have
// their kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compile/compiled_function.h"

namespace pel::saved {

// Memory that constants lie in: a section of the file, or a tensor of a safetensors file. Constants that
// share memory share it again.
struct SavedMemory {
  std::int64_t bytes = 0;
  bool is_written = false;  // by a graph: each load has a copy
  std::optional<std::uint32_t> section;
  std::string file{}, tensor{};  // without a section: the name of the file, and of the tensor in it
  std::int64_t checksum = 0;     // of that tensor
};

struct SavedConstant {
  std::uint32_t memory = 0;
  DType dtype{};
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;  // of the first element, in elements
};

struct SavedCode {
  std::string isa;
  std::uint32_t section = 0;
};

struct SavedGraph {
  compiler::Graph graph;  // its constants are these:
  std::vector<SavedConstant> constants;
  std::vector<SavedCode> code;  // of its fused nodes; empty if it has none
  compiler::Guards guards;
  std::int64_t modes = 0;
  compiler::Explanation why;
};

struct PlanFile {
  std::vector<SavedMemory> memories;
  std::vector<SavedGraph> graphs;
};

std::string to_bytes(const PlanFile& plan);
// Throws a FileError that says what is wrong. The graphs have no constants yet, and are not verified.
PlanFile plan_from(std::string_view bytes);

}  // namespace pel::saved
