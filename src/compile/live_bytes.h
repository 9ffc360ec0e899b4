// How much memory a graph has in use while its nodes run, in a given order, at the sizes of its hints.
#pragma once

#include <cstdint>
#include <vector>

#include "compile/graph.h"

namespace pel::compiler {

// Bytes of each storage that nodes of a graph allocate; 0 for those of inputs and constants.
class LiveBytes {
 public:
  explicit LiveBytes(const Graph& graph);

  // The nodes in this order: at each, the bytes of values that are produced by then and consumed then or
  // later, or returned. Elementwise calls and some row kernels overwrite an operand that is not used later.
  std::vector<std::int64_t> at(const std::vector<std::size_t>& order) const;
  std::int64_t peak(const std::vector<std::size_t>& order) const;

  std::int64_t bytes_of(std::uint32_t storage) const { return bytes_[storage]; }
  // Storages that a node reads, writes or views, each once.
  const std::vector<std::uint32_t>& touched_by(std::size_t node) const { return touched_[node]; }
  bool is_returned(std::uint32_t storage) const { return is_returned_[storage]; }
  std::size_t storages() const { return bytes_.size(); }

 private:
  std::vector<std::int64_t> bytes_;
  std::vector<bool> is_returned_;
  std::vector<std::vector<std::uint32_t>> touched_;
  std::vector<bool> writes_in_place_;  // of nodes
};

// The order of the nodes in the graph.
std::vector<std::size_t> given_order(const Graph& graph);

}  // namespace pel::compiler
