// A program with known launches, copies and waits on an asynchronous device gives exactly these in the
// profile, its tables and its trace, and in what the doctor says of the trace.
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/pellucid.h"

#include "device/gate.h"
#include "doctor/diagnosis/diagnose.h"
#include "doctor/diagnosis/examination.h"
#include "doctor/readers/kineto.h"
#include "support/bytes.h"

namespace pel {
namespace {

using test::ClosedGate;
using test::wait_at_gate_;
using DeviceEventKind = ProfileEvent::Kind;

// One of the profile's events, with what is compared here.
struct DeviceEventSeen {
  DeviceEventKind kind;
  std::string name, op;
  std::uint32_t line, thread, caller_thread;
  std::uint64_t begin_ns, end_ns, correlation, queued, id;
  int stream;
  std::int64_t bytes;
};
std::vector<DeviceEventSeen> device_events(Profile& profile) {
  std::vector<DeviceEventSeen> seen;
  profile.each([&](const ProfileEvent& e) {
    if (is_asynchronous(e.device))
      seen.push_back({e.kind, e.name, e.op, e.site.line(), e.thread, e.caller_thread, e.begin_ns, e.end_ns,
                      e.correlation, e.queued, e.id, e.stream, e.bytes});
  });
  return seen;
}
std::vector<DeviceEventSeen> of_kind(const std::vector<DeviceEventSeen>& all, DeviceEventKind kind) {
  std::vector<DeviceEventSeen> found;
  for (const DeviceEventSeen& e : all)
    if (e.kind == kind) found.push_back(e);
  return found;
}

// Opens the gate once this thread sleeps in its next wait, and `lost` after that.
class OpensWhenWaiting {
 public:
  OpensWhenWaiting(ClosedGate& gate, std::chrono::milliseconds lost)
      : thread_([&gate, lost, waiter = gettid()] {
          const std::string path = fmt::format("/proc/self/task/{}/stat", waiter);
          for (;;) {
            std::stringstream text;
            text << std::ifstream(path).rdbuf();
            const std::string stat = text.str();
            const std::size_t after_name = stat.rfind(')');
            if (after_name + 2 < stat.size() && stat[after_name + 2] == 'S') break;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
          }
          std::this_thread::sleep_for(lost);
          gate.open();
        }) {}

 private:
  std::jthread thread_;
};

constexpr std::chrono::milliseconds kLost{4};

// The made program: two waits, each for a closed gate, and its lines.
struct MadeWaits {
  std::uint32_t read_line = 0, synchronize_line = 0;

