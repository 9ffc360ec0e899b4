// How loops over elements that no op has are compiled: a backend says how, compile asks for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pellucid/op.h"

#include "ir/scalar.h"

namespace pel {

// Outputs and inputs of one loop.
inline constexpr int kMostLoopOperands = 16;

// Result i of the body is stored to output i, which has its dtype; input i is read from input i.
struct LoopSource {
  std::string name;
  scalar::ScalarExpr body;
};

// What one of the calls of a loop launched when it was compiled. Where a size stands as a number it may be
// something else at other sizes: x^n is a product where n is 2.
struct LoopPart {
  const Op* op = nullptr;
  DType dtype{};
  std::uint8_t formula = 0;
  bool operator==(const LoopPart&) const = default;
};

// A kernel for each source, in their order. They live as long as `code`.
struct CompiledLoops {
  std::vector<std::vector<LoopPart>> parts;
  std::vector<Kernel> kernels;
  std::shared_ptr<const void> code;
};

// All of one graph together. Any thread may call it.
using LoopCompiler = CompiledLoops (*)(const std::vector<LoopSource>& sources);
void set_loop_compiler(DeviceType device, LoopCompiler compiler);
LoopCompiler loop_compiler(DeviceType device);  // null: the backend has none

}  // namespace pel
