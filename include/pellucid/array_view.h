// A borrowed array, which may be written as a braced list in a call: f({2, 3}).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace pel {

// Not owning: valid as long as the array is. A braced list as a function argument lives for the whole call.
template <class T>
class ArrayView {
 public:
  constexpr ArrayView() = default;
  constexpr ArrayView(const T* data, std::size_t size) : data_(data), size_(size) {}
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"  // as an argument the list outlives the call
#endif
  constexpr ArrayView(std::initializer_list<T> list) : data_(list.begin()), size_(list.size()) {}
#pragma GCC diagnostic pop
  constexpr ArrayView(std::span<const T> span) : data_(span.data()), size_(span.size()) {}
  template <std::size_t N>
  constexpr ArrayView(const std::array<T, N>& array) : data_(array.data()), size_(N) {}
  ArrayView(const std::vector<T>& vector) : data_(vector.data()), size_(vector.size()) {}

  constexpr const T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T& operator[](std::size_t i) const { return data_[i]; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

// Plain integers: a stride, a padding or a kernel size for each spatial axis, shifts, counts.
using Ints = ArrayView<std::int64_t>;

// Axes of a tensor; negative ones count from the end.
struct Axes : Ints {
  using Ints::ArrayView;
};

}  // namespace pel
