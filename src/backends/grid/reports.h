// Errors that kernels from text report (codegen/c_like/loop_text.h), as exceptions of the host.
#pragma once

#include <cstdint>
#include <exception>

namespace pel::grid {

std::exception_ptr error_of_report(std::int64_t code, std::int64_t value, std::int64_t bound);

}  // namespace pel::grid
