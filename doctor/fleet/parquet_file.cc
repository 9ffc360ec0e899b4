#include "doctor/fleet/parquet_file.h"

#include <dlfcn.h>

namespace pel::fleet {

const ParquetModule* find_parquet_module() {
  static const ParquetModule found = []() -> ParquetModule {
    void* const module = dlopen(kParquetModule, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (module == nullptr) return {};
    return {reinterpret_cast<OpenParquet*>(dlsym(module, kOpenParquet)),
            reinterpret_cast<ReadParquet*>(dlsym(module, kReadParquet)),
            reinterpret_cast<ListStored*>(dlsym(module, kListStored)),
            reinterpret_cast<RemoveStored*>(dlsym(module, kRemoveStored))};
  }();
  const bool is_whole =
      found.open != nullptr && found.read != nullptr && found.list != nullptr && found.remove != nullptr;
  return is_whole ? &found : nullptr;
}

}  // namespace pel::fleet
