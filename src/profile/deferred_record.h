// The record of a command of a device that tells its times later, in time stamps of its own: OpenCL's events.
// It is filled when the command is queued, on the thread that queues it, and written when its times are
// known.
#pragma once

#include <cstdint>
#include <vector>

#include "pellucid/extend/kernel.h"

#include "profile/device_span.h"

namespace pel::profile {

struct DeferredRecord {
  std::uint32_t session = 0;  // of the Profile that it is for
  std::vector<std::uint64_t> words{};
};

DeferredRecord deferred_kernel(const char* op_name, const Kernel& kernel, Stream stream,
                               const KernelArgs& args, const LaunchOrigin& origin, const Site& site);
DeferredRecord deferred_copy(Stream stream, const char* name, std::int64_t bytes, const LaunchOrigin& origin,
                             const Site& site);
// Writes it to the buffer of this thread, if its Profile still records. Times are ticks().
void write_deferred(DeferredRecord& record, std::uint64_t begin, std::uint64_t end);

}  // namespace pel::profile
