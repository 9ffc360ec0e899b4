#include "backends/grid/reports.h"

#include <bit>

#include "base/check.h"
#include "codegen/c_like/loop_text.h"

namespace pel::grid {

std::exception_ptr error_of_report(std::int64_t code, std::int64_t value, std::int64_t bound) {
  switch (code) {
    case codegen::kReportsDivision:
      return std::make_exception_ptr(ValueError("integer division by zero"));
    case codegen::kReportsClass:
      return std::make_exception_ptr(ValueError(
          fmt::format("class {} is out of range [0, {}); pass a larger number of classes", value, bound)));
    case codegen::kReportsProbability:
      return std::make_exception_ptr(ValueError(
          fmt::format("a probability is {}; it must be between 0 and 1", std::bit_cast<double>(value))));
    case codegen::kReportsDeviation:
      return std::make_exception_ptr(ValueError(
          fmt::format("a standard deviation is {}; it must not be negative", std::bit_cast<double>(value))));
    default:
      return std::make_exception_ptr(IndexError(fmt::format("index {} is out of range for axis {} of size {}",
                                                            value, code - codegen::kReportsIndex, bound)));
  }
}

}  // namespace pel::grid
