// The CPU as an asynchronous device: the CPU's kernels, run by one worker thread for each stream, in the
// order of their calls.
#pragma once

#include <memory>

#include "device/async_device.h"

namespace pel::queue {

std::unique_ptr<AsyncDevice> make_queue_device();

}  // namespace pel::queue
