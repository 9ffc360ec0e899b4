// For src/runtime/, which wires all layers.
#pragma once

namespace pel::autograd {

void register_autograd();
void register_autocast();

}  // namespace pel::autograd
