// A number argument of an op. It promotes as a Python number does: by kind, not by size.
#pragma once

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>

#include "pellucid/api.h"
#include "pellucid/dim.h"
#include "pellucid/dtype.h"

namespace pel {

class Scalar {
 public:
  enum class Kind : std::uint8_t { Bool, Int, Float };

  Scalar() : Scalar(0) {}
  Scalar(bool value) : kind_(Kind::Bool), int_(value) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Scalar(T value) : kind_(Kind::Int), int_(static_cast<std::int64_t>(value)) {
    if (!std::in_range<std::int64_t>(value)) detail::number_out_of_range("[-2^63, 2^63)");
  }
  Scalar(Dim value) : kind_(Kind::Int), int_(0), symbol_(value.is_symbolic() ? value : Dim()) {
    if (!value.is_symbolic()) int_ = value.value();
  }
  template <std::floating_point T>
  Scalar(T value) : kind_(Kind::Float), double_(static_cast<double>(value)) {}

  Kind kind() const { return kind_; }
  bool is_float() const { return kind_ == Kind::Float; }
  // Set when the number is a size that a capture keeps symbolic.
  bool is_symbolic() const { return symbol_.is_symbolic(); }
  Dim dim() const { return is_symbolic() ? symbol_ : Dim(to_int()); }

  double to_double() const { return is_float() ? double_ : static_cast<double>(to_int()); }
  // Towards zero; saturates; NaN is 0.
  PEL_API std::int64_t to_int() const;
  bool to_bool() const { return is_float() ? double_ != 0 : to_int() != 0; }

  // The dtype a tensor made from this number has: bool, i64 or f32.
  DType default_dtype() const { return is_float() ? kF32 : kind_ == Kind::Int ? kI64 : kBool; }

 private:
  Kind kind_;
  union {
    std::int64_t int_;
    double double_;
  };
  Dim symbol_{};
};

PEL_API std::string to_string(const Scalar& scalar);
PEL_API std::ostream& operator<<(std::ostream& out, const Scalar& scalar);

}  // namespace pel
