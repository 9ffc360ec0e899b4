#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "support/cuda_driver/ptx_thread.h"

namespace pel::test::ptx {
namespace {

// f(T()) for the C++ type of an integer or float type.
template <class F>
void with_type(Type type, const Instruction& instruction, F&& f) {
  switch (type) {
    case Type::U8:
    case Type::B8:
    case Type::Pred:
      return f(std::uint8_t{});
    case Type::U16:
    case Type::B16:
      return f(std::uint16_t{});
    case Type::U32:
    case Type::B32:
      return f(std::uint32_t{});
    case Type::U64:
    case Type::B64:
      return f(std::uint64_t{});
    case Type::S8:
      return f(std::int8_t{});
    case Type::S16:
      return f(std::int16_t{});
    case Type::S32:
      return f(std::int32_t{});
    case Type::S64:
      return f(std::int64_t{});
    case Type::F32:
      return f(float{});
    case Type::F64:
      return f(double{});
    default:
      throw PtxError("a type is not known in: " + instruction.text);
  }
}
template <class F>
void with_integer(Type type, const Instruction& instruction, F&& f) {
  with_type(type, instruction, [&](auto zero) {
    if constexpr (std::is_integral_v<decltype(zero)>) {
      f(zero);
    } else {
      throw PtxError("an integer type was expected in: " + instruction.text);
    }
  });
}
template <class F>
void with_float(Type type, const Instruction& instruction, F&& f) {
  with_type(type, instruction, [&](auto zero) {
    if constexpr (std::is_floating_point_v<decltype(zero)>) {
      f(zero);
    } else {
      throw PtxError("f32 or f64 was expected in: " + instruction.text);
    }
  });
}

// Sums and products wrap.
template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
T shifted_right(T value, std::uint32_t by) {
  constexpr std::uint32_t kBits = 8 * sizeof(T);
  if (by >= kBits) return std::is_signed_v<T> && value < 0 ? T(-1) : T(0);
  return static_cast<T>(value >> by);
}

template <class T>
T smaller_or_larger(T a, T b, bool is_min, bool propagates_nan) {
  if constexpr (std::is_floating_point_v<T>) {
    if (propagates_nan && (std::isnan(a) || std::isnan(b))) return std::numeric_limits<T>::quiet_NaN();
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) == is_min ? a : b;  // -0 is smaller than 0
  }
  return (a < b) == is_min ? a : b;
}

template <class T>
bool is_true(Comparison comparison, T a, T b) {
  const bool unordered = std::is_floating_point_v<T> && (a != a || b != b);
  switch (comparison) {
    case Comparison::Eq:
      return a == b;
    case Comparison::Ne:
      return !unordered && a != b;
    case Comparison::Lt:
      return a < b;
    case Comparison::Le:
      return a <= b;
    case Comparison::Gt:
      return a > b;
    case Comparison::Ge:
      return a >= b;
    case Comparison::Equ:
      return unordered || a == b;
    case Comparison::Neu:
      return unordered || a != b;
    case Comparison::Ltu:
      return unordered || a < b;
    case Comparison::Leu:
      return unordered || a <= b;
    case Comparison::Gtu:
      return unordered || a > b;
    case Comparison::Geu:
      return unordered || a >= b;
    case Comparison::Num:
      return !unordered;
    case Comparison::Nan:
      return unordered;
  }
  return false;
}

template <class T>
T rounded(Rounding rounding, T value) {
  switch (rounding) {
    case Rounding::NearestInteger:
      return std::nearbyint(value);
    case Rounding::Zero:
      return std::trunc(value);
    case Rounding::Down:
      return std::floor(value);
    case Rounding::Up:
      return std::ceil(value);
    default:
      return value;
  }
}

// A float as an integer: saturates. NaN is refused, because kernels test for it first: its result depends on
// the widths.
template <class To, class From>
To to_integer(const Instruction& instruction, From value) {
  if (std::isnan(value)) throw PtxError("NaN is converted to an integer by: " + instruction.text);
  const From whole = rounded(instruction.rounding, value);
  const From bound = std::ldexp(From(1), std::numeric_limits<To>::digits);
  if (whole >= bound) return std::numeric_limits<To>::max();
  if (whole < (std::is_signed_v<To> ? -bound : From(0))) return std::numeric_limits<To>::min();
  return static_cast<To>(whole);
}

template <class F>
void integers(Thread& t, const Instruction& i, const F& f) {
  with_integer(i.type, i, [&](auto zero) {
    using T = decltype(zero);
    t.set(i.to[0], static_cast<T>(f(t.get<T>(i.from_slots[0]), t.get<T>(i.from_slots[1]))));
  });
}
template <class F>
void numbers(Thread& t, const Instruction& i, const F& f) {
  with_type(i.type, i, [&](auto zero) {
    using T = decltype(zero);
    t.set(i.to[0], static_cast<T>(f(t.get<T>(i.from_slots[0]), t.get<T>(i.from_slots[1]))));
  });
}
// Sums and products of integers are computed unsigned.
template <class F>
void wrapping(Thread& t, const Instruction& i, const F& f) {
  numbers(t, i, [&](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(f(std::uint64_t(Unsigned<T>(a)), std::uint64_t(Unsigned<T>(b))));
    } else {
      return f(a, b);
    }
  });
}

