// The choice of a kernel by predicted and by measured time.
#include "choice/choice.h"

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/ops.h"

#include "choice/tuning.h"
#include "dispatch/launch_recording.h"
#include "support/page.h"

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

TEST(Choice, TuningMeasuresAndRemembersTheKernelsOfEachDevice) {
  const std::string path = testing::TempDir() + "/pellucid_tuning_devices_" + std::to_string(getpid());
  const Op& op = op_on_two_devices();
  const Tensor x = zeros({2});
  Operand operand;
  fill_operand_of(operand, x);
  const KernelArgs args{PEL_KERNEL_ARGS_VERSION, 1, 0, &operand, nullptr, 0, 0, nullptr, 0, nullptr};
  const auto winner = [&](Device device) {
    Tuning tuning(path);
    return std::string(tuning.choose(op, device, args, &op.kernels(device.type)[0], std::nullopt)->name);
  };
  EXPECT_TRUE(winner(kCpu).starts_with("cpu_"));
  const std::string on_meta = winner(kMeta);
  EXPECT_TRUE(on_meta.starts_with("meta_")) << on_meta;
  const std::string file = test::read_file(path);
  EXPECT_NE(file.find("cpu every_call cpu_"), std::string::npos) << file;
  EXPECT_NE(file.find("meta every_call " + on_meta), std::string::npos) << file;
  EXPECT_EQ(winner(kMeta), on_meta) << "a class that is known is not measured again";
  EXPECT_EQ(test::read_file(path), file);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace pel
