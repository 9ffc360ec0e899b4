// Interned strings.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pel::doctor {

using NameId = std::uint32_t;

inline bool contains(std::string_view text, std::string_view piece) {
  return text.find(piece) != std::string_view::npos;
}

class Names {
 public:
  Names();
  NameId add(std::string_view text);  // the number it has, or a new one; "" is 0
  std::string_view operator[](NameId id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::string_view keep(std::string_view text);
  void grow();
  std::vector<std::string_view> texts_;
  std::vector<std::uint64_t> hashes_;
  std::vector<NameId> slots_;  // by hash, open addressing
  std::vector<std::unique_ptr<char[]>> arenas_;
  std::size_t arena_bytes_ = 0;  // of the last one, unless it is for a longer text
  std::size_t left_ = 0;         // in the last arena
  char* free_ = nullptr;
};

}  // namespace pel::doctor
