#include "doctor/model/devices.h"

#include <algorithm>
#include <cctype>

#include "doctor/names/name_text.h"

namespace pel::doctor {
namespace {

using enum Vendor;

// Sheets that round differently are named by the one whose figures stand in the table.
constexpr DataSheet kP100{"NVIDIA Tesla P100 GPU Accelerator, data sheet", 2016};
constexpr DataSheet kV100{"NVIDIA V100 Tensor Core GPU, data sheet", 2020};
constexpr DataSheet kVolta{"NVIDIA Tesla V100 GPU Architecture, white paper", 2017};
constexpr DataSheet kT4{"NVIDIA T4 Tensor Core GPU, data sheet", 2019};
constexpr DataSheet kA100{"NVIDIA A100 Tensor Core GPU, data sheet", 2021};
constexpr DataSheet kA800{"NVIDIA A800, figures of the A100 data sheet: only its links are slower", 2021};
constexpr DataSheet kA30{"NVIDIA A30 Tensor Core GPU, data sheet", 2022};
constexpr DataSheet kA10{"NVIDIA A10 Tensor Core GPU, data sheet", 2021};
constexpr DataSheet kA2{"NVIDIA A2 Tensor Core GPU, data sheet", 2021};
constexpr DataSheet kA40{"NVIDIA A40, data sheet", 2021};
constexpr DataSheet kA5000{"NVIDIA RTX A5000, data sheet", 2021};
constexpr DataSheet kA6000{"NVIDIA RTX A6000, data sheet", 2021};
constexpr DataSheet kGa102{"NVIDIA Ampere GA102 GPU Architecture, white paper", 2021};
constexpr DataSheet kL4{"NVIDIA L4 Tensor Core GPU, data sheet", 2023};
constexpr DataSheet kL40{"NVIDIA L40, data sheet", 2022};
constexpr DataSheet kL40s{"NVIDIA L40S, data sheet", 2023};
constexpr DataSheet kAda{"NVIDIA Ada GPU Architecture, white paper", 2023};
constexpr DataSheet kH100{"NVIDIA H100 Tensor Core GPU Architecture, white paper", 2023};
constexpr DataSheet kH100Nvl{"NVIDIA H100 Tensor Core GPU, data sheet", 2024};
constexpr DataSheet kH800{
    "NVIDIA H800, figures of the H100 white paper with reported limits: no data sheet is public", 2023};
constexpr DataSheet kH20{"NVIDIA H20, reported figures: no data sheet is public", 2023};
constexpr DataSheet kH200{"NVIDIA H200 Tensor Core GPU, data sheet", 2024};
constexpr DataSheet kGh200{"NVIDIA GH200 Grace Hopper Superchip, data sheet", 2024};
constexpr DataSheet kBlackwell{"NVIDIA Blackwell Architecture, technical brief", 2024};
constexpr DataSheet kHgx{"NVIDIA HGX B200 and B300, data sheet", 2025};
constexpr DataSheet kGb202{"NVIDIA RTX Blackwell GPU Architecture, white paper", 2025};
constexpr DataSheet kMi100{"AMD Instinct MI100 Accelerator, data sheet", 2020};
constexpr DataSheet kMi210{"AMD Instinct MI210 Accelerator, data sheet", 2022};
constexpr DataSheet kMi250{"AMD Instinct MI250 and MI250X Accelerators, data sheet", 2021};
constexpr DataSheet kMi300{"AMD Instinct MI300X and MI300A Accelerators, data sheets", 2023};
constexpr DataSheet kMi308{"AMD Instinct MI308X, memory as reported: no data sheet is public", 2024};
constexpr DataSheet kMi325{"AMD Instinct MI325X Accelerator, data sheet", 2024};
constexpr DataSheet kMi350{"AMD Instinct MI350X and MI355X GPUs, data sheets", 2025};
constexpr DataSheet kMax{"Intel Data Center GPU Max Series, technical overview", 2023};

// The first pattern that fits wins. Peaks: f64, f32, tf32, f16, bf16, f8, f4, i8; those of f64 and f32 on
// tensor or matrix cores where a device has them for that dtype.
constexpr Device kDevices[] = {
    // Pascal, Volta, Turing.
    {"P100-SXM2*", Nvidia, "sm60", 56, 732, {5.3, 10.6, 0, 21.2, 0, 0, 0, 0}, kP100},
    {"P100-PCIE-16GB", Nvidia, "sm60", 56, 732, {4.7, 9.3, 0, 18.7, 0, 0, 0, 0}, kP100},
    {"P100-PCIE-12GB", Nvidia, "sm60", 56, 549, {4.7, 9.3, 0, 18.7, 0, 0, 0, 0}, kP100},
    {"V100S-PCIE*", Nvidia, "sm70", 80, 1134, {8.2, 16.4, 0, 130, 0, 0, 0, 0}, kV100},
    {"V100-PCIE*", Nvidia, "sm70", 80, 900, {7, 14, 0, 112, 0, 0, 0, 0}, kV100},
    {"V100-SXM2*", Nvidia, "sm70", 80, 900, {7.8, 15.7, 0, 125, 0, 0, 0, 0}, kV100},
    {"V100-SXM3*", Nvidia, "sm70", 80, 900, {7.8, 15.7, 0, 125, 0, 0, 0, 0}, kVolta},
    {"V100-DGXS*", Nvidia, "sm70", 80, 900, {7.8, 15.7, 0, 125, 0, 0, 0, 0}, kVolta},
    {"T4", Nvidia, "sm75", 40, 320, {0, 8.1, 0, 65, 0, 0, 0, 130}, kT4},
    // Ampere. PG509-200 is an A100 of 40 GB.
    {"A100*SXM*80GB*", Nvidia, "sm80", 108, 2039, {19.5, 19.5, 156, 312, 312, 0, 0, 624}, kA100},
    {"A100*SXM*40GB*", Nvidia, "sm80", 108, 1555, {19.5, 19.5, 156, 312, 312, 0, 0, 624}, kA100},
    {"A100*80GB*", Nvidia, "sm80", 108, 1935, {19.5, 19.5, 156, 312, 312, 0, 0, 624}, kA100},
    {"A100*40GB*", Nvidia, "sm80", 108, 1555, {19.5, 19.5, 156, 312, 312, 0, 0, 624}, kA100},
    {"A100-PG509-200", Nvidia, "sm80", 108, 1555, {19.5, 19.5, 156, 312, 312, 0, 0, 624}, kA100},
    {"A800*SXM*80GB*", Nvidia, "sm80", 108, 2039, {19.5, 19.5, 156, 312, 312, 0, 0, 624}, kA800},
    {"A800*80GB*", Nvidia, "sm80", 108, 1935, {19.5, 19.5, 156, 312, 312, 0, 0, 624}, kA800},
    {"A30", Nvidia, "sm80", 56, 933, {10.3, 10.3, 82, 165, 165, 0, 0, 330}, kA30},
    {"A10", Nvidia, "sm86", 72, 600, {0, 31.2, 62.5, 125, 125, 0, 0, 250}, kA10},
    {"A40", Nvidia, "sm86", 84, 696, {0, 37.4, 74.8, 149.7, 149.7, 0, 0, 299.3}, kA40},
    {"A2", Nvidia, "sm86", 10, 200, {0, 4.5, 9, 18, 18, 0, 0, 36}, kA2},
    {"RTX A5000", Nvidia, "sm86", 64, 768, {0, 27.8, 55.6, 111.1, 111.1, 0, 0, 222.2}, kA5000},
    {"RTX A6000", Nvidia, "sm86", 84, 768, {0, 38.7, 77.4, 154.8, 154.8, 0, 0, 309.7}, kA6000},
    {"GeForce RTX 3090", Nvidia, "sm86", 82, 936, {0, 35.6, 35.6, 71, 71, 0, 0, 284}, kGa102},
    // Ada. Those of GeForce are with sums in f32.
    {"L4", Nvidia, "sm89", 58, 300, {0, 30.3, 60, 121, 121, 242.5, 0, 242.5}, kL4},
    {"L40", Nvidia, "sm89", 142, 864, {0, 90.5, 90.5, 181, 181, 362, 0, 362}, kL40},
    {"L40S", Nvidia, "sm89", 142, 864, {0, 91.6, 183, 362, 362, 733, 0, 733}, kL40s},
    {"RTX 6000 Ada Generation",
     Nvidia,
     "sm89",
     142,
     960,
     {0, 91.1, 182.1, 364.2, 364.2, 728.5, 0, 728.5},
     kAda},
    {"GeForce RTX 4090", Nvidia, "sm89", 128, 1008, {0, 82.6, 82.6, 165.2, 165.2, 330.3, 0, 660.6}, kAda},
    // Hopper.
    {"H100 80GB HBM3*", Nvidia, "sm90", 132, 3350, {67, 67, 494.7, 989.4, 989.4, 1978.9, 0, 1978.9}, kH100},
    {"H100 SXM5*", Nvidia, "sm90", 132, 3350, {67, 67, 494.7, 989.4, 989.4, 1978.9, 0, 1978.9}, kH100},
    {"H100 NVL", Nvidia, "sm90", 132, 3900, {60, 60, 417.5, 835.5, 835.5, 1670.5, 0, 1670.5}, kH100Nvl},
    {"H100 PCIe", Nvidia, "sm90", 114, 2000, {51, 51, 378, 756, 756, 1513, 0, 1513}, kH100},
    {"H800", Nvidia, "sm90", 132, 3350, {1, 67, 494.7, 989.4, 989.4, 1978.9, 0, 1978.9}, kH800},
    {"H20", Nvidia, "sm90", 78, 4000, {1, 44, 74, 148, 148, 296, 0, 296}, kH20},
    {"H200 NVL", Nvidia, "sm90", 132, 4800, {60, 60, 417.5, 835.5, 835.5, 1670.5, 0, 1670.5}, kH200},
    {"H200", Nvidia, "sm90", 132, 4800, {67, 67, 494.7, 989.4, 989.4, 1978.9, 0, 1978.9}, kH200},
    {"GH200 480GB", Nvidia, "sm90", 132, 4000, {67, 67, 494.7, 989.4, 989.4, 1978.9, 0, 1978.9}, kGh200},
    {"GH200 144G*", Nvidia, "sm90", 132, 4900, {67, 67, 494.7, 989.4, 989.4, 1978.9, 0, 1978.9}, kGh200},
    // Blackwell.
    {"B100", Nvidia, "sm100", 0, 8000, {30, 60, 875, 1750, 1750, 3500, 7000, 3500}, kBlackwell},
    {"B200", Nvidia, "sm100", 148, 7700, {37, 75, 1125, 2250, 2250, 4500, 9000, 4500}, kHgx},
    {"GB200", Nvidia, "sm100", 0, 8000, {40, 80, 1250, 2500, 2500, 5000, 10000, 5000}, kBlackwell},
    {"B300*", Nvidia, "sm103", 0, 8000, {1.25, 75, 1125, 2250, 2250, 4500, 13125, 0}, kHgx},
    {"GeForce RTX 5090", Nvidia, "sm120", 170, 1792, {0, 104.8, 104.8, 209.5, 209.5, 419, 1676, 838}, kGb202},
    // CDNA. A profiler sees the two dies of a MI250 as two devices, so this is half of what its data sheet
    // says.
    {"MI100*", Amd, "gfx908", 120, 1229, {11.5, 46.1, 0, 184.6, 92.3, 0, 0, 184.6}, kMi100},
    {"MI210*", Amd, "gfx90a", 104, 1638, {45.3, 45.3, 0, 181, 181, 0, 0, 181}, kMi210},
    {"MI250X*", Amd, "gfx90a", 110, 1638, {47.9, 47.9, 0, 191.5, 191.5, 0, 0, 191.5}, kMi250},
    {"MI250*", Amd, "gfx90a", 104, 1638, {45.3, 45.3, 0, 181, 181, 0, 0, 181}, kMi250},
    {"MI300A*", Amd, "gfx942", 228, 5300, {122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 0, 1961.2}, kMi300},
    {"MI300X*", Amd, "gfx942", 304, 5300, {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 0, 2614.9}, kMi300},
    {"MI308X*", Amd, "gfx942", 0, 5300, {}, kMi308},
    {"MI325X*", Amd, "gfx942", 304, 6000, {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 0, 2614.9}, kMi325},
    {"MI350X*", Amd, "gfx950", 256, 8000, {72.1, 144.2, 0, 2306.9, 2306.9, 4613.7, 9227.5, 4613.7}, kMi350},
    {"MI355X*", Amd, "gfx950", 256, 8000, {78.6, 157.3, 0, 2516.6, 2516.6, 5033.2, 10066.3, 5033.2}, kMi350},
    // Ponte Vecchio, the whole card.
    {"Data Center GPU Max 1550*", Intel, "xe-hpc", 128, 3277, {52.4, 52.4, 419, 839, 839, 0, 0, 1678}, kMax},
    {"Data Center GPU Max 1100*", Intel, "xe-hpc", 56, 1229, {22.2, 22.2, 176, 352, 352, 0, 0, 704}, kMax},
};

constexpr std::string_view kVendorNames[] = {"NVIDIA ",   "Tesla ",           "AMD ",
                                             "Instinct ", "Radeon Instinct ", "Intel(R) "};

}  // namespace

double Device::flops_per_second(std::string_view dtype) const {
  const auto peak = [&] {
    if (dtype == "f64") return dense.f64;
    if (dtype == "f32") return dense.f32;
    if (dtype == "tf32") return dense.tf32;
    if (dtype == "f16") return dense.f16;
    if (dtype == "bf16") return dense.bf16;
    if (dtype == "i8" || dtype == "u8") return dense.i8;
    if (dtype.starts_with("mx")) dtype.remove_prefix(2);
    if (dtype.starts_with("f8")) return dense.f8;
    if (dtype.starts_with("f4")) return dense.f4;
    return 0.0;
  };
  return peak() * 1e12;
}

const Device* find_device(std::string_view name) {
  if (name.size() > 256 || name.find(" MIG ") != std::string_view::npos) return nullptr;
  for (const std::string_view vendor : kVendorNames)
    if (name.starts_with(vendor)) name.remove_prefix(vendor.size());
  const auto at =
      std::ranges::find_if(kDevices, [&](const Device& d) { return names::fits(d.pattern, name); });
  return at == std::end(kDevices) ? nullptr : &*at;
}

std::string label_of(const Device& device) {
  std::string label(device.pattern);
  std::replace(label.begin(), label.end(), '*', ' ');
  while (label.ends_with(' ')) label.pop_back();
  return label;
}

const Device* find_device_by_label(std::string_view text) {
  if (const Device* device = find_device(text); device != nullptr || text.empty()) return device;
  const auto is_same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  const auto at = std::ranges::find_if(kDevices, [&](const Device& device) {
    const std::string label = label_of(device);
    if (label.size() < text.size() || !std::equal(text.begin(), text.end(), label.begin(), is_same))
      return false;
    return label.size() == text.size() || label[text.size()] == ' ' || label[text.size()] == '-';
  });
  return at == std::end(kDevices) ? nullptr : &*at;
}

std::span<const Device> known_devices() { return kDevices; }

}  // namespace pel::doctor
