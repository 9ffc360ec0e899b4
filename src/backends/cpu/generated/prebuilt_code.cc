#include "backends/cpu/generated/prebuilt_code.h"

#include <algorithm>

namespace pel::cpu {

const PrebuiltKernel* find_prebuilt(std::string_view name, codegen::Isa isa) {
  const ArrayView<PrebuiltKernel> all = prebuilt_code(isa).kernels;
  const PrebuiltKernel* found =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const PrebuiltKernel& kernel, std::string_view key) { return kernel.name < key; });
  return found != all.end() && found->name == name ? found : nullptr;
}

}  // namespace pel::cpu