void convert(Thread& t, const Instruction& i) {
  const int from = i.from_slots[0], to = i.to[0];
  if (i.type == Type::F16) {
    if (i.from != Type::F32) throw PtxError("a conversion is not known: " + i.text);
    return t.set(to, static_cast<_Float16>(t.get<float>(from)));
  }
  if (i.from == Type::F16) {
    if (i.type != Type::F32) throw PtxError("a conversion is not known: " + i.text);
    return t.set(to, static_cast<float>(t.get<_Float16>(from)));
  }
  with_type(i.from, i, [&](auto of) {
    using From = decltype(of);
    const From value = t.get<From>(from);
    with_type(i.type, i, [&](auto zero) {
      using To = decltype(zero);
      if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        t.set(to, to_integer<To>(i, value));
      } else if constexpr (std::is_floating_point_v<From>) {
        t.set(to, static_cast<To>(i.type == i.from ? rounded(i.rounding, value) : value));
      } else if constexpr (std::is_integral_v<To>) {
        if (i.saturates) throw PtxError("a conversion is not known: " + i.text);
        // A register may be wider than the type: the result is extended.
        if constexpr (std::is_signed_v<To>) {
          t.set(to, static_cast<std::int64_t>(static_cast<To>(value)));
        } else {
          t.set(to, static_cast<To>(value));
        }
      } else {
        t.set(to, static_cast<To>(value));
      }
    });
  });
}

void compare(Thread& t, const Instruction& i) {
  bool result = false;
  with_type(i.type, i, [&](auto zero) {
    using T = decltype(zero);
    result = is_true(i.comparison, t.get<T>(i.from_slots[0]), t.get<T>(i.from_slots[1]));
  });
  const bool other =
      i.combine != Combine::None && (t.get<std::uint8_t>(i.from_slots[2]) != 0) != i.is_combined_negated;
  const auto combined = [&](bool value) {
    return i.combine == Combine::And   ? value && other
           : i.combine == Combine::Or  ? value || other
           : i.combine == Combine::Xor ? value != other
                                       : value;
  };
  t.set(i.to[0], std::uint8_t{combined(result)});
  if (i.to.size() > 1) t.set(i.to[1], std::uint8_t{combined(!result)});
}

