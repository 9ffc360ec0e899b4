// The built-in ops: one per file of src/ops/, found by name at compile time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "pellucid/op.h"

#include "op_names.h"

namespace pel {

using DefineFn = OpDef (*)();
extern const DefineFn kOpDefines[];  // in the order of kOpNames

// Filled when the runtime is wired, which is before the first call reaches a body.
extern constinit std::array<Op, kOpNames.size()> builtin_ops;

template <std::size_t N>
struct FixedString {
  consteval FixedString(const char (&text)[N]) { std::copy_n(text, N, value); }
  constexpr std::string_view view() const { return {value, N - 1}; }
  char value[N];
};

consteval std::size_t op_index(std::string_view name) {
  const auto found = std::find(kOpNames.begin(), kOpNames.end(), name);
  if (found == kOpNames.end()) throw "no file of src/ops/ has this name";
  return static_cast<std::size_t>(found - kOpNames.begin());
}

// A built-in op by name: an address known at compile time. op<"no_such">() does not compile.
template <FixedString Name>
const Op& op() {
  return builtin_ops[op_index(Name.view())];
}

// call<"t", t_body>(site, self)
template <FixedString Name, auto Body, class... Args>
decltype(auto) call(const Site& site, Args&&... args) {
  return call<Body>(op<Name>(), site, std::forward<Args>(args)...);
}

}  // namespace pel