  void run(const Tensor& x) {
    {
      ClosedGate gate;
      wait_at_gate_(x);
      const Tensor y = sum(x * 2 + 1);
      const OpensWhenWaiting opens(gate, kLost);
      read_line = __LINE__ + 1;
      EXPECT_EQ(y.item().to_double(), 12);
    }
    {
      ClosedGate gate;
      const StreamScope other(Stream(kQueue, 1));
      wait_at_gate_(x);
      const Tensor y = x + 1;
      const OpensWhenWaiting opens(gate, kLost);
      synchronize_line = __LINE__ + 1;
      synchronize(kQueue);
    }
  }
};

class DeviceProfile : public testing::Test {
 protected:
  void SetUp() override { synchronize(kQueue); }
  void TearDown() override { synchronize(kQueue); }
};

TEST_F(DeviceProfile, LaunchesAreOnTheCallerAndKernelsOnTheDevice) {
  const Tensor x = ones({4}, {kF32, kQueue});
  synchronize(kQueue);
  Profile profile;
  const std::uint32_t line = __LINE__ + 1;
  const Tensor y = relu(x);
  const Tensor z = ones({3}).to(kQueue);
  profile.stop();  // waits for the kernels
  const auto all = device_events(profile);
  const auto launches = of_kind(all, DeviceEventKind::Launch),
             kernels = of_kind(all, DeviceEventKind::Kernel), copies = of_kind(all, DeviceEventKind::Copy);
  ASSERT_EQ(launches.size(), 2U);
  ASSERT_EQ(kernels.size(), 1U);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_TRUE(of_kind(all, DeviceEventKind::Sync).empty());
  EXPECT_EQ(kernels[0].op, "relu");
  EXPECT_EQ(kernels[0].line, line);
  EXPECT_EQ(kernels[0].correlation, launches[0].correlation);
  EXPECT_EQ(kernels[0].caller_thread, launches[0].thread);
  EXPECT_NE(kernels[0].thread, launches[0].thread);
  EXPECT_EQ(kernels[0].id, launches[0].id);
  EXPECT_GE(kernels[0].begin_ns, launches[0].begin_ns);
  EXPECT_EQ(copies[0].correlation, launches[1].correlation);
  EXPECT_NE(copies[0].correlation, kernels[0].correlation);
  EXPECT_EQ(copies[0].bytes, 12);
  EXPECT_GE(copies[0].begin_ns, launches[1].end_ns);
}

TEST_F(DeviceProfile, KernelsThatWereQueuedBeforeHaveNoLaunch) {
  const Tensor x = zeros({4}, {kF32, kQueue});
  ClosedGate gate;
  wait_at_gate_(x);
  const Tensor before = relu(x);
  Profile profile;
  const Tensor after = neg(x);
  gate.open();
  profile.stop();
  std::map<std::string, DeviceEventSeen> kernels;
  for (const DeviceEventSeen& e : of_kind(device_events(profile), DeviceEventKind::Kernel))
    kernels.emplace(e.op, e);
  EXPECT_EQ(kernels.at("relu").correlation, 0U);
  EXPECT_NE(kernels.at("neg").correlation, 0U);
  EXPECT_EQ(of_kind(device_events(profile), DeviceEventKind::Launch).size(), 1U);
}

// The wait at the end of a profile is neither forbidden nor counted.
TEST_F(DeviceProfile, TheWaitAtItsEndDoesNotCount) {
  const Tensor x = ones({4}, {kF32, kQueue});
  synchronize(kQueue);
  reset_device_stats(kQueue);
  const ForbidSync forbid;
  Profile profile;
  const Tensor y = relu(x);
  EXPECT_EQ(of_kind(device_events(profile), DeviceEventKind::Kernel).size(), 1U);
  EXPECT_EQ(device_stats(kQueue).waits, 0U);
}

TEST_F(DeviceProfile, KnownWaitsAreInTheProfileAndItsTables) {
  const Tensor x = zeros({4}, {kF32, kQueue});
  synchronize(kQueue);
  reset_device_stats(kQueue);
  MadeWaits made;
  Profile profile;
  made.run(x);
  profile.stop();
  const auto waits = of_kind(device_events(profile), DeviceEventKind::Sync);
  ASSERT_EQ(waits.size(), 4U);  // ClosedGate synchronizes when it is left
  EXPECT_EQ(waits[0].name, "to read an element");
  EXPECT_EQ(waits[0].line, made.read_line);
  EXPECT_EQ(waits[0].queued, 5U);  // the gate, *, +, sum, and the copy of the element
  EXPECT_EQ(waits[0].stream, 0);
  EXPECT_EQ(waits[2].name, "in synchronize");
  EXPECT_EQ(waits[2].line, made.synchronize_line);
  EXPECT_EQ(waits[2].queued, 2U);
  EXPECT_EQ(waits[2].stream, -1);
  const auto lost_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(kLost).count());
  EXPECT_GE(waits[0].end_ns - waits[0].begin_ns, lost_ns);
  EXPECT_GE(waits[2].end_ns - waits[2].begin_ns, lost_ns);
  for (const int empty : {1, 3}) EXPECT_EQ(waits[static_cast<std::size_t>(empty)].queued, 0U);

