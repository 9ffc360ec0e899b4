// Memory for tensor data that does not fit into a header's block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pellucid/detail/tensor_header.h"

namespace pel {

// Sets data, release and context of `storage`. 64-byte aligned; to a page from kLargeBytes up, to a huge page
// from 2 MiB up.
void allocate_data(detail::StorageHeader& storage, std::int64_t bytes);

inline constexpr std::int64_t kLargeBytes = std::int64_t{1} << 20;

}  // namespace pel
