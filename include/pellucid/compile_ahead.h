// Compile before the first call: inputs are described instead of passed. For code that has a graph of its
// own, such as the backend of another framework.
//
//   // x is f32[n, 768], row-major
//   CompiledAhead f({{"rows", 32}},
//                   [](Dims n) { return std::vector<DescribedInput>{{kF32, {n[0], 768}}}; },
//                   [](ArrayView<Tensor> in, Dims n) { return std::vector<Tensor>{div(in[0], n[0])}; });
//   std::vector<Tensor> results = f({x.raw_data()}, {x.sizes()[0].value()});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/array_view.h"
#include "pellucid/compile.h"
#include "pellucid/compile_explanation.h"
#include "pellucid/tensor.h"

namespace pel {

// An integer that each call passes. Sizes and strides of inputs are expressions of these numbers; the
// function may use them, too, as in x / n or dropout's seed.
struct CallNumber {
  enum class Kind : std::uint8_t { Size, Stride, Any };  // only Any may be negative
  std::string name;                                      // in explanations: "axis 1 of input 0"
  std::int64_t example = 0;                              // answers comparisons during the first capture
  Kind kind = Kind::Size;
};

struct DescribedInput {
  DType dtype = kF32;
  std::vector<Dim> sizes{};
  std::vector<Dim> strides{};  // in elements; empty: row-major
  Device device = kCpu;
};

namespace compiler {
class AheadFunction;
}

// A function of inputs that are described. Copies share their graphs and plans; several threads may call it.
class PEL_API CompiledAhead {
 public:
  using Describe = std::function<std::vector<DescribedInput>(Dims numbers)>;
  using Body = std::function<std::vector<Tensor>(ArrayView<Tensor> inputs, Dims numbers)>;
  using AfterLastUse = std::function<void(std::size_t input)>;

  // Captures and compiles for the examples of `numbers`; errors name the op and its line. A call whose
  // numbers do not satisfy the comparisons that the capture made compiles again, for its own numbers.
  CompiledAhead(std::vector<CallNumber> numbers, Describe describe, Body body,
                const CompileOptions& options = {});

  // `data`: the first element of each input, which must have the sizes and strides that were described, and
  // live through the call. An input that the function writes to must share no memory with another one; an
  // output that is a view of an input refers to the caller's memory. Gradients are not recorded.
  // `after_last_use`, if given, is called once with the number of each input that no later kernel and no
  // output uses: its memory may be freed while the call goes on.
  std::vector<Tensor> operator()(ArrayView<void*> data, ArrayView<std::int64_t> numbers,
                                 const AfterLastUse& after_last_use = {}) const;

  std::size_t compiles() const;
  std::size_t plans() const;
  // For calls with these numbers: the kernels in launch order, and the memory that a call adds, with results.
  std::vector<std::string> kernels(ArrayView<std::int64_t> numbers) const;
  std::int64_t peak_bytes(ArrayView<std::int64_t> numbers) const;
  std::string graph() const;
  CompileExplanation explain() const;
  CompileExplanation explain(ArrayView<std::int64_t> numbers) const;

 private:
  std::shared_ptr<compiler::AheadFunction> function_;
};

}  // namespace pel