  // What the device counts itself.
  std::map<std::uint32_t, DeviceWait> counted;
  for (const DeviceWait& wait : device_waits(kQueue)) counted.emplace(wait.site.line(), wait);
  EXPECT_EQ(counted.at(made.read_line).queued, 5U);
  EXPECT_EQ(counted.at(made.synchronize_line).queued, 2U);

  const auto rows = profile.rows(ProfileBy::Wait);
  ASSERT_EQ(rows.size(), 3U);
  std::uint64_t calls = 0;
  bool has_read = false, has_synchronize = false;
  for (const ProfileRow& row : rows) {
    calls += row.calls;
    const auto is_at = [&](const char* why, std::uint32_t line) {
      return row.name.starts_with(why) && row.name.ends_with(fmt::format("device_profile_test.cc:{}", line));
    };
    if (is_at("to read an element, ", made.read_line)) {
      has_read = true;
      EXPECT_EQ(row.total_ns, waits[0].end_ns - waits[0].begin_ns);
      EXPECT_EQ(row.queued, 5U);
    }
    if (is_at("in synchronize, ", made.synchronize_line)) {
      has_synchronize = true;
      EXPECT_EQ(row.queued, 2U);
    }
  }
  EXPECT_EQ(calls, 4U);
  EXPECT_TRUE(has_read && has_synchronize);
  EXPECT_NE(profile.table(ProfileBy::Wait).find(fmt::format(":{} ", made.read_line)), std::string::npos)
      << profile.table(ProfileBy::Wait);
  EXPECT_NE(profile.table().find("4 waits for devices took "), std::string::npos) << profile.table();
}

// Launches stand in the ops around them; kernels have the time that they took on the device.
TEST_F(DeviceProfile, TablesJoinLaunchesWithTheirKernels) {
  const Tensor x = ones({64, 64}, {kF32, kQueue});
  synchronize(kQueue);
  Profile profile;
  const Tensor y = linear(x, x);
  const Tensor z = relu(y);
  profile.stop();
  std::map<std::string, ProfileRow> ops;
  for (const ProfileRow& row : profile.rows(ProfileBy::Op)) ops.emplace(row.name, row);
  EXPECT_EQ(ops.at("linear").kernels, 1U);
  EXPECT_EQ(ops.at("linear").own_kernels, 0U);
  EXPECT_EQ(ops.at("mm").own_kernels, 1U);
  EXPECT_EQ(ops.at("mm").flops, 2U * 64 * 64 * 64);
  EXPECT_EQ(ops.at("relu").bytes, 2U * 64 * 64 * 4);
  std::uint64_t kernel_ns = 0;
  for (const DeviceEventSeen& e : of_kind(device_events(profile), DeviceEventKind::Kernel))
    kernel_ns += e.end_ns - e.begin_ns;
  EXPECT_EQ(ops.at("mm").kernel_ns + ops.at("relu").kernel_ns, kernel_ns);
  for (const ProfileBy by : {ProfileBy::Kernel, ProfileBy::Site}) {
    std::uint64_t kernels = 0, ns = 0;
    for (const ProfileRow& row : profile.rows(by)) kernels += row.own_kernels, ns += row.own_kernel_ns;
    EXPECT_EQ(kernels, 2U);
    EXPECT_EQ(ns, kernel_ns);
  }
}

const doctor::Finding& finding_of(const doctor::Diagnosis& diagnosis, std::string_view key) {
  for (const doctor::Finding& finding : diagnosis.findings)
    if (finding.key == key) return finding;
  throw std::runtime_error("no finding " + std::string(key));
}
const doctor::Value& cell_of(const doctor::Table& table, std::size_t row, std::string_view column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].key == column) return table.rows.at(row).at(i);
  throw std::runtime_error("no column " + std::string(column));
}

