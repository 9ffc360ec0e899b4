// FLOPs and memory traffic of an op, from the shapes that the profiler recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/model/model.h"

namespace pel::doctor {

using Sizes = std::vector<std::int64_t>;

// "mm" of "aten::mm"; Pellucid's own ops have the same names without it.
inline std::string_view without_namespace(std::string_view op) {
  constexpr std::string_view kAten = "aten::";
  return op.starts_with(kAten) ? op.substr(kAten.size()) : op;
}

struct OpInputs {
  std::vector<Sizes> sizes;        // of a list of tensors, of its first; empty: a number, or none
  std::vector<std::string> types;  // c10::BFloat16, float, Scalar …
  std::vector<Sizes> strides;      // as sizes, or none at all: the trace does not say
};
// None: the trace has no shapes of it, or they cannot be read.
std::optional<OpInputs> inputs_of(const Model& model, EventId op);

int bytes_of_type(std::string_view type);               // c10::Half is 2; 0: not known
std::string_view dtype_of_type(std::string_view type);  // c10::Half is f16; empty: not known

// A matmul: batch times [m, k] by [k, n].
struct MatmulSizes {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  std::string type;
  double flops() const {
    return 2.0 * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
  double bytes() const;  // each operand once
};
// Of n and k, those that the widest loads into tensor cores do not fit, "n = 50257", and the multiple that
// would. Nothing: both fit; or the type does not need it: of f32, only TF32 uses tensor cores, and what that
// asks for is met by most.
struct Misalignment {
  std::string axes;
  std::int64_t multiple = 0;
};
std::optional<Misalignment> misalignment_of(const MatmulSizes& matmul);
// Of an op, or of the nearest around it that has shapes of a matmul. None: it is none, or not known.
std::optional<MatmulSizes> matmul_of(const Model& model, EventId op);

inline constexpr int kMaxLevelsUp = 4;  // from the op of a kernel to one around it that has its sizes

// What an op computes: a matmul, a convolution or attention, forward or backward.
enum class WorkKind : std::uint8_t { None, Matmul, Convolution, ConvolutionBackward, Attention };
WorkKind work_kind_of(std::string_view op);  // by its name

struct OpWork {
  std::int64_t flops = 0;    // a multiplication and an addition are two; all of the scores of attention
  std::int64_t bytes = 0;    // each operand and each result once
  std::string_view dtype{};  // of the first operand, as `Device` has it; empty: not known
};
// From its own sizes. None: it has none of these kinds, or a size is not in the trace.
std::optional<OpWork> work_of(const Model& model, EventId op);

}  // namespace pel::doctor
