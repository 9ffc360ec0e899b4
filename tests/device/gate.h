// A kernel that waits until the test lets it go on: for what must happen while a kernel is queued or runs.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "pellucid/pellucid.h"

namespace pel::test {

inline std::atomic<bool>& gate_is_open() {
  static std::atomic<bool> open{true};
  return open;
}

namespace gate_detail {
inline Support takes(const KernelArgs&) { return Support::yes(); }
inline void run(Stream&, const KernelArgs& args) {
  while (!gate_is_open().load()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  auto* const data = static_cast<float*>(args.operands[0].data);
  for (std::int64_t i = 0; i < args.operands[0].sizes[0]; ++i) data[i] += 1;
}
inline const Tensor& body(const Op& op, const Tensor& self) {
  launch(op, {self}, {});
  bump_version(self);
  return self;
}
}  // namespace gate_detail

// Adds 1 to a row-major vector of f32, once the gate is open.
inline const Tensor& wait_at_gate_(const Tensor& self) {
  static const Op& op = register_op(
      define_op<gate_detail::body>(OpKind::Kernel, "test::wait_at_gate_(Tensor(a!) self) -> Tensor(a!)")
          .kernels(DeviceType::Cpu, {{"test_gate", gate_detail::takes, gate_detail::run}}));
  return call<gate_detail::body>(op, Site::current(), self);
}

// Closed while in scope, then open and idle.
class ClosedGate {
 public:
  ClosedGate() { gate_is_open() = false; }
  ~ClosedGate() {
    gate_is_open() = true;
    synchronize(kQueue);
  }
  ClosedGate(const ClosedGate&) = delete;
  ClosedGate& operator=(const ClosedGate&) = delete;
  void open() { gate_is_open() = true; }
};

}  // namespace pel::test
