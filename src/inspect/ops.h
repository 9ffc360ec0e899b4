// The registry as tables: which ops there are, and what one op's record says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pellucid/extend/op.h"

#include "base/terminal.h"

namespace pel::inspect {

// Kernels that stand one after another in an op's list and differ in their dtype alone.
struct KernelFamily {
  struct Member {
    std::string name, dtypes;
  };
  std::string name;  // "add_*_avx512" for several
  std::vector<Member> members;
  std::string dtypes;       // of all members
  bool is_relaxed = false;  // taken under Determinism::Relaxed alone
};

struct OpFacts {
  std::string name, schema, kind;
  std::vector<std::string> forms;  // add_, add.out
  std::string origin;              // generated, by hand, tile and engine, of other ops, none
  std::string dtypes;              // that kernels compute in
  std::string gradient;            // rule, parts, none, or empty: not known
  std::string autocast;            // empty: left as it is
  bool is_chosen_by_time = false;  // else the first kernel that takes a call runs
  std::vector<KernelFamily> kernels;

  std::string text(const Terminal& terminal) const;
  std::string json() const;
};
OpFacts facts_of(const Op& op);

struct OpList {
  std::string pattern;
  std::vector<OpFacts> ops;  // forms stand with their op

  std::string text(const Terminal& terminal) const;
  std::string json() const;
};
// Ops whose name has `pattern` inside; all of them where it is empty.
OpList list_ops(std::string_view pattern);

std::vector<std::string> op_names();

}  // namespace pel::inspect
