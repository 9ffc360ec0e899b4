// A launch of a kernel by the driver, now or as a node of a graph.
#pragma once

#include <cstdint>
#include <string>

#include "pellucid/array_view.h"
#include "pellucid/device.h"

#include "backends/cuda/driver.h"
#include "device/async_device.h"

namespace pel::cuda {

struct LoadedModule {
  Module_ module = nullptr;
  std::string ptx;
};
struct LoadedFunction {
  std::string name;
  Function_ function = nullptr;
  const LoadedModule* module = nullptr;
  Function_ by_table = nullptr;  // finds its addresses in a table (table_form.h); null: nothing needed it yet
};

// A launch of a run of a plan, which is held back.
struct HeldLaunch {
  LoadedFunction* function = nullptr;
  LaunchShape shape;
  std::size_t first_address = 0, address_count = 0;  // among those of the run
  std::int64_t* numbers = nullptr;                   // of the prepared kernel
  bool may_report = false;
  std::uint64_t launch = 0;  // its number
  const char* op_name = "";
  Site site{};
};

// Launches a kernel with these addresses, of which the last is that of the stream's report. Sets the numbers
// that are the device's. A grid that the driver takes in parts has several launches, an empty one none.
Result launch_kernel(const Driver& driver, Stream_ stream, Function_ function, const LaunchShape& shape,
                     ArrayView<Address> addresses, std::int64_t* numbers, std::uint64_t launch);

}  // namespace pel::cuda
