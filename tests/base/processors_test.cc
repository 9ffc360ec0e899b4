// The limits of control groups, read from made files of /proc and /sys.
#include "base/processors.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace pel {
namespace {

class ControlGroups : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text << '\n';
  }
  int limit() const { return processors_of_control_groups(root_); }

 private:
  std::string root_ =
      testing::TempDir() + "control_groups_" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ControlGroups, WithoutFilesThereIsNoLimit) { EXPECT_EQ(limit(), 0); }

TEST_F(ControlGroups, TheQuotaIsRoundedUpToProcessors) {
  write("/proc/self/cgroup", "0::/job");
  write("/sys/fs/cgroup/job/cpu.max", "150000 100000");
  EXPECT_EQ(limit(), 2);
  write("/sys/fs/cgroup/job/cpu.max", "10000 100000");
  EXPECT_EQ(limit(), 1);
  write("/sys/fs/cgroup/job/cpu.max", "max 100000");
  EXPECT_EQ(limit(), 0);
}

TEST_F(ControlGroups, OuterGroupsLimitInnerOnes) {
  write("/proc/self/cgroup", "0::/node/pod/job");
  write("/sys/fs/cgroup/node/cpu.max", "300000 100000");
  write("/sys/fs/cgroup/node/pod/cpu.max", "max 100000");
  write("/sys/fs/cgroup/node/pod/job/cpu.max", "800000 100000");
  EXPECT_EQ(limit(), 3);
}

TEST_F(ControlGroups, AContainerWhosePathIsTheHostsHasItsLimitAtTheMount) {
  write("/proc/self/cgroup", "0::/of/the/host");
  write("/sys/fs/cgroup/cpu.max", "400000 100000");
  EXPECT_EQ(limit(), 4);
}

TEST_F(ControlGroups, VersionOneHasTwoFiles) {
  write("/proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/job");
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "250000");
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000");
  EXPECT_EQ(limit(), 3);
  write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(limit(), 0);
}

TEST_F(ControlGroups, LinesThatAreNotUnderstoodAreSkipped) {
  write("/proc/self/cgroup", "\n0\n0:\n0::\n0::relative\n0::/job");
  write("/sys/fs/cgroup/job/cpu.max", "200000 100000");
  EXPECT_EQ(limit(), 2);
}

TEST(Processors, ThisProcessHasOne) { EXPECT_GE(available_processors(), 1); }

}  // namespace
}  // namespace pel
