// The choice of a kernel by predicted and by measured time.
#include "dispatch/choice.h"

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/ops.h"

#include "dispatch/launch_recording.h"

namespace pel {
namespace {

Tensor two_devices_body(const Op& op, const Tensor& x) {
  launch(op, {x}, {});
  return x;
}

template <int Ns>
Kernel predicted(const char* name) {
  Kernel kernel{name, [](const KernelArgs&) { return Support::yes(); }, [](Stream&, const KernelArgs&) {}};
  kernel.predict = [](const KernelArgs&) { return double{Ns}; };
  kernel.shape_class = [](const KernelArgs&) { return std::string("every_call"); };
  return kernel;
}

// Meta stands for the second device: tensors exist on it, and kernels are not run on it.
const Op& op_on_two_devices() {
  static const Op& op =
      register_op(define_op<two_devices_body>(OpKind::Kernel, "test::two_devices(Tensor(a!) x) -> Tensor(a!)")
                      .kernels(DeviceType::Cpu, {predicted<30>("cpu_slow"), predicted<20>("cpu_fast")})
                      .kernels(DeviceType::Meta, {predicted<30>("meta_slow"), predicted<10>("meta_fast"),
                                                  predicted<20>("meta_medium")}));
  return op;
}

TEST(Choice, ByPredictionWalksTheListOfTheCallsDevice) {
  const Tensor x = empty({2}, kMeta);
  LaunchRecording recording;
  call_boxed(op_on_two_devices(), {x});
  const auto launches = recording.take();
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_STREQ(launches[0].kernel->name, "meta_fast");
}

TEST(Choice, AnExplanationNamesTheKernelsOfTheCallsDevice) {
  const Tensor x = empty({2}, kMeta);
  const KernelChoice choice = explain_launch(op_on_two_devices(), {x}, {}, {}, Measure::No);
  ASSERT_EQ(choice.candidates.size(), 3u);
  ASSERT_TRUE(choice.winner.has_value());
  EXPECT_EQ(choice.candidates[*choice.winner].name, "meta_fast");
}

}  // namespace
}  // namespace pel
