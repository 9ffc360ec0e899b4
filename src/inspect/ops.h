// The op registry as tables: all ops, and the record of one op.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pellucid/extend/op.h"

#include "base/terminal.h"

namespace pel::inspect {

// Consecutive kernels in an op's list that differ only in dtype.
struct KernelFamily {
  struct Member {
    std::string name, dtypes;
  };
  std::string name;  // "add_*_avx512" for several
  std::vector<Member> members;
  std::string dtypes;       // of all members
  bool is_relaxed = false;  // only under Determinism::Relaxed
};

struct OpFacts {
  std::string name, schema, kind;
  std::vector<std::string> forms;  // add_, add.out
  std::string origin;              // generated, by hand, tile and engine, of other ops, none
  std::string dtypes;              // that the kernels compute in
  std::string gradient;            // rule, parts, none, or empty: unknown
  std::string autocast;            // empty: no cast
  bool is_chosen_by_time = false;  // else the first kernel that supports the call runs
  std::vector<KernelFamily> kernels;

  std::string text(const Terminal& terminal) const;
  std::string json() const;
};
OpFacts facts_of(const Op& op);

struct OpList {
  std::string pattern;
  std::vector<OpFacts> ops;  // forms are listed with their op

  std::string text(const Terminal& terminal) const;
  std::string json() const;
};
// Returns the ops whose name contains `pattern`; all if it is empty.
OpList list_ops(std::string_view pattern);

std::vector<std::string> op_names();

}  // namespace pel::inspect
