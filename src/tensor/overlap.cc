#include "tensor/overlap.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <unordered_set>

#include "pellucid/dtype.h"

#include "base/small_vector.h"

namespace pel {
namespace {

std::int64_t element_bytes(const Operand& a) { return size_bytes(static_cast<DType>(a.dtype)); }

bool is_empty(const Operand& a) {
  return std::any_of(a.sizes, a.sizes + a.rank, [](std::int64_t n) { return n == 0; });
}

struct ByteRange {
  std::int64_t begin, end;
};
ByteRange byte_range(const Operand& a) {
  std::int64_t last = 0;
  for (int i = 0; i < a.rank; ++i) last += (a.sizes[i] - 1) * a.strides[i];
  const auto begin = reinterpret_cast<std::int64_t>(a.data);
  return {begin, begin + (last + 1) * element_bytes(a)};
}

// One unknown of the equation: factor * x, x in [0, max].
struct Term {
  std::int64_t factor, max;
};

// Whether sum(factor * x) can equal `target`. Depth first over the terms, largest factor first, cutting
// branches that the rest cannot reach by size or by divisibility. Says yes when `work` runs out.
class Equation {
 public:
  explicit Equation(SmallVector<Term, 16>& terms) : terms_(terms) {
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.factor > b.factor; });
    reach_ = SmallVector<std::int64_t, 16>(terms.size() + 1);
    divisor_ = reach_;
    for (std::size_t i = terms.size(); i-- > 0;) {
      reach_[i] = reach_[i + 1] + terms[i].factor * terms[i].max;
      divisor_[i] = std::gcd(divisor_[i + 1], terms[i].factor);
    }
  }

  bool solvable(std::int64_t target, std::size_t i = 0) {
    if (target < 0 || target > reach_[i]) return false;
    if (target == 0) return true;
    if (i == terms_.size() || target % divisor_[i] != 0) return false;
    const Term& term = terms_[i];
    const std::int64_t max = std::min(term.max, target / term.factor);
    // Below this the rest cannot make up what is missing.
    const std::int64_t missing = target - reach_[i + 1];
    const std::int64_t min = missing <= 0 ? 0 : (missing + term.factor - 1) / term.factor;
    for (std::int64_t x = max; x >= min; --x) {
      if (--work_ < 0 || solvable(target - x * term.factor, i + 1)) return true;
    }
    return false;
  }

 private:
  SmallVector<Term, 16>& terms_;
  SmallVector<std::int64_t, 16> reach_, divisor_;
  std::int64_t work_ = 100'000;
};

// Some byte of a is some byte of b: begin_a + sum(stride_a * i) + p = begin_b + sum(stride_b * j) + q.
// Counting j and q from their ends makes every factor positive.
bool share_a_byte(const Operand& a, const Operand& b) {
  SmallVector<Term, 16> terms;
  std::int64_t target = reinterpret_cast<std::int64_t>(b.data) - reinterpret_cast<std::int64_t>(a.data);
  for (int i = 0; i < a.rank; ++i) {
    if (a.sizes[i] > 1 && a.strides[i] != 0)
      terms.push_back({a.strides[i] * element_bytes(a), a.sizes[i] - 1});
  }
  for (int i = 0; i < b.rank; ++i) {
    if (b.sizes[i] > 1 && b.strides[i] != 0) {
      terms.push_back({b.strides[i] * element_bytes(b), b.sizes[i] - 1});
      target += b.strides[i] * element_bytes(b) * (b.sizes[i] - 1);
    }
  }
  terms.push_back({1, element_bytes(a) + element_bytes(b) - 2});
  target += element_bytes(b) - 1;
  return Equation(terms).solvable(target);
}

}  // namespace

Overlap overlap(const Operand& a, const Operand& b) {
  if (is_empty(a) || is_empty(b)) return Overlap::None;
  const ByteRange x = byte_range(a), y = byte_range(b);
  if (x.end <= y.begin || y.end <= x.begin) return Overlap::None;
  bool same = a.data == b.data && a.dtype == b.dtype && a.rank == b.rank;
  for (int i = 0; same && i < a.rank; ++i) {
    same = a.sizes[i] == b.sizes[i] && (a.strides[i] == b.strides[i] || a.sizes[i] == 1);
  }
  if (same) return Overlap::Same;
  return share_a_byte(a, b) ? Overlap::Partial : Overlap::None;
}

bool overlaps_itself(const Operand& a) {
  constexpr std::int64_t kMaxCounted = 65536;
  if (is_empty(a)) return false;
  SmallVector<Term, 16> axes;  // factor: stride, max: size - 1
  std::int64_t count = 1;
  for (int i = 0; i < a.rank; ++i) {
    if (a.sizes[i] == 1) continue;
    if (a.strides[i] == 0) return true;
    axes.push_back({a.strides[i], a.sizes[i] - 1});
    if (count <= kMaxCounted) count *= std::min(a.sizes[i], kMaxCounted + 1);
  }
  std::sort(axes.begin(), axes.end(), [](const Term& x, const Term& y) { return x.factor < y.factor; });
  std::int64_t reach = 0;  // of the axes inside
  bool nested = true;
  for (const Term& axis : axes) {
    nested = nested && axis.factor > reach;
    reach += axis.factor * axis.max;
  }
  if (nested) return false;
  // Rare: strides that interlock. Small ones are counted out, large ones taken for overlapping.
  if (count > reach + 1 || count > kMaxCounted) return true;
  std::unordered_set<std::int64_t> seen;
  SmallVector<std::int64_t, 16> index(axes.size());
  while (true) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) offset += index[i] * axes[i].factor;
    if (!seen.insert(offset).second) return true;
    std::size_t i = 0;
    while (i < axes.size() && index[i] == axes[i].max) index[i++] = 0;
    if (i == axes.size()) return false;
    ++index[i];
  }
}

}  // namespace pel
