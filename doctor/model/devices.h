// Peak rates of GPUs by the names that profilers write: from the vendors' data sheets, not measured.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pel::doctor {

enum class Vendor : unsigned char { Nvidia, Amd, Intel };

// In 10^12 operations a second, a multiplication and an addition being two, without sparsity; 0: the data
// sheet has none, or there is no data sheet.
struct DensePeaks {
  double f64 = 0, f32 = 0, tf32 = 0, f16 = 0, bf16 = 0, f8 = 0, f4 = 0, i8 = 0;
};

// Where the vendor published the figures.
struct DataSheet {
  std::string_view title;
  int year;  // in which it was published
};

struct Device {
  std::string_view pattern;  // of the name without its vendor; a star matches any text
  Vendor vendor;
  std::string_view arch;
  int multiprocessors;       // or compute units, or Xe cores; 0: not known
  double gbytes_per_second;  // to and from its memory, in 10^9 bytes
  DensePeaks dense;
  DataSheet sheet;

  double bytes_per_second() const { return gbytes_per_second * 1e9; }
  // Of matmuls in a dtype as `KernelName` has it: bf16, tf32, f8e4m3. 0: none is known.
  double flops_per_second(std::string_view dtype) const;
};

// Null if the name is unknown or empty, and for a slice of a device (MIG).
const Device* find_device(std::string_view name);

// For users, who may write any prefix of a label up to a separator: the first match counts.
std::string label_of(const Device& device);  // "A100 SXM 80GB"
const Device* find_device_by_label(std::string_view text);

std::span<const Device> known_devices();

}  // namespace pel::doctor
