#include "doctor/fleet/parquet_file.h"

#include <dlfcn.h>

namespace pel::fleet {

OpenParquet* find_parquet_module() {
  static OpenParquet* const open = []() -> OpenParquet* {
    void* const module = dlopen(kParquetModule, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    return module == nullptr ? nullptr : reinterpret_cast<OpenParquet*>(dlsym(module, kOpenParquet));
  }();
  return open;
}

}  // namespace pel::fleet
