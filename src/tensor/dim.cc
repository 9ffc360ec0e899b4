#include "pellucid/dim.h"

#include <ostream>

#include "base/check.h"
#include "tensor/dim_context.h"

namespace pel {
namespace {

constinit thread_local DimContext* current = nullptr;

}  // namespace

DimContext& dim_context() {
  PEL_CHECK(current != nullptr, CaptureError,
            "a symbolic size is used outside of the capture that created it; use sizes only inside the "
            "compiled function");
  return *current;
}

bool asks_for_views() { return current != nullptr && current->asks_for_views; }

std::int64_t generic_value(Dim dim) { return dim.is_symbolic() ? dim_context().generic(dim) : dim.value(); }

DimContextScope::DimContextScope(DimContext& context) : outer_(current) { current = &context; }
DimContextScope::~DimContextScope() { current = outer_; }

namespace detail {

void number_out_of_range(const char* range) {
  throw ValueError(fmt::format("a number is out of range: it must lie in {}", range));
}

Dim dim_combine(DimOp op, Dim a, Dim b) {
  if (a.is_symbolic() || b.is_symbolic()) return dim_context().combine(op, a, b);
  const std::int64_t x = a.value(), y = b.value();
  std::int64_t result = 0;
  bool overflow = false;
  char sign = '?';
  switch (op) {
    case DimOp::Add:
      sign = '+', overflow = __builtin_add_overflow(x, y, &result);
      break;
    case DimOp::Sub:
      sign = '-', overflow = __builtin_sub_overflow(x, y, &result);
      break;
    case DimOp::Mul:
      sign = '*', overflow = __builtin_mul_overflow(x, y, &result);
      break;
    case DimOp::FloorDiv:
    case DimOp::Mod: {
      PEL_CHECK(y != 0, ValueError, "{} is divided by a size of zero", x);
      // Plain values are at least -2^62, so x / -1 cannot overflow.
      const std::int64_t rest = x % y;
      const bool below = rest != 0 && (rest < 0) != (y < 0);
      return op == DimOp::FloorDiv ? x / y - (below ? 1 : 0) : rest + (below ? y : 0);
    }
  }
  PEL_CHECK(!overflow && result >= Dim::kMinPlain, ValueError, "sizes are too large: {} {} {} overflows", x,
            sign, y);
  return result;
}

bool dim_compare(DimRelation relation, Dim a, Dim b, Site site) {
  if (Dim::identical(a, b)) return relation == DimRelation::Eq || relation == DimRelation::Le;
  return dim_context().compare(relation, a, b, site);
}

std::int64_t dim_value(Dim a, Site site) { return dim_context().value(a, site); }

}  // namespace detail

std::string to_string(Dim dim) {
  if (!dim.is_symbolic()) return std::to_string(dim.value());
  return current ? current->text(dim) : fmt::format("s?{}", dim.symbol());
}

std::string to_string(Dims dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + to_string(dims[i]);
  return text + "]";
}

std::ostream& operator<<(std::ostream& out, Dim dim) { return out << to_string(dim); }

}  // namespace pel