void move(Thread& t, const Instruction& i, const BlockMemory& memory) {
  const std::size_t size = width(i.type);
  if (i.op == Op::Load) {
    const char* from = memory.find(t, i, size * i.to.size());
    for (const int to : i.to) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, from, size);
      from += size;
      if (i.type == Type::S8) bits = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(bits)});
      if (i.type == Type::S16)
        bits = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int16_t>(bits)});
      if (i.type == Type::S32)
        bits = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(bits)});
      t.set(to, bits);
    }
  } else if (i.op == Op::Store) {
    char* to = memory.find(t, i, size * (i.from_slots.size() - 1));
    for (std::size_t k = 1; k < i.from_slots.size(); ++k, to += size)
      std::memcpy(to, &t.slots[static_cast<std::size_t>(i.from_slots[k])], size);
  } else if (i.op == Op::Unpack) {
    const std::size_t part = size / i.to.size();
    const auto bits = t.get<std::uint64_t>(i.from_slots[0]);
    for (std::size_t k = 0; k < i.to.size(); ++k) {
      std::uint64_t value = 0;
      std::memcpy(&value, reinterpret_cast<const char*>(&bits) + k * part, part);
      t.set(i.to[k], value);
    }
  } else {
    const std::size_t part = size / i.from_slots.size();
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < i.from_slots.size(); ++k)
      std::memcpy(reinterpret_cast<char*>(&bits) + k * part,
                  &t.slots[static_cast<std::size_t>(i.from_slots[k])], part);
    t.set(i.to[0], bits);
  }
}

void atomic(Thread& t, const Instruction& i, const BlockMemory& memory) {
  with_integer(i.type, i, [&](auto zero) {
    using T = decltype(zero);
    char* const at = memory.find(t, i, sizeof(T));
    T before;
    std::memcpy(&before, at, sizeof before);
    const T value = t.get<T>(i.from_slots[1]);
    T after = value;
    if (i.op == Op::AtomicAdd) after = static_cast<T>(Unsigned<T>(before) + Unsigned<T>(value));
    if (i.op == Op::CompareAndSwap) after = before == value ? t.get<T>(i.from_slots[2]) : before;
    std::memcpy(at, &after, sizeof after);
    t.set(i.to[0], before);
  });
}

}  // namespace

