#include "backends/cuda/cuda_launch.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/small_vector.h"

namespace pel::cuda {

Result launch_kernel(const Driver& driver, Stream_ stream, Function_ function, const LaunchShape& shape,
                     ArrayView<Address> addresses, std::int64_t* numbers, std::uint64_t launch) {
  constexpr std::uint64_t kMaxGroups = 65'535;  // of a grid along its second and third axis
  const std::size_t count = addresses.size() - 1;
  SmallVector<void*, 10> parameters;
  for (const Address& address : addresses) parameters.push_back(const_cast<Address*>(&address));
  parameters.push_back(numbers);
  std::fill_n(numbers, count, std::int64_t{0});
  numbers[count] = static_cast<std::int64_t>(launch);
  std::array<std::uint64_t, 3> groups{};
  for (std::size_t axis = 0; axis < 3; ++axis) groups[axis] = shape.items[axis] / shape.group[axis];
  if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return kSuccess;  // which the driver refuses
  const bool is_parted = groups[1] > kMaxGroups || groups[2] > kMaxGroups;
  PEL_ASSERT(!is_parted || count > 2, "the offsets of operands 1 and 2 say where a part begins");
  for (std::uint64_t z = 0; z < groups[2]; z += kMaxGroups) {
    for (std::uint64_t y = 0; y < groups[1]; y += kMaxGroups) {
      if (is_parted) {
        numbers[1] = static_cast<std::int64_t>(y * shape.group[1]);
        numbers[2] = static_cast<std::int64_t>(z * shape.group[2]);
      }
      const Result status =
          driver.cuLaunchKernel(function, static_cast<unsigned>(groups[0]),
                                static_cast<unsigned>(std::min(groups[1] - y, kMaxGroups)),
                                static_cast<unsigned>(std::min(groups[2] - z, kMaxGroups)), shape.group[0],
                                shape.group[1], shape.group[2], 0, stream, parameters.data(), nullptr);
      if (status != kSuccess) return status;
    }
  }
  return kSuccess;
}

}  // namespace pel::cuda
