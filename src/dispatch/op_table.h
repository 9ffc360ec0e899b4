// The built-in ops: one per file of src/ops/, found by name at compile time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "pellucid/extend/op.h"

#include "op_names.h"

namespace pel {

using DefineFn = OpDef (*)();
extern const DefineFn kOpDefines[];  // in the order of kOpNames

// Three entries per file: the op itself, NAME_ and NAME.out. Filled when the runtime is wired, which is
// before the first call reaches a body; forms that an op does not have stay empty.
inline constexpr std::size_t kFormCount = 3;
extern constinit std::array<Op, kFormCount * kOpNames.size()> builtin_ops;

template <std::size_t N>
struct FixedString {
  consteval FixedString(const char (&text)[N]) { std::copy_n(text, N, value); }
  constexpr std::string_view view() const { return {value, N - 1}; }
  char value[N];
};

// Returns the index of an op by name; builtin_ops.size() if there is none.
constexpr std::size_t find_op_index(std::string_view name) {
  constexpr std::string_view kEndings[kFormCount] = {"", "_", ".out"};
  for (std::size_t form = 0; form < kFormCount; ++form) {
    if (!name.ends_with(kEndings[form])) continue;
    const std::string_view file = name.substr(0, name.size() - kEndings[form].size());
    const auto found = std::find(kOpNames.begin(), kOpNames.end(), file);
    if (found != kOpNames.end())
      return kFormCount * static_cast<std::size_t>(found - kOpNames.begin()) + form;
  }
  return kFormCount * kOpNames.size();
}
// Whether it is NAME_ or NAME.out of a file that also has NAME.
constexpr bool is_further_form(std::string_view name) { return find_op_index(name) % kFormCount != 0; }

consteval std::size_t op_index(std::string_view name) {
  const std::size_t index = find_op_index(name);
  if (index == kFormCount * kOpNames.size()) throw "no file of src/ops/ has this name";
  return index;
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
