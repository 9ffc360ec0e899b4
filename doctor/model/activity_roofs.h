// Whether compute or memory bounds an activity, by the device's data sheet.
#pragma once

#include <map>
#include <string_view>

#include "doctor/model/devices.h"
#include "doctor/model/kernel_catalog.h"

namespace pel::doctor {

enum class Roof : std::uint8_t {
  Memory,
  Compute,
  Unknown,  // a matmul whose sizes are not in the trace
};

struct ActivityRoof {
  Roof roof = Roof::Memory;
  std::string_view dtype{};  // of a matmul, as `Device` has it; empty: not known. A view of the catalog.
};

class ActivityRoofs {
 public:
  ActivityRoofs(const Model& model, const KernelCatalog& kernels) : model_(model), kernels_(kernels) {}

  // By the sizes of its matmul where they are known, else by family.
  ActivityRoof of(const Activity& activity);
  const Device* device(std::int32_t id);  // null: its name is not in the trace, or in no table

 private:
  const Model& model_;
  const KernelCatalog& kernels_;
  std::map<std::int32_t, const Device*> devices_;
};

}  // namespace pel::doctor
