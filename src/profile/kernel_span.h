// A kernel that a Profile or a Recording sees: run between two time stamps, then written as a record.
#pragma once

#include <cstdint>

#include "pellucid/extend/kernel.h"

#include "profile/device_span.h"

namespace pel::profile {

// Whether equal shapes and numbers mean an equal description of the kernel. They do not where an operand may
// be packed.
enum class Described : std::uint8_t { ByShapes, ByCall };

// Runs the kernel and records it as one that `op_name` launched.
void run_watched(const char* op_name, const Kernel& kernel, Stream& stream, const KernelArgs& args,
                 Described described);

// Runs a kernel of an asynchronous device on a thread of that device, while a Profile records, and records it
// as one that `origin` queued from the line `site`.
void run_on_device(const char* op_name, const Kernel& kernel, Stream& stream, const KernelArgs& args,
                   const LaunchOrigin& origin, const Site& site);

// Notes a kernel that was queued on an asynchronous device for the Recording of this thread, which counts it
// as a launch without a duration.
void note_handed_over(const char* op_name, const Kernel& kernel, Device device, const KernelArgs& args);

// Returns the bytes of the elements that an operand addresses. An element that is broadcast counts once.
std::uint64_t bytes_addressed(const Operand& operand);
// Adds the bytes that a kernel reads and writes.
void add_bytes(const KernelArgs& args, std::uint64_t& read, std::uint64_t& written);

}  // namespace pel::profile
