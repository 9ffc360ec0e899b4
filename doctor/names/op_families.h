// Which family an op of PyTorch is of, by its name; compiled kernels are named after their ops.
#pragma once

#include <optional>

#include "doctor/names/name_text.h"

namespace pel::doctor::names {

// Elementwise where the name is not in the table.
KernelFamily family_of_op(std::string_view op);

// None: the name is in no table, so that nothing is known of what it computes.
std::optional<KernelFamily> known_family_of_op(std::string_view op);

// The ops of "_to_copy_add_native_layer_norm", each as long as the table has it.
Pieces split_ops(std::string_view joined);

// What a fused kernel is, by its ops. `over_rows`: it reduces. Matmuls among them are its neighbours, whose
// results it reads; so are attention and convolution.
struct FusedFamily {
  KernelFamily family;
  Certainty certainty;
};
FusedFamily family_of_fused(const Pieces& ops, bool over_rows);

}  // namespace pel::doctor::names
