// The roofs of a machine: their file, and what follows from them.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "profile/machine_file.h"
#include "support/errors.h"

namespace pel {
namespace {

// A file of its own, while in scope.
struct OwnFile {
  OwnFile() {
    path =
        (std::filesystem::temp_directory_path() / ("machine_" + std::to_string(getpid()) + ".txt")).string();
    setenv("PELLUCID_MACHINE", path.c_str(), 1);
  }
  ~OwnFile() {
    unsetenv("PELLUCID_MACHINE");
    std::filesystem::remove(path);
  }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  std::string path;
};

Machine example() {
  Machine machine = profile::empty_machine();
  machine.levels = {{"L1", 64000, 400}, {"L2", 2000000, 200}, {"memory", 0, 20}};
  machine.peaks = {{DType::F32, 100, "fma"}, {DType::F64, 50, "fma"}, {DType::BF16, 800, "two words"}};
  machine.wake_ns = 15000;
  machine.join_ns = 900;
  return machine;
}

TEST(Machine, ARoofIsTheSlowerOfMovingAndComputing) {
  const Machine machine = example();
  EXPECT_EQ(machine.level_of(64000).name, "L1");
  EXPECT_EQ(machine.level_of(64001).name, "L2");
  EXPECT_EQ(machine.level_of(2000001).name, "memory");
  EXPECT_DOUBLE_EQ(machine.roof_ns(40000, 0, DType::F32), 100);
  EXPECT_DOUBLE_EQ(machine.roof_ns(40000, 20000, DType::F32), 200);
  EXPECT_DOUBLE_EQ(machine.roof_ns(40000, 20000, DType::F16), 200);  // computed in f32
  EXPECT_DOUBLE_EQ(machine.roof_ns(40000, 20000, DType::F64), 400);
  EXPECT_DOUBLE_EQ(machine.roof_ns(4000000, 0, DType::F32), 200000);
}

TEST(Machine, IsKnownOnceItIsStoredAndOnlyOnThisProcessor) {
  const OwnFile file;
  EXPECT_FALSE(Machine::known());
  profile::keep_machine(example());
  const std::optional<Machine> known = Machine::known();
  ASSERT_TRUE(known);
  EXPECT_EQ(profile::machine_text(*known), profile::machine_text(example()));
  EXPECT_EQ(known->peaks[2].by, "two words");
  Machine other = example();
  other.threads += 1;
  profile::keep_machine(other);
  EXPECT_FALSE(Machine::known());
  other = example();
  other.cpu = "another";
  profile::keep_machine(other);
  EXPECT_FALSE(Machine::known());
}

TEST(Machine, ABrokenFileIsIgnored) {
  const std::string whole = profile::machine_text(example());
  ASSERT_TRUE(profile::parse_machine(whole));
  EXPECT_FALSE(profile::parse_machine(""));
  EXPECT_FALSE(profile::parse_machine("another file\n"));
  EXPECT_FALSE(profile::parse_machine(whole + "peak f31 3 x\n"));
  EXPECT_FALSE(profile::parse_machine(whole + "level L9\n"));
  EXPECT_FALSE(profile::parse_machine(whole + "peak f32 0 x\n"));
  EXPECT_FALSE(profile::parse_machine(whole + "wake 15000 0\n"));
  EXPECT_FALSE(profile::parse_machine(whole.substr(0, whole.find("level"))));
}

TEST(Machine, IsMeasuredInSensibleOrder) {
  const OwnFile file;
  double last = -1;
  const Machine machine = Machine::measure([&](const char*, double done) {
    EXPECT_GE(done, last);
    last = done;
  });
  EXPECT_EQ(last, 1);
  ASSERT_GE(machine.levels.size(), 1u);
  EXPECT_EQ(machine.levels.back().name, "memory");
  for (const MemoryLevel& level : machine.levels) EXPECT_GT(level.gb_per_s, 0.5) << level.name;
  EXPECT_EQ(machine.wake_ns > 0, machine.threads > 1);
  EXPECT_EQ(machine.join_ns > 0, machine.threads > 1);
  EXPECT_GT(machine.levels.front().gb_per_s, machine.levels.back().gb_per_s);
  EXPECT_GT(machine.gflop_per_s(DType::F32), 1);
  // Twice as many lanes; a busy core may have halved one of them.
  EXPECT_GT(1.5 * machine.gflop_per_s(DType::F32), machine.gflop_per_s(DType::F64));
  EXPECT_TRUE(Machine::known());
}

TEST(Machine, TablesCompareKernelsWithIt) {
  const OwnFile file;
  const Tensor x = ones({1000});
  const auto one_relu = [&](auto&& look) {
    Profile profile;
    relu(x);
    look(profile);
  };
  one_relu([](Profile& profile) {
    EXPECT_EQ(profile.rows(ProfileBy::Op).at(0).roof_ns, 0);
    EXPECT_NE(profile.table().find("run `pellucid machine`"), std::string::npos);
  });
  profile::keep_machine(example());
  one_relu([](Profile& profile) {
    EXPECT_DOUBLE_EQ(profile.rows(ProfileBy::Op).at(0).roof_ns, 8000 / 400.0);
    EXPECT_EQ(profile.table().find("run `pellucid machine`"), std::string::npos);
  });
}

}  // namespace
}  // namespace pel
