// Interprets scalar expressions in plain C++, a block of elements at a time. Slow, and independent of every
// emitter.
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "ir/scalar.h"
#include "tensor/convert.h"

namespace pel::scalar {
namespace {

constexpr std::int64_t kBlock = 512;

struct Block {
  alignas(8) std::byte bytes[kBlock * 8];
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes);
  }
};

template <class T>
constexpr bool kComputes = !kIsHalf<T>;

// Integers wrap: computed unsigned, and wide enough that promotion to int does not restore the sign.
template <class T, class F>
T wrapping(T a, T b, F f) {
  return static_cast<T>(f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

class Evaluation {
 public:
  Evaluation(const ScalarExpr& expr, const void* const* inputs, const void* const* params,
             void* const* outputs)
      : expr_(expr), inputs_(inputs), params_(params), outputs_(outputs), values_(expr.nodes.size()) {}

  bool run(std::int64_t count) {
    for (std::int64_t at = 0; at < count; at += kBlock) block(at, std::min(kBlock, count - at));
    return !divided_by_zero_;
  }

 private:
  void block(std::int64_t at, std::int64_t n) {
    for (std::size_t i = 0; i < expr_.nodes.size(); ++i) {
      const ScalarNode& node = expr_.nodes[i];
      with_type(node.type,
                [&]<class T>(std::type_identity<T>) { compute<T>(node, values_[i].as<T>(), at, n); });
    }
    for (std::size_t r = 0; r < expr_.results.size(); ++r) {
      const auto id = static_cast<std::size_t>(expr_.results[r]);
      const auto size = size_bytes(expr_.nodes[id].type);
      std::memcpy(static_cast<std::byte*>(outputs_[r]) + at * size, values_[id].bytes,
                  static_cast<std::size_t>(n * size));
    }
  }

  template <class T>
  const T* arg(const ScalarNode& node, int i) {
    return values_[static_cast<std::size_t>(node.args[i])].template as<T>();
  }
  DType arg_type(const ScalarNode& node, int i) const {
    return expr_.nodes[static_cast<std::size_t>(node.args[i])].type;
  }
  template <class T, class F>
  void map1(const ScalarNode& node, T* out, std::int64_t n, F f) {
    const T* a = arg<T>(node, 0);
    for (std::int64_t k = 0; k < n; ++k) out[k] = f(a[k]);
  }
  template <class T, class F>
  void map2(const ScalarNode& node, T* out, std::int64_t n, F f) {
    const T *a = arg<T>(node, 0), *b = arg<T>(node, 1);
    for (std::int64_t k = 0; k < n; ++k) out[k] = f(a[k], b[k]);
  }
  template <class F>
  void compare(const ScalarNode& node, bool* out, std::int64_t n, F f) {
    with_type(arg_type(node, 0), [&]<class T>(std::type_identity<T>) {
      if constexpr (kComputes<T>) {
        const T *a = arg<T>(node, 0), *b = arg<T>(node, 1);
        for (std::int64_t k = 0; k < n; ++k) out[k] = f(a[k], b[k]);
      }
    });
  }

  template <class T>
  void compute(const ScalarNode& node, T* out, std::int64_t at, std::int64_t n) {
    switch (node.op) {
      case ScalarOp::Input: {
        const auto* from =
            static_cast<const std::byte*>(inputs_[node.bits]) + at * static_cast<std::int64_t>(sizeof(T));
        for (std::int64_t k = 0; k < n; ++k)
          out[k] = load_as<T>(from + k * static_cast<std::int64_t>(sizeof(T)));
        return;
      }
      case ScalarOp::Param:
        std::fill_n(out, n, load_as<T>(params_[node.bits]));
        return;
      case ScalarOp::Constant:
        std::fill_n(out, n, load_as<T>(&node.bits));
        return;
      case ScalarOp::Select: {
        const bool* condition = arg<bool>(node, 0);
        const T *yes = arg<T>(node, 1), *no = arg<T>(node, 2);
        for (std::int64_t k = 0; k < n; ++k) out[k] = condition[k] ? yes[k] : no[k];
        return;
      }
      case ScalarOp::Cast:
        with_type(arg_type(node, 0), [&]<class From>(std::type_identity<From>) {
          const From* a = arg<From>(node, 0);
          for (std::int64_t k = 0; k < n; ++k) out[k] = convert<T>(a[k]);
        });
        return;
      case ScalarOp::Lookup:
        with_type(arg_type(node, 0), [&]<class Index>(std::type_identity<Index>) {
          if constexpr (std::is_integral_v<Index>) {
            const Index* a = arg<Index>(node, 0);
            const std::vector<std::uint64_t>& table = expr_.tables[node.bits].bits;
            for (std::int64_t k = 0; k < n; ++k)
              out[k] = load_as<T>(&table[static_cast<std::size_t>(a[k]) & (table.size() - 1)]);
          }
        });
        return;
      case ScalarOp::Bitcast:
        std::memcpy(out, values_[static_cast<std::size_t>(node.args[0])].bytes,
                    static_cast<std::size_t>(n) * sizeof(T));
        return;
      default:
        break;
    }
    if constexpr (std::is_same_v<T, bool>) {
      compute_bool(node, out, n);
    } else if constexpr (std::is_integral_v<T>) {
      compute_integer(node, out, n);
    } else if constexpr (std::is_floating_point_v<T>) {
      compute_float(node, out, n);
    }
  }

  void compute_bool(const ScalarNode& node, bool* out, std::int64_t n) {
    switch (node.op) {
      case ScalarOp::Eq:
        return compare(node, out, n, [](auto a, auto b) { return a == b; });
      case ScalarOp::Ne:
        return compare(node, out, n, [](auto a, auto b) { return a != b; });
      case ScalarOp::Lt:
        return compare(node, out, n, [](auto a, auto b) { return a < b; });
      case ScalarOp::Le:
        return compare(node, out, n, [](auto a, auto b) { return a <= b; });
      case ScalarOp::And:
        return map2(node, out, n, [](bool a, bool b) { return a && b; });
      case ScalarOp::Or:
        return map2(node, out, n, [](bool a, bool b) { return a || b; });
      case ScalarOp::Xor:
        return map2(node, out, n, [](bool a, bool b) { return a != b; });
      case ScalarOp::Not:
        return map1(node, out, n, [](bool a) { return !a; });
      default:
        PEL_ASSERT(false, "verify() admits no other operation on bool");
    }
  }

  template <class T>
  T divide(T a, T b) {
    if (b == 0) {
      divided_by_zero_ = true;
      return 0;
    }
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return wrapping<T>(0, a, std::minus<>());
    }
    return static_cast<T>(a / b);
  }

  template <class T>
  void compute_integer(const ScalarNode& node, T* out, std::int64_t n) {
    using U = std::make_unsigned_t<T>;
    switch (node.op) {
      case ScalarOp::Add:
        return map2(node, out, n, [](T a, T b) { return wrapping(a, b, std::plus<>()); });
      case ScalarOp::Sub:
        return map2(node, out, n, [](T a, T b) { return wrapping(a, b, std::minus<>()); });
      case ScalarOp::Mul:
        return map2(node, out, n, [](T a, T b) { return wrapping(a, b, std::multiplies<>()); });
      case ScalarOp::Div:
        return map2(node, out, n, [this](T a, T b) { return divide(a, b); });
      case ScalarOp::Rem:
        return map2(node, out, n, [this](T a, T b) {
          const T quotient = divide(a, b);
          return wrapping(a, wrapping(quotient, b, std::multiplies<>()), std::minus<>());
        });
      case ScalarOp::Neg:
        return map1(node, out, n, [](T a) { return wrapping(T(0), a, std::minus<>()); });
      case ScalarOp::Abs:
        return map1(node, out, n, [](T a) { return a < 0 ? wrapping(T(0), a, std::minus<>()) : a; });
      case ScalarOp::Min:
        return map2(node, out, n, [](T a, T b) { return a < b ? a : b; });
      case ScalarOp::Max:
        return map2(node, out, n, [](T a, T b) { return a > b ? a : b; });
      case ScalarOp::And:
        return map2(node, out, n, [](T a, T b) { return static_cast<T>(a & b); });
      case ScalarOp::Or:
        return map2(node, out, n, [](T a, T b) { return static_cast<T>(a | b); });
      case ScalarOp::Xor:
        return map2(node, out, n, [](T a, T b) { return static_cast<T>(a ^ b); });
      case ScalarOp::Not:
        return map1(node, out, n, [](T a) { return static_cast<T>(~a); });
      // Shift amounts are masked to the width, so lanes that a select discards are harmless.
      case ScalarOp::Shl:
        return map2(node, out, n, [](T a, T b) {
          return static_cast<T>(static_cast<std::uint64_t>(static_cast<U>(a)) << (b & (sizeof(T) * 8 - 1)));
        });
      case ScalarOp::Shr:
        return map2(node, out, n, [](T a, T b) { return static_cast<T>(a >> (b & (sizeof(T) * 8 - 1))); });
      case ScalarOp::ShrLogical:
        return map2(node, out, n,
                    [](T a, T b) { return static_cast<T>(static_cast<U>(a) >> (b & (sizeof(T) * 8 - 1))); });
      default:
        PEL_ASSERT(false, "verify() admits no other operation on integers");
    }
  }

  template <class T>
  void compute_float(const ScalarNode& node, T* out, std::int64_t n) {
    switch (node.op) {
      case ScalarOp::Add:
        return map2(node, out, n, [](T a, T b) { return a + b; });
      case ScalarOp::Sub:
        return map2(node, out, n, [](T a, T b) { return a - b; });
      case ScalarOp::Mul:
        return map2(node, out, n, [](T a, T b) { return a * b; });
      case ScalarOp::Div:
        return map2(node, out, n, [](T a, T b) { return a / b; });
      case ScalarOp::Rem:
        return map2(node, out, n, [](T a, T b) { return std::fmod(a, b); });
      case ScalarOp::Neg:
        return map1(node, out, n, [](T a) { return -a; });
      case ScalarOp::Abs:
        return map1(node, out, n, [](T a) { return std::fabs(a); });
      case ScalarOp::Min:
        return map2(node, out, n, [](T a, T b) { return a < b ? a : b; });
      case ScalarOp::Max:
        return map2(node, out, n, [](T a, T b) { return a > b ? a : b; });
      case ScalarOp::Fma: {
        const T *a = arg<T>(node, 0), *b = arg<T>(node, 1), *c = arg<T>(node, 2);
        for (std::int64_t k = 0; k < n; ++k) out[k] = std::fma(a[k], b[k], c[k]);
        return;
      }
      case ScalarOp::Sqrt:
        return map1(node, out, n, [](T a) { return std::sqrt(a); });
      case ScalarOp::Floor:
        return map1(node, out, n, [](T a) { return std::floor(a); });
      case ScalarOp::Ceil:
        return map1(node, out, n, [](T a) { return std::ceil(a); });
      case ScalarOp::Trunc:
        return map1(node, out, n, [](T a) { return std::trunc(a); });
      case ScalarOp::Round:
        return map1(node, out, n, [](T a) { return std::nearbyint(a); });
      default:
        PEL_ASSERT(false, "verify() admits no other operation on floats");
    }
  }

  const ScalarExpr& expr_;
  const void* const* inputs_;
  const void* const* params_;
  void* const* outputs_;
  std::vector<Block> values_;
  bool divided_by_zero_ = false;
};

}  // namespace

bool evaluate(const ScalarExpr& expr, std::int64_t count, const void* const* inputs,
              const void* const* params, void* const* outputs) {
  return Evaluation(expr, inputs, params, outputs).run(count);
}

}  // namespace pel::scalar
