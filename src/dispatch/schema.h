// Parses an op's signature, once, and prints it.
#pragma once

#include <string>
#include <string_view>

#include "pellucid/extend/schema.h"

namespace pel {

// slice(Tensor(a) self, int dim=0, Dim? start=None, Dim? end=None, Dim step=1) -> Tensor(a)
// Types: Tensor int Dim float bool Scalar DType Device str, each with [] or ?. A bare * makes what follows
// keyword-only. Throws a RegistryError that names the position.
Schema parse_schema(std::string_view text);
std::string to_string(const Schema& schema);
std::string to_string(const ArgType& type);

}  // namespace pel
