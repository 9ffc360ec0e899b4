// Any bytes are a valid file or a FileError. Any other error is a finding, like a crash.
#include <cstddef>
#include <cstdint>

#include "pellucid/error.h"
#include "pellucid/io.h"

#include "fuzz/touch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pel;
  try {
    const auto file = io::SafetensorsFile::from_memory({reinterpret_cast<const char*>(data), size});
    for (const std::string& name : file.names()) {
      try {
        test::touch(file.tensor(name));
      } catch (const FileError&) {  // an unsupported dtype, or a bool that is neither 0 nor 1
      }
    }
  } catch (const FileError&) {
  }
  return 0;
}
