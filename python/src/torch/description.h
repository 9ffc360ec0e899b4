// A torch graph as a list of calls of our ops, as ../../pellucid/torch/_lowering.py describes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <pellucid/compile_ahead.h>
#include <pellucid/extend/op.h>
#include <pellucid/packing.h>

#include "torch/size_expression.h"

namespace pel::python {

// Where the value of a symbol is read in each call.
struct SymbolSource {
  enum class What : std::uint8_t { Size, Stride, Value };
  What what = What::Size;
  std::uint32_t input = 0, axis = 0;
  std::int64_t example = 0;
};

struct ProgramInput {
  enum class Kind : std::uint8_t { Tensor, Number, Unused };
  Kind kind = Kind::Unused;
  DType dtype = kF32;
  std::vector<SizeExpression> sizes, strides;
  bool is_static = false;    // a parameter or buffer
  std::uint32_t number = 0;  // of a tensor, among the tensors
};

struct ProgramArgument {
  enum class Kind : std::uint8_t { Plain, Result, Input, List, Size, Sizes, NumberOfSize };
  Kind kind = Kind::Plain;
  Value plain{};                           // of Plain: the same in every call
  std::uint32_t number = 0;                // of the call or the input
  std::int32_t item = -1;                  // of a result that is a list or several tensors
  std::vector<ProgramArgument> arguments;  // of List
  std::vector<SizeExpression> sizes;       // of Size and NumberOfSize the first one
};

struct ProgramCall {
  const Op* op = nullptr;
  std::vector<ProgramArgument> arguments;
  Site site{};
};

struct ProgramOutput {
  ProgramArgument value;
  std::vector<SizeExpression> strides;
  bool has_strides = false;
  std::optional<DType> dtype;  // that PyTorch traced
};

// What the torch graph returns.
struct ProgramReturn {
  enum class Kind : std::uint8_t { Nothing, Input, View, Size, Result };
  Kind kind = Kind::Nothing;
  std::uint32_t number = 0;  // of the input or output
  std::vector<SizeExpression> sizes, strides;
  SizeExpression offset;  // of a View; the size of a Size
};

struct ProgramDescription {
  std::vector<SymbolSource> symbols;
  std::vector<ProgramInput> inputs;
  std::vector<ProgramCall> calls;
  std::vector<ProgramOutput> outputs;
  std::vector<ProgramReturn> returns;
  std::size_t tensor_count = 0;
  std::vector<bool> is_written;                 // by tensor
  mutable std::int64_t copies_for_strides = 0;  // outputs whose strides torch has otherwise, by captures
  // By tensor: parameters that do not change are constants of the function, not inputs. Undefined: an input.
  std::vector<Tensor> frozen;

  ProgramDescription(nanobind::handle symbols, nanobind::handle inputs, nanobind::handle calls,
                     nanobind::handle outputs, nanobind::handle returns);

  // For CompiledAhead.
  std::vector<CallNumber> numbers() const;
  std::vector<DescribedInput> describe(Dims symbols) const;
  std::vector<Tensor> run(ArrayView<Tensor> tensors, Dims symbols) const;
  // Right-hand matrices of matmuls that are frozen, or views of frozen ones, in the order in which kernels
  // read them.
  std::vector<PackedMatrix> pack_frozen() const;

 private:
  bool is_frozen(const ProgramInput& input) const {
    return input.number < frozen.size() && frozen[input.number].defined();
  }
  std::optional<Tensor> frozen_matrix(const ProgramArgument& argument) const;
};

}  // namespace pel::python
