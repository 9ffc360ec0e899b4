#include "device/prepared_kernel.h"

#include "base/check.h"
#include "base/small_vector.h"

namespace pel {

// To find what depends on which operand, the kernel runs over addresses that only name their operand.
namespace {

constexpr int kOperandShift = 40;  // offsets are smaller
std::byte* name_of_operand(std::uint64_t operand) {
  return reinterpret_cast<std::byte*>(kAddressBit | (operand << kOperandShift));
}

}  // namespace

void PreparedKernel::prepare(AsyncDevice& device, StreamHandle stream, const DeviceLaunch& launch) {
  const KernelArgs& given = *launch.args;
  const std::size_t count = std::size_t{given.output_count} + given.input_count;
  PEL_ASSERT(count < kScratch, "a kernel has few operands");
  SmallVector<Operand, 16> operands;
  for (std::size_t i = 0; i < count; ++i) {
    operands.push_back(given.operands[i]);
    if (is_device_address(given.operands[i].data)) operands[i].data = name_of_operand(i);
  }
  KernelArgs args = given;
  args.operands = operands.data();
  if (args.scratch != nullptr) args.scratch = name_of_operand(kScratch);
  struct Target {
    LaunchTarget before = launch_target();
    ~Target() { launch_target() = before; }
  } restored;
  launch_target() = {&device, stream, this};
  Stream of_kernel(Device{}, 0);
  try {
    launch.kernel->run(of_kernel, args);
  } catch (...) {
    drop(device);
    throw;
  }
  is_ready_ = true;
}

void PreparedKernel::add(AsyncDevice& device, FunctionHandle function, const LaunchShape& shape,
                         const LaunchArgs& args) {
  Function& added = functions_.emplace_back(Function{
      device.copy(function), shape, {}, {args.numbers, args.numbers + args.number_count}, args.may_report});
  for (const std::byte* const address : args.addresses) {
    if (address == nullptr) {
      added.addresses.push_back({kNoOperand, 0});
      continue;
    }
    const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address) & ~kAddressBit);
    added.addresses.push_back({static_cast<std::uint8_t>(bits >> kOperandShift),
                               static_cast<std::int64_t>(bits & ((std::uint64_t{1} << kOperandShift) - 1))});
  }
}

void PreparedKernel::launch(AsyncDevice& device, StreamHandle stream, const DeviceLaunch& launch) {
  if (!is_ready_) [[unlikely]]
    prepare(device, stream, launch);
  const KernelArgs& args = *launch.args;
  SmallVector<std::byte*, 16> addresses;
  for (Function& function : functions_) {
    addresses.clear();
    for (const Address& address : function.addresses) {
      auto* const base =
          static_cast<std::byte*>(address.operand == kNoOperand ? nullptr
                                  : address.operand == kScratch ? args.scratch
                                                                : args.operands[address.operand].data);
      addresses.push_back(base == nullptr ? nullptr : base + address.offset);
    }
    device.launch(stream, function.handle, function.shape,
                  {{addresses.data(), addresses.size()},
                   function.numbers.data(),
                   function.numbers.size(),
                   function.may_report,
                   true});
  }
}

void PreparedKernel::drop(AsyncDevice& device) noexcept {
  for (const Function& function : functions_) device.drop(function.handle);
  functions_.clear();
  is_ready_ = false;
}

}  // namespace pel
