// Enums that stand for strings of PyTorch: functions take Reduction::Mean; schemas, boxed calls, graphs and
// logs have "mean". The table of spellings next to each enum is the only one.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace pel {

// The name of the argument in schemas, and a spelling for each value of the enum, in their order.
template <std::size_t N>
struct EnumNames {
  std::string_view argument;
  std::array<std::string_view, N> spellings;
};

// enum_names<Reduction>. An enum without an entry does not stand for strings.
template <class E>
inline constexpr std::nullptr_t enum_names = nullptr;

template <class E>
concept NamedEnum =
    std::is_enum_v<E> && !std::is_null_pointer_v<std::remove_const_t<decltype(enum_names<E>)>>;

template <NamedEnum E>
constexpr std::string_view name(E value) {
  return enum_names<E>.spellings[static_cast<std::size_t>(value)];
}

}  // namespace pel
