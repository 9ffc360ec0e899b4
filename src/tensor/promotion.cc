// The dtype of a result that several operands share.
#include <algorithm>

#include "pellucid/tensor.h"

#include "base/check.h"

namespace pel {
namespace {

int category(DType dtype) { return dtype == kBool ? 0 : is_integral(dtype) ? 1 : 2; }

}  // namespace

DType result_type(ArrayView<PromotionOperand> operands) {
  PEL_CHECK(!operands.empty(), ValueError, "result_type: there are no operands");
  // Within each class dtypes promote; a lower class counts only where its category is higher.
  std::optional<DType> by_class[3];
  for (const PromotionOperand& operand : operands) {
    auto& so_far = by_class[operand.rank_class];
    so_far = so_far ? promote_types(*so_far, operand.dtype) : operand.dtype;
  }
  std::optional<DType> result;
  for (int rank_class = 2; rank_class >= 0; --rank_class) {
    const auto candidate = by_class[rank_class];
    if (!candidate) continue;
    if (!result) {
      result = candidate;
    } else if (category(*candidate) > category(*result)) {
      result = promote_types(*result, *candidate);
    }
  }
  return *result;
}

}  // namespace pel
