// What tests ask of the test driver beyond CUDA's functions. They find these by dlsym in the library that
// PELLUCID_CUDA_DRIVER names.
#pragma once

namespace pel::test {
// Where a capture fails.
enum class CaptureFault : int { None, Begin, Launch, End, Instantiate };
}  // namespace pel::test

extern "C" {
// Starts to write calls down, or stops; returns those written down since the last start, a line each. The
// text is valid until the next call.
const char* pel_test_driver_log(int is_on);
// The n-th allocation of device memory from now on fails, and those after it, until this is called with 0.
void pel_test_driver_fail_allocation(int n);
// The next module is refused as invalid.
void pel_test_driver_refuse_module();
// The n-th kernel that runs from now on fails as one that accesses memory which is not its own; the context
// is lost then, and every call fails.
void pel_test_driver_fail_kernel(int n);
// Events of other streams are not waited for: a planted fault, which tests of order must find.
void pel_test_driver_ignore_waits(int is_on);
// Captures of graphs fail at a CaptureFault from now on.
void pel_test_driver_fail_capture(int at);
// How much device memory there is; at first 8 GiB.
void pel_test_driver_set_memory(long long bytes);
// Bytes of device memory in use.
long long pel_test_driver_bytes();
}
