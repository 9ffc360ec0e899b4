// A kernel from text as the steps of a plan launch it: again and again, with operands of the same sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "device/async_device.h"

namespace pel {

// What Kernel::run launches for operands of known sizes: functions, shapes and numbers are found once, and a
// launch sets addresses. Used under the lock of the device.
class PreparedKernel {
 public:
  PreparedKernel() = default;  // drop() comes before it is destroyed
  PreparedKernel(const PreparedKernel&) = delete;
  PreparedKernel& operator=(const PreparedKernel&) = delete;

  // Launches what the kernel of `launch` does; runs the kernel the first time, to find what that is.
  void launch(AsyncDevice& device, StreamHandle stream, const DeviceLaunch& launch);
  // Adds what a kernel launches while it is prepared; called in its Kernel::run.
  void add(AsyncDevice& device, FunctionHandle function, const LaunchShape& shape, const LaunchArgs& args);
  void drop(AsyncDevice& device) noexcept;

 private:
  struct Address {
    std::uint8_t operand;  // kNoOperand: the address is null; kScratch
    std::int64_t offset;   // bytes
  };
  static constexpr std::uint8_t kNoOperand = 255, kScratch = 254;
  struct Function {
    FunctionHandle handle;
    LaunchShape shape;
    std::vector<Address> addresses;
    std::vector<std::int64_t> numbers;
    bool may_report;
  };
  void prepare(AsyncDevice& device, StreamHandle stream, const DeviceLaunch& launch);
  bool is_ready_ = false;
  std::vector<Function> functions_;
};

}  // namespace pel