TEST_F(DeviceProfile, TheDoctorReadsTheWaitsWithTheirReasons) {
  const Tensor x = zeros({4}, {kF32, kQueue});
  synchronize(kQueue);
  MadeWaits made;
  Profile profile;
  made.run(x);
  const std::string path = testing::TempDir() + "pellucid_device_profile.json";
  profile.write_trace(path);
  const auto waits = of_kind(device_events(profile), DeviceEventKind::Sync);
  ASSERT_EQ(waits.size(), 4U);

  std::uint64_t rows_on_device = 0, flows = 0;
  const doctor::TraceSummary summary = doctor::read_kineto(path, [&](const doctor::TraceEvent& e) {
    if (e.category == doctor::Category::Kernel || e.category == doctor::Category::Memcpy)
      rows_on_device += e.process.number == 1;
    flows += e.phase == doctor::Phase::FlowEnd && e.category == doctor::Category::LaunchFlow;
  });
  EXPECT_EQ(summary.count(doctor::Phase::Span, doctor::Category::Kernel), 6U);
  EXPECT_EQ(summary.count(doctor::Phase::Span, doctor::Category::Memcpy), 1U);
  EXPECT_EQ(summary.count(doctor::Phase::Span, doctor::Category::Runtime), 7U + 4U);
  EXPECT_EQ(rows_on_device, 7U);
  EXPECT_EQ(flows, 7U);

  const doctor::Diagnosis diagnosis = doctor::diagnose(doctor::Examination(path));
  const doctor::Finding& syncs = finding_of(diagnosis, "syncs");
  EXPECT_EQ(syncs.facts[0].value, doctor::Value(std::int64_t{4}));  // sync calls
  EXPECT_EQ(syncs.facts[1].value, doctor::Value(std::int64_t{0}));  // blocking copies
  const doctor::Table& table = syncs.tables.at(0);
  ASSERT_EQ(table.rows.size(), 3U);
  bool has_read = false, has_synchronize = false;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string call = std::get<std::string>(cell_of(table, row, "call"));
    const std::string where = std::get<std::string>(cell_of(table, row, "location"));
    const auto queued = std::get<std::int64_t>(cell_of(table, row, "queued"));
    const auto waited = std::get<std::int64_t>(cell_of(table, row, "waited_ns"));
    if (call == "cudaStreamSynchronize to read an element") {
      has_read = where.ends_with(fmt::format("device_profile_test.cc:{}", made.read_line)) && queued == 5 &&
                 waited == static_cast<std::int64_t>(waits[0].end_ns - waits[0].begin_ns);
      EXPECT_TRUE(has_read) << where << " " << queued << " " << waited;
    } else if (queued != 0) {
      EXPECT_EQ(call, "cudaDeviceSynchronize in synchronize");
      has_synchronize = where.ends_with(fmt::format(":{}", made.synchronize_line)) && queued == 2;
      EXPECT_TRUE(has_synchronize) << where << " " << queued;
    }
  }
  EXPECT_TRUE(has_read && has_synchronize);

  // Depth and delay: *, +, sum and a copy waited for the first gate.
  const doctor::Finding& dispatch = finding_of(diagnosis, "dispatch");
  std::map<std::string, doctor::Value> facts;
  for (const doctor::Fact& fact : dispatch.facts) facts[fact.key] = fact.value;
  EXPECT_EQ(facts.at("launches"), doctor::Value(std::int64_t{7}));
  EXPECT_GE(std::get<std::int64_t>(facts.at("queue_max")), 4);
  EXPECT_LE(std::get<std::int64_t>(facts.at("queue_max")), 5);
  EXPECT_GE(std::get<std::int64_t>(facts.at("delay_p50_ns")), 1'000'000);
  ASSERT_EQ(dispatch.tables.size(), 2U);
  EXPECT_EQ(dispatch.tables[1].rows.size(), 2U);  // two streams
  std::remove(path.c_str());
}

}  // namespace
}  // namespace pel
