#include "doctor/fleet/parquet_file.h"

#include <dlfcn.h>

namespace pel::fleet {

const ParquetModule* find_parquet_module() {
  static const ParquetModule found = []() -> ParquetModule {
    void* const module = dlopen(kParquetModule, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (module == nullptr) return {};
    return {reinterpret_cast<OpenParquet*>(dlsym(module, kOpenParquet)),
            reinterpret_cast<ReadParquetRow*>(dlsym(module, kReadParquetRow))};
  }();
  return found.open == nullptr || found.read_row == nullptr ? nullptr : &found;
}

}  // namespace pel::fleet
