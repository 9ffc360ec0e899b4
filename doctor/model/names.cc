#include "doctor/model/names.h"

#include <algorithm>
#include <cstring>

namespace pel::doctor {
namespace {

constexpr NameId kFree = ~NameId{0};
constexpr std::size_t kFirstArenaBytes = std::size_t{4} << 10, kMaxArenaBytes = std::size_t{256} << 10;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_of(std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15, kOther = 0xd6e8feb86659fd93;
  std::uint64_t hash = text.size() * kOdd;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = mixed(hash ^ word, kOther);
  }
  std::uint64_t word = 0;
  if (left != 0) std::memcpy(&word, at, left);
  return mixed(hash ^ word, kOdd);
}

}  // namespace

Names::Names() : slots_(1024, kFree) { add(""); }

NameId Names::add(std::string_view text) {
  const std::uint64_t hash = hash_of(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != kFree; slot = (slot + 1) & mask) {
    if (hashes_[slots_[slot]] == hash && texts_[slots_[slot]] == text) return slots_[slot];
  }
  const auto id = static_cast<NameId>(texts_.size());
  slots_[slot] = id;
  texts_.push_back(keep(text));
  hashes_.push_back(hash);
  if (2 * texts_.size() > slots_.size()) grow();
  return id;
}

void Names::grow() {
  slots_.assign(2 * slots_.size(), kFree);
  const std::size_t mask = slots_.size() - 1;
  for (NameId id = 0; id < texts_.size(); ++id) {
    std::size_t slot = hashes_[id] & mask;
    while (slots_[slot] != kFree) slot = (slot + 1) & mask;
    slots_[slot] = id;
  }
}

std::string_view Names::keep(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > left_) {
    arena_bytes_ = std::clamp(2 * arena_bytes_, kFirstArenaBytes, kMaxArenaBytes);
    left_ = std::max(arena_bytes_, text.size());
    arenas_.push_back(std::make_unique_for_overwrite<char[]>(left_));
    free_ = arenas_.back().get();
  }
  std::memcpy(free_, text.data(), text.size());
  const std::string_view kept(free_, text.size());
  free_ += text.size();
  left_ -= text.size();
  return kept;
}

}  // namespace pel::doctor
