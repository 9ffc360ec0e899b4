// Any bytes are a valid file or a FileError. Any other error is a finding, like a crash.
#include <cstddef>
#include <cstdint>

#include "pellucid/error.h"
#include "pellucid/io.h"

#include "fuzz/touch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pel;
  try {
    const auto file = io::GgufFile::from_memory({reinterpret_cast<const char*>(data), size});
    DType dtype = kF32;
    for (const auto& each : file.tensors()) {
      try {
        test::touch(file.tensor(each.name, dtype));
      } catch (const FileError&) {  // an unsupported type
      }
      dtype = dtype == kF32 ? kBF16 : kF32;
    }
  } catch (const FileError&) {
  }
  return 0;
}
