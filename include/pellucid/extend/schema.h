// An op's signature: names, types and defaults of arguments, as bindings and documents read them.
#pragma once

#include <optional>
#include <string>
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

// Parsed from a text such as
//   slice(Tensor(a) self, int dim=0, Dim? start=None, Dim? end=None, Dim step=1) -> Tensor(a)
struct Schema {
  std::string op_name;
  std::vector<SchemaArg> args;
  std::vector<SchemaArg> results;
};

}  // namespace pel
