// A column that grows by blocks, without moving those that are full, so peak memory is not doubled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pel::doctor {

template <class T>
class Blocks {
 public:
  void push_back(T value) {
    if (size_ == capacity_) grow();
    blocks_.back()[size_ % kBlock] = value;
    ++size_;
  }
  const T& operator[](std::size_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  T& operator[](std::size_t i) { return blocks_[i / kBlock][i % kBlock]; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 14, kFirst = 32;

  // A whole block, or the first one doubled: a short trace has tens of columns with few elements.
  [[gnu::noinline]] void grow() {
    const std::size_t elements = blocks_.empty() ? kFirst : std::min(2 * size_, kBlock);
    auto block = std::make_unique_for_overwrite<T[]>(elements);
    if (size_ != 0 && size_ < kBlock) {
      std::copy_n(blocks_[0].get(), size_, block.get());
      blocks_.clear();
      capacity_ = 0;
    }
    blocks_.push_back(std::move(block));
    capacity_ += elements;
  }

  std::vector<std::unique_ptr<T[]>> blocks_;
  std::size_t size_ = 0, capacity_ = 0;
};

// Numbers of which nearly all fit into 32 bits, or are the least of 64, which says that there is none; others
// lie apart.
class NumberBlocks {
 public:
  void push_back(std::int64_t value) {
    const bool fits = value > kNone && value < kApart;
    if (!fits && value != kMinNumber) apart_.emplace(low_.size(), value);
    low_.push_back(fits ? static_cast<std::int32_t>(value) : value == kMinNumber ? kNone : kApart);
  }
  std::int64_t operator[](std::size_t i) const {
    const std::int32_t value = low_[i];
    if (value == kNone) return kMinNumber;
    return value != kApart ? value : apart(i);
  }
  std::size_t size() const { return low_.size(); }

 private:
  // A function of its own: with the look-up inside, compilers do not inline the operator.
  [[gnu::noinline]] std::int64_t apart(std::size_t i) const { return apart_.at(i); }

  static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::min(),
                                kApart = std::numeric_limits<std::int32_t>::max();
  static constexpr std::int64_t kMinNumber = std::numeric_limits<std::int64_t>::min();
  Blocks<std::int32_t> low_;
  std::unordered_map<std::size_t, std::int64_t> apart_;
};

}  // namespace pel::doctor
