// An op's signature, parsed once from its text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/extend/value.h"

namespace pel {

// The mark in Tensor(a!): which arguments and results share memory, and which are written to.
struct AliasMark {
  char set = '\0';  // '\0': shares with nothing
  bool is_written = false;
};

struct SchemaArg {
  ArgType type;
  AliasMark alias;
  std::string name;                    // empty for an unnamed result
  std::optional<Value> default_value;  // none: the argument is required
  bool keyword_only = false;
};

struct Schema {
  std::string op_name;
  std::vector<SchemaArg> args;
  std::vector<SchemaArg> results;
};

// slice(Tensor(a) self, int dim=0, Dim? start=None, Dim? end=None, Dim step=1) -> Tensor(a)
// Types: Tensor int Dim float bool Scalar DType Device str, each with [] or ?. A bare * makes what follows
// keyword-only. Throws a RegistryError that names the position.
Schema parse_schema(std::string_view text);
std::string to_string(const Schema& schema);
std::string to_string(const ArgType& type);

}  // namespace pel
