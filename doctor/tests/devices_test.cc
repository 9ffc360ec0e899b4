// The table of devices: names as profilers write them, and ratios that must hold whatever the figures are.
#include "doctor/model/devices.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "doctor/tests/real_traces.h"

namespace pel::doctor {
namespace {

const Device& device(std::string_view name) {
  const Device* found = find_device(name);
  if (found == nullptr) throw std::runtime_error("no device " + std::string(name));
  return *found;
}

// Data sheets round.
void expect_near_ratio(double value, double wanted, std::string_view what) {
  EXPECT_NEAR(value / wanted, 1, 0.03) << what;
}

TEST(Devices, AreFoundByTheNamesThatProfilersWrite) {
  struct Case {
    std::string_view name, arch;
    double gbytes;
  };
  for (const Case& c : {Case{"NVIDIA A100-SXM4-40GB", "sm80", 1555},
                        Case{"A100-SXM4-80GB", "sm80", 2039},
                        Case{"NVIDIA A100 80GB PCIe", "sm80", 1935},
                        Case{"NVIDIA A100-PCIE-40GB", "sm80", 1555},
                        Case{"NVIDIA A100-PG509-200", "sm80", 1555},
                        Case{"Tesla V100-SXM2-16GB", "sm70", 900},
                        Case{"Tesla V100-SXM2-32GB", "sm70", 900},
                        Case{"Tesla V100-DGXS-32GB", "sm70", 900},
                        Case{"NVIDIA H100 80GB HBM3", "sm90", 3350},
                        Case{"NVIDIA H100 PCIe", "sm90", 2000},
                        Case{"NVIDIA H100 NVL", "sm90", 3900},
                        Case{"NVIDIA H200", "sm90", 4800},
                        Case{"NVIDIA H20", "sm90", 4000},
                        Case{"NVIDIA B200", "sm100", 7700},
                        Case{"NVIDIA GB200", "sm100", 8000},
                        Case{"NVIDIA B300 SXM6 AC", "sm103", 8000},
                        Case{"NVIDIA A2", "sm86", 200},
                        Case{"NVIDIA RTX A5000", "sm86", 768},
                        Case{"Tesla T4", "sm75", 320},
                        Case{"NVIDIA A10", "sm86", 600},
                        Case{"NVIDIA L4", "sm89", 300},
                        Case{"NVIDIA L40S", "sm89", 864},
                        Case{"NVIDIA RTX A6000", "sm86", 768},
                        Case{"NVIDIA GeForce RTX 4090", "sm89", 1008},
                        Case{"AMD Instinct MI300X VF", "gfx942", 5300},
                        Case{"AMD Instinct MI300X", "gfx942", 5300},
                        Case{"AMD Instinct MI250X", "gfx90a", 1638},
                        Case{"AMD Instinct MI355X", "gfx950", 8000},
                        Case{"Intel(R) Data Center GPU Max 1550", "xe-hpc", 3277}}) {
    ASSERT_NE(find_device(c.name), nullptr) << c.name;
    EXPECT_EQ(device(c.name).arch, c.arch) << c.name;
    EXPECT_EQ(device(c.name).bytes_per_second(), c.gbytes * 1e9) << c.name;
  }
}

TEST(Devices, ANameThatNobodyKnowsIsNone) {
  for (const std::string_view name :
       {"", "NVIDIA", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA A10G", "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 4090 D", "NVIDIA L400", "*", "NVIDIA H2000"})
    EXPECT_EQ(find_device(name), nullptr) << name;
  EXPECT_EQ(find_device(std::string(1 << 20, 'A')), nullptr);
}

TEST(Devices, PeaksAreDenseAndDoubleWithEachHalvedDtype) {
  for (const Device& d : known_devices()) {
    const DensePeaks& p = d.dense;
    EXPECT_GT(d.gbytes_per_second, 0) << d.pattern;
    if (p.bf16 > 0 && d.arch != "gfx908") expect_near_ratio(p.bf16, p.f16, d.pattern);
    if (p.tf32 > 0) expect_near_ratio(p.bf16, 2 * p.tf32, d.pattern);
    if (p.f8 > 0) expect_near_ratio(p.f8, 2 * p.bf16, d.pattern);
    // GeForce's sums in f32 halve f8 alone; Blackwell Ultra has more of f4, and less of i8.
    const bool is_geforce = d.pattern.starts_with("GeForce");
    if (p.f4 > 0 && !is_geforce && d.arch != "sm103") expect_near_ratio(p.f4, 2 * p.f8, d.pattern);
    if (p.f8 > 0 && p.i8 > 0 && !is_geforce) expect_near_ratio(p.i8, p.f8, d.pattern);
    if (p.f16 > 0) {
      EXPECT_GE(p.f16, 1.9 * p.f32) << d.pattern;
    }
    EXPECT_LE(p.f64, p.f32) << d.pattern;
    EXPECT_EQ(&d, d.pattern.find('*') == std::string_view::npos ? find_device(d.pattern) : &d) << d.pattern;
  }
  expect_near_ratio(device("NVIDIA A100-SXM4-40GB").dense.bf16,
                    2 * device("NVIDIA A100-SXM4-40GB").dense.tf32, "A100");
  EXPECT_EQ(device("NVIDIA A100-SXM4-40GB").dense.f8, 0);
}

TEST(Devices, EveryRowHasItsSource) {
  for (const Device& d : known_devices()) {
    const std::string_view vendor = d.vendor == Vendor::Nvidia ? "NVIDIA "
                                    : d.vendor == Vendor::Amd  ? "AMD Instinct "
                                                               : "Intel ";
    EXPECT_TRUE(d.sheet.title.starts_with(vendor)) << d.pattern << ": " << d.sheet.title;
    EXPECT_GE(d.sheet.year, 2016) << d.pattern;
    EXPECT_LE(d.sheet.year, 2026) << d.pattern;
    // What has no data sheet says so.
    const bool has_sheet = d.sheet.title.find("no data sheet is public") == std::string_view::npos;
    EXPECT_EQ(has_sheet, d.pattern != "H800" && d.pattern != "H20" && d.pattern != "MI308X*") << d.pattern;
  }
}

// Devices of one chip differ in their memory and their clocks, not in the ratios of their dtypes.
TEST(Devices, OfOneChipHaveTheSameRatios) {
  for (const Device& a : known_devices()) {
    for (const Device& b : known_devices()) {
      const bool are_halved = a.pattern.starts_with("GeForce") || b.pattern.starts_with("GeForce") ||
                              a.pattern == "L40" || b.pattern == "L40";  // with sums in f32
      if (a.arch != b.arch || are_halved || a.dense.f16 == 0 || b.dense.f16 == 0) continue;
      const auto same = [&](double of_a, double of_b) {
        if (of_a == 0 || of_b == 0) return;
        EXPECT_NEAR(of_a / a.dense.f16, of_b / b.dense.f16, 0.04 * of_a / a.dense.f16)
            << a.pattern << ", " << b.pattern;
      };
      same(a.dense.bf16, b.dense.bf16);
      same(a.dense.tf32, b.dense.tf32);
      same(a.dense.f8, b.dense.f8);
      same(a.dense.i8, b.dense.i8);
    }
  }
}

// What a multiprocessor does in one cycle is known of each generation, so a figure stands for a clock, and it
// must be one that GPUs have.
TEST(Devices, FiguresStandForClocksThatGpusHave) {
  struct PerCycle {
    std::string_view arch;
    double f16;
  };
  constexpr PerCycle kPerCycle[] = {{"sm60", 256},    {"sm70", 1024},   {"sm75", 1024},   {"sm80", 2048},
                                    {"sm86", 1024},   {"sm89", 1024},   {"sm90", 4096},   {"sm100", 8192},
                                    {"sm120", 1024},  {"gfx908", 1024}, {"gfx90a", 1024}, {"gfx942", 2048},
                                    {"gfx950", 4096}, {"xe-hpc", 4096}};
  for (const Device& d : known_devices()) {
    if (d.multiprocessors == 0 || d.dense.f16 == 0 || d.pattern == "H20")
      continue;  // H20 is held back on purpose
    const auto at = std::ranges::find(kPerCycle, d.arch, &PerCycle::arch);
    ASSERT_NE(at, std::end(kPerCycle)) << d.arch;
    const bool is_halved = d.pattern.starts_with("GeForce") || d.pattern == "L40";  // with sums in f32
    const double ghz = d.dense.f16 * 1e3 / d.multiprocessors / (is_halved ? at->f16 / 2 : at->f16);
    EXPECT_GT(ghz, 1.2) << d.pattern;
    EXPECT_LT(ghz, 2.6) << d.pattern;
  }
}

TEST(Devices, PeaksAreAskedForByTheDtypesOfKernelNames) {
  const Device& h100 = device("NVIDIA H100 80GB HBM3");
  EXPECT_EQ(h100.flops_per_second("bf16"), 989.4e12);
  EXPECT_EQ(h100.flops_per_second("f8e4m3"), h100.flops_per_second("mxf8e4m3"));
  EXPECT_EQ(h100.flops_per_second("mxf4e2m1"), 0);
  EXPECT_EQ(device("NVIDIA B200").flops_per_second("mxf4"), 9000e12);
  EXPECT_EQ(h100.flops_per_second("text"), 0);
}

TEST(Devices, AreFoundByTheirLabelsAndByTheBeginningOfOne) {
  for (const Device& d : known_devices()) {
    const Device* found = find_device_by_label(label_of(d));
    ASSERT_NE(found, nullptr) << label_of(d);
    EXPECT_EQ(found->pattern, d.pattern);
  }
  EXPECT_EQ(label_of(device("NVIDIA A100-SXM4-80GB")), "A100 SXM 80GB");
  EXPECT_EQ(find_device_by_label("H100"), find_device("NVIDIA H100 80GB HBM3"));
  EXPECT_EQ(find_device_by_label("mi300x"), find_device("AMD Instinct MI300X"));
  EXPECT_EQ(find_device_by_label("A100 SXM"), find_device("A100-SXM4-80GB"));
  for (const std::string_view name : {"", "H", "H10", "A10 0", "Abacus"})
    EXPECT_EQ(find_device_by_label(name), nullptr) << name;
}

TEST(Devices, EveryNamedDeviceOfTheRealTracesIsFound) {
  PEL_SKIP_WITHOUT_TRACE("EXPECTED.json");
  simdjson::dom::parser parser;
  int devices = 0;
  for (const auto [trace, expected] :
       simdjson::dom::object(parser.load(test::real_trace("EXPECTED.json")).value())) {
    for (const auto name : simdjson::dom::array(expected["device"])) {
      const std::string_view text(name);
      if (text.empty()) continue;  // some versions of ROCm leave it out
      ++devices;
      EXPECT_NE(find_device(text), nullptr) << trace << ": " << text;
    }
  }
  EXPECT_GT(devices, 20);
}

}  // namespace
}  // namespace pel::doctor
