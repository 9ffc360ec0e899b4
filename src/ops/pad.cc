// A border of one number, or of the tensor's own elements: mirrored, the outermost ones, or from the other
// end.
#include <array>

#include "pellucid/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "ops/family_pad.h"

namespace pel {
namespace {

struct NamedMode {
  std::string_view name;
  PadMode mode;
};
constexpr std::array<NamedMode, 4> kModes = {{{"constant", PadMode::Constant},
                                              {"reflect", PadMode::Reflect},
                                              {"replicate", PadMode::Replicate},
                                              {"circular", PadMode::Circular}}};

Tensor pad_body(const Op& op, const Tensor& self, Dims padding, std::string_view mode,
                std::optional<Scalar> value) {
  for (const NamedMode& named : kModes) {
    if (named.name != mode) continue;
    PEL_CHECK(!value || named.mode == PadMode::Constant, ValueError, "the mode \"{}\" takes no value", mode);
    return make_padded(op, self, padding, named.mode, value.value_or(Scalar(0)));
  }
  throw ValueError(
      fmt::format("the mode is \"constant\", \"reflect\", \"replicate\" or \"circular\", not \"{}\"", mode));
}

}  // namespace

namespace ops {
OpDef define_pad() {
  return define_op<pad_body>(
      OpKind::Kernel, "pad(Tensor self, Dim[] pad, str mode='constant', Scalar? value=None) -> Tensor");
}
}  // namespace ops

Tensor pad(const Tensor& self, Dims padding, std::string_view mode, std::optional<Scalar> value, Site site) {
  return call<"pad", pad_body>(site, self, padding, mode, value);
}

}  // namespace pel
