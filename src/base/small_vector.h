// A vector whose first N elements need no allocation. For trivially copyable elements only: sizes, strides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <type_traits>

#include "pellucid/array_view.h"

namespace pel {

template <class T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  SmallVector() {}
  explicit SmallVector(std::size_t size) {
    reserve(size);
    size_ = size;
    std::fill_n(data_, size, T{});
  }
  SmallVector(ArrayView<T> view) {
    reserve(view.size());
    size_ = view.size();
    std::copy(view.begin(), view.end(), data_);
  }
  SmallVector(std::initializer_list<T> list) : SmallVector(ArrayView<T>(list.begin(), list.size())) {}
  SmallVector(const SmallVector& other) : SmallVector(ArrayView<T>(other.data_, other.size_)) {}
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      size_ = 0;
      reserve(other.size_);
      size_ = other.size_;
      std::copy(other.begin(), other.end(), data_);
    }
    return *this;
  }

  void push_back(T value) {
    if (size_ == capacity_) reserve(2 * capacity_);
    data_[size_++] = value;
  }
  void insert(std::size_t at, T value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(std::size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  operator ArrayView<T>() const { return {data_, size_}; }

 private:
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    std::unique_ptr<T[]> grown(new T[capacity]);
    std::copy(data_, data_ + size_, grown.get());
    heap_ = std::move(grown);
    data_ = heap_.get();
    capacity_ = capacity;
  }

  union {
    T inline_[N];  // left uninitialised: most are written once, right away
  };
  std::unique_ptr<T[]> heap_;
  T* data_ = inline_;
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
};

}  // namespace pel
