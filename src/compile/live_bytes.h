// How much memory a graph has in use while its nodes run, in a given order, at the sizes of its hints.
#pragma once

#include <cstdint>
#include <vector>

#include "compile/graph.h"

namespace pel::compiler {

// Bytes of each storage of a graph that its nodes make; 0 for those of inputs and constants.
class LiveBytes {
 public:
  explicit LiveBytes(const Graph& graph);

  // The nodes in this order: at each, the bytes of values that are made by then and read then or later, or
  // given back. A loop writes over what it reads last.
  std::vector<std::int64_t> at(const std::vector<std::size_t>& order) const;
  std::int64_t peak(const std::vector<std::size_t>& order) const;

  std::int64_t bytes_of(std::uint32_t storage) const { return bytes_[storage]; }
  // Storages that a node reads, writes or shows, each once.
  const std::vector<std::uint32_t>& touched_by(std::size_t node) const { return touched_[node]; }
  bool is_given_back(std::uint32_t storage) const { return is_given_back_[storage]; }
  std::size_t storages() const { return bytes_.size(); }

 private:
  std::vector<std::int64_t> bytes_;
  std::vector<bool> is_given_back_;
  std::vector<std::vector<std::uint32_t>> touched_;
  std::vector<bool> is_loop_;  // of nodes
};

// The order in which the nodes stand.
std::vector<std::size_t> given_order(const Graph& graph);

}  // namespace pel::compiler