void step(Thread& t, const Instruction& i, const BlockMemory& memory) {
  const auto bits = [&](int k) { return t.get<std::uint64_t>(i.from_slots[static_cast<std::size_t>(k)]); };
  const auto word = [&](int k) { return t.get<std::uint32_t>(i.from_slots[static_cast<std::size_t>(k)]); };
  switch (i.op) {
    case Op::Load:
    case Op::Store:
    case Op::Unpack:
    case Op::Pack:
      return move(t, i, memory);
    case Op::Mov:
      if (i.type == Type::Pred) return t.set(i.to[0], static_cast<std::uint8_t>(bits(0)));
      return with_type(i.type, i, [&](auto zero) { t.set(i.to[0], t.get<decltype(zero)>(i.from_slots[0])); });
    case Op::Add:
      return wrapping(t, i, [](auto a, auto b) { return a + b; });
    case Op::Sub:
      return wrapping(t, i, [](auto a, auto b) { return a - b; });
    case Op::Mul:
      return wrapping(t, i, [](auto a, auto b) { return a * b; });
    case Op::MulHigh:
      return integers(t, i, [](auto a, auto b) {
        __extension__ typedef __int128 Wide;
        __extension__ typedef unsigned __int128 UnsignedWide;
        using T = decltype(a);
        using Product = std::conditional_t<std::is_signed_v<T>, Wide, UnsignedWide>;
        return static_cast<T>(Product(a) * Product(b) >> (8 * sizeof(T)));
      });
    case Op::MulWide:
    case Op::MadWide:
      return with_integer(i.type, i, [&](auto zero) {
        using T = decltype(zero);
        using Product = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
        std::uint64_t product = static_cast<std::uint64_t>(Product(t.get<T>(i.from_slots[0]))) *
                                static_cast<std::uint64_t>(Product(t.get<T>(i.from_slots[1])));
        if (i.op == Op::MadWide) product += bits(2);
        if constexpr (sizeof(T) == 2) product &= 0xffffffffu;
        t.set(i.to[0], product);
      });
    case Op::Mad:
      return with_integer(i.type, i, [&](auto zero) {
        t.set(i.to[0], static_cast<decltype(zero)>(bits(0) * bits(1) + bits(2)));
      });
    case Op::Fma:
      return with_float(i.type, i, [&](auto zero) {
        using T = decltype(zero);
        t.set(i.to[0],
              std::fma(t.get<T>(i.from_slots[0]), t.get<T>(i.from_slots[1]), t.get<T>(i.from_slots[2])));
      });
    case Op::Div:
    case Op::Rem:
      return numbers(t, i, [&](auto a, auto b) {
        using T = decltype(a);
        if constexpr (std::is_floating_point_v<T>) {
          if (i.op == Op::Rem) throw PtxError("a remainder of floats: " + i.text);
          return a / b;
        } else {
          if (b == 0) throw PtxError("an integer is divided by 0: " + i.text);
          if (std::is_signed_v<T> && b == static_cast<T>(-1))
            return i.op == Op::Div ? static_cast<T>(Unsigned<T>(0) - Unsigned<T>(a)) : T(0);
          return static_cast<T>(i.op == Op::Div ? a / b : a % b);
        }
      });
    case Op::Neg:
      return with_type(i.type, i, [&](auto zero) {
        using T = decltype(zero);
        const T value = t.get<T>(i.from_slots[0]);
        if constexpr (std::is_integral_v<T>) {
          t.set(i.to[0], static_cast<T>(Unsigned<T>(0) - Unsigned<T>(value)));
        } else {
          t.set(i.to[0], -value);
        }
      });
    case Op::Abs:
      return with_type(i.type, i, [&](auto zero) {
        using T = decltype(zero);
        const T value = t.get<T>(i.from_slots[0]);
        if constexpr (std::is_integral_v<T>) {
          t.set(i.to[0], value < T(0) ? static_cast<T>(Unsigned<T>(0) - Unsigned<T>(value)) : value);
        } else {
          t.set(i.to[0], std::fabs(value));
        }
      });
    case Op::Min:
    case Op::Max:
      return numbers(
          t, i, [&](auto a, auto b) { return smaller_or_larger(a, b, i.op == Op::Min, i.propagates_nan); });
    case Op::Sqrt:
      return with_float(
          i.type, i, [&](auto zero) { t.set(i.to[0], std::sqrt(t.get<decltype(zero)>(i.from_slots[0]))); });
    case Op::Reciprocal:
      return with_float(i.type, i, [&](auto zero) {
        using T = decltype(zero);
        t.set(i.to[0], T(1) / t.get<T>(i.from_slots[0]));
      });
    case Op::And:
      return integers(t, i, [](auto a, auto b) { return a & b; });
    case Op::Or:
      return integers(t, i, [](auto a, auto b) { return a | b; });
    case Op::Xor:
      return integers(t, i, [](auto a, auto b) { return a ^ b; });
    case Op::Not:
      return with_integer(i.type, i, [&](auto zero) {
        const auto mask = static_cast<decltype(zero)>(i.type == Type::Pred ? 1 : -1);
        t.set(i.to[0], static_cast<decltype(zero)>(bits(0) ^ static_cast<std::uint64_t>(mask)));
      });
    case Op::Shl:
      return with_integer(i.type, i, [&](auto zero) {
        using T = decltype(zero);
        const std::uint32_t by = word(1);
        t.set(i.to[0], by >= 8 * sizeof(T) ? T(0) : static_cast<T>(bits(0) << by));
      });
    case Op::Shr:
      return with_integer(i.type, i, [&](auto zero) {
        t.set(i.to[0], shifted_right(t.get<decltype(zero)>(i.from_slots[0]), word(1)));
      });
    case Op::Compare:
      return compare(t, i);
    case Op::Select:
      return with_type(i.type, i, [&](auto zero) {
        t.set(i.to[0],
              t.get<decltype(zero)>(i.from_slots[t.get<std::uint8_t>(i.from_slots[2]) != 0 ? 0 : 1]));
      });
    case Op::Convert:
      return convert(t, i);
    case Op::Popc:
      return t.set(i.to[0],
                   static_cast<std::uint32_t>(std::popcount(width(i.type) == 8 ? bits(0) : word(0))));
    case Op::Clz:
      return t.set(i.to[0], static_cast<std::uint32_t>(width(i.type) == 8 ? std::countl_zero(bits(0))
                                                                          : std::countl_zero(word(0))));
    case Op::BitsOut:
      return with_integer(i.type, i, [&](auto zero) {
        using T = decltype(zero);
        const std::uint32_t first = word(1) & 0xff, count = word(2) & 0xff;
        if (count == 0) return t.set(i.to[0], T(0));
        if (first + count > 8 * sizeof(T)) throw PtxError("bits outside of a register: " + i.text);
        const auto high = static_cast<std::uint32_t>(8 * sizeof(T)) - first - count;
        t.set(i.to[0], shifted_right(static_cast<T>(bits(0) << high), high + first));
      });
    case Op::BitsIn:
      return with_integer(i.type, i, [&](auto zero) {
        using T = decltype(zero);
        const std::uint32_t first = word(2) & 0xff, count = word(3) & 0xff;
        if (first + count > 8 * sizeof(T)) throw PtxError("bits outside of a register: " + i.text);
        const std::uint64_t mask = (count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1)
                                   << (first % 64);
        t.set(i.to[0], static_cast<T>((bits(1) & ~mask) | (bits(0) << (first % 64) & mask)));
      });
    case Op::Permute: {
      const std::uint64_t both = word(0) | std::uint64_t{word(1)} << 32;
      std::uint32_t result = 0;
      for (int k = 0; k < 4; ++k) {
        const std::uint32_t choice = word(2) >> (4 * k) & 15;
        auto byte = static_cast<std::uint32_t>(both >> (8 * (choice & 7)) & 0xff);
        if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
        result |= byte << (8 * k);
      }
      return t.set(i.to[0], result);
    }
    case Op::FunnelLeft:
    case Op::FunnelRight: {
      const std::uint64_t both = word(0) | std::uint64_t{word(1)} << 32;
      const bool is_clamped = i.text.find(".clamp") != std::string::npos;
      const std::uint32_t by = is_clamped ? std::min(word(2), std::uint32_t{32}) : word(2) & 31;
      return t.set(i.to[0],
                   static_cast<std::uint32_t>(i.op == Op::FunnelLeft ? both << by >> 32 : both >> by));
    }
    case Op::Logic3: {
      std::uint32_t result = 0;
      for (int k = 0; k < 8; ++k)
        if ((word(3) >> k & 1) != 0)
          result |= ((k & 4) != 0 ? word(0) : ~word(0)) & ((k & 2) != 0 ? word(1) : ~word(1)) &
                    ((k & 1) != 0 ? word(2) : ~word(2));
      return t.set(i.to[0], result);
    }
    case Op::CompareAndSwap:
    case Op::Exchange:
    case Op::AtomicAdd:
      return atomic(t, i, memory);
    case Op::Branch:
    case Op::Return:
    case Op::Barrier:
      break;
  }
  throw PtxError("an instruction is not known: " + i.text);
}

// A kernel's own memory, its parameters, or memory of the device.
char* BlockMemory::find(const Thread& thread, const Instruction& instruction, std::size_t size) const {
  const std::uint64_t address =
      thread.get<std::uint64_t>(instruction.from_slots[0]) + static_cast<std::uint64_t>(instruction.offset);
  const auto is_within = [&](const void* begin, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uint64_t>(begin);
    return address >= first && address + size <= first + bytes;
  };
  const auto is_constant = [&] {
    return instruction.op == Op::Load && std::ranges::any_of(function.constants, [&](const auto& table) {
             return address >= table.first && address + size <= table.first + table.second;
           });
  };
  if (!is_within(parameters, function.parameter_bytes) &&
      !is_within(thread.local.data(), 8 * thread.local.size()) &&
      !is_within(shared.data(), 8 * shared.size()) && !is_allocated(address, size) && !is_constant())
    throw MemoryFault(function.name + ": " + std::to_string(size) +
                      " bytes that are not allocated are accessed by: " + instruction.text);
  if (address % std::bit_floor(std::min<std::size_t>(size, 16)) != 0)
    throw MemoryFault(function.name + ": an address is not aligned: " + instruction.text);
  return reinterpret_cast<char*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace pel::test::ptx
