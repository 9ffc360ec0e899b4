// Makes the driver of tests the CUDA driver of a process, unless another one was chosen. Before the first
// question about the device.
#pragma once

#include <cstdlib>

namespace pel::test {

[[maybe_unused]] inline const int driver_was_chosen =
    setenv("PELLUCID_CUDA_DRIVER", PELLUCID_TEST_CUDA_DRIVER, 0);

}  // namespace pel::test
