// The size of an axis: a plain integer in eager code, an expression while a graph is captured.
#pragma once

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>

#include "pellucid/api.h"
#include "pellucid/array_view.h"

namespace pel {

class Dim;
struct DimArg;

namespace detail {
enum class DimOp : std::uint8_t { Add, Sub, Mul, FloorDiv, Mod };
enum class DimRelation : std::uint8_t { Eq, Ne, Lt, Le };
// Slow paths, taken when an operand is symbolic or the result leaves the range.
PEL_API Dim dim_combine(DimOp op, Dim a, Dim b);
PEL_API bool dim_compare(DimRelation relation, Dim a, Dim b, Site site);
PEL_API std::int64_t dim_value(Dim a, Site site);
[[noreturn]] PEL_API void number_out_of_range(const char* range);
}  // namespace detail

// 8 bytes, trivially copyable. Plain values lie in [-2^62, 2^63); the bit patterns below are expressions,
// so telling the two apart is one comparison and a plain Dim in memory is an int64.
// Converting a symbolic Dim to an integer, or comparing it, records a guard of the capture.
class Dim {
 public:
  constexpr Dim() = default;
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  constexpr Dim(T value) : bits_(static_cast<std::int64_t>(value)) {
    if (!std::in_range<std::int64_t>(value) || bits_ < kMinPlain) {
      detail::number_out_of_range("[-2^62, 2^63)");
    }
  }

  constexpr bool is_symbolic() const { return bits_ < kMinPlain; }
  // The plain integer. While capturing, this pins the size: it records a guard.
  std::int64_t value(Site site = Site::current()) const {
    return is_symbolic() ? detail::dim_value(*this, site) : bits_;
  }

  // For the capture: the number of an expression, and the Dim of an expression.
  constexpr std::uint32_t symbol() const { return static_cast<std::uint32_t>(bits_); }
  static constexpr Dim from_symbol(std::uint32_t symbol) {
    Dim d;
    d.bits_ = INT64_MIN + static_cast<std::int64_t>(symbol);
    return d;
  }
  // Same integer or same expression; records nothing.
  static constexpr bool identical(Dim a, Dim b) { return a.bits_ == b.bits_; }

  friend Dim operator+(Dim a, Dim b) {
    std::int64_t r;
    if (plain(a, b) && !__builtin_add_overflow(a.bits_, b.bits_, &r) && r >= kMinPlain) return raw(r);
    return detail::dim_combine(detail::DimOp::Add, a, b);
  }
  friend Dim operator-(Dim a, Dim b) {
    std::int64_t r;
    if (plain(a, b) && !__builtin_sub_overflow(a.bits_, b.bits_, &r) && r >= kMinPlain) return raw(r);
    return detail::dim_combine(detail::DimOp::Sub, a, b);
  }
  friend Dim operator*(Dim a, Dim b) {
    std::int64_t r;
    if (plain(a, b) && !__builtin_mul_overflow(a.bits_, b.bits_, &r) && r >= kMinPlain) return raw(r);
    return detail::dim_combine(detail::DimOp::Mul, a, b);
  }
  // Rounds towards minus infinity, like Python's //; the remainder has the divisor's sign.
  friend Dim operator/(Dim a, Dim b) { return detail::dim_combine(detail::DimOp::FloorDiv, a, b); }
  friend Dim operator%(Dim a, Dim b) { return detail::dim_combine(detail::DimOp::Mod, a, b); }
  Dim& operator+=(Dim b) { return *this = *this + b; }
  Dim& operator-=(Dim b) { return *this = *this - b; }
  Dim& operator*=(Dim b) { return *this = *this * b; }
  Dim& operator++() { return *this += Dim(1); }
  Dim operator-() const { return Dim(0) - *this; }

  friend bool operator==(DimArg a, DimArg b);
  friend bool operator<(DimArg a, DimArg b);
  friend bool operator<=(DimArg a, DimArg b);
  friend bool operator>(DimArg a, DimArg b);
  friend bool operator>=(DimArg a, DimArg b);

  static constexpr std::int64_t kMinPlain = -(std::int64_t{1} << 62);

 private:
  static constexpr bool plain(Dim a, Dim b) { return !a.is_symbolic() && !b.is_symbolic(); }
  static constexpr Dim raw(std::int64_t bits) {
    Dim d;
    d.bits_ = bits;
    return d;
  }
  std::int64_t bits_ = 0;
};
static_assert(sizeof(Dim) == 8);

// A Dim on one side of a comparison, with the source location of the comparison.
struct DimArg {
  DimArg(Dim dim, Site at = Site::current()) : value(dim), site(at) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  DimArg(T number, Site at = Site::current()) : value(number), site(at) {}
  Dim value;
  Site site;
};

inline bool operator==(DimArg a, DimArg b) {
  if (Dim::plain(a.value, b.value)) return a.value.bits_ == b.value.bits_;
  return detail::dim_compare(detail::DimRelation::Eq, a.value, b.value, a.site);
}
inline bool operator<(DimArg a, DimArg b) {
  if (Dim::plain(a.value, b.value)) return a.value.bits_ < b.value.bits_;
  return detail::dim_compare(detail::DimRelation::Lt, a.value, b.value, a.site);
}
inline bool operator<=(DimArg a, DimArg b) {
  if (Dim::plain(a.value, b.value)) return a.value.bits_ <= b.value.bits_;
  return detail::dim_compare(detail::DimRelation::Le, a.value, b.value, a.site);
}
inline bool operator>(DimArg a, DimArg b) { return b < a; }
inline bool operator>=(DimArg a, DimArg b) { return b <= a; }

using Dims = ArrayView<Dim>;

PEL_API std::string to_string(Dim dim);    // "4", or the expression: "4*s0"
PEL_API std::string to_string(Dims dims);  // "[2, 3]"
PEL_API std::ostream& operator<<(std::ostream& out, Dim dim);

}  // namespace pel
