#include "backends/cuda/nvrtc.h"

#include <mutex>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/check.h"

namespace pel::cuda {
namespace {

// The functions that are used, as nvrtc.h declares them; a status is an int, and 0 is success. The toolkit's
// header is not needed to build the library: tests/cuda compares these types with it where it is installed.
using Program = void*;
struct Nvrtc {
  int (*nvrtcVersion)(int*, int*);
  const char* (*nvrtcGetErrorString)(int);
  int (*nvrtcCreateProgram)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*nvrtcCompileProgram)(Program, int, const char* const*);
  int (*nvrtcGetPTXSize)(Program, std::size_t*);
  int (*nvrtcGetPTX)(Program, char*);
  int (*nvrtcGetProgramLogSize)(Program, std::size_t*);
  int (*nvrtcGetProgramLog)(Program, char*);
  int (*nvrtcDestroyProgram)(Program*);

  std::string refusal, version;
  int release = 0;
  std::mutex compiling;
};

template <class F>
bool load(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

// Never destroyed: the compiler has threads.
Nvrtc& nvrtc() {
  static auto* const instance = [] {
    auto* const n = new Nvrtc{};
    void* library = nullptr;
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      n->refusal = "no compiler: libnvrtc.so.13 or .12 is missing; install NVRTC of the CUDA toolkit";
      return n;
    }
    const char* missing = nullptr;
#define PEL_LOAD(name) \
  if (!load(library, #name, n->name)) missing = #name;
    PEL_LOAD(nvrtcVersion)
    PEL_LOAD(nvrtcGetErrorString)
    PEL_LOAD(nvrtcCreateProgram)
    PEL_LOAD(nvrtcCompileProgram)
    PEL_LOAD(nvrtcGetPTXSize)
    PEL_LOAD(nvrtcGetPTX)
    PEL_LOAD(nvrtcGetProgramLogSize)
    PEL_LOAD(nvrtcGetProgramLog)
    PEL_LOAD(nvrtcDestroyProgram)
#undef PEL_LOAD
    if (missing != nullptr) {
      n->refusal = fmt::format("no compiler: libnvrtc has no function {}", missing);
      return n;
    }
    int major = 0, minor = 0;
    n->nvrtcVersion(&major, &minor);
    n->release = 1000 * major + 10 * minor;
    n->version = fmt::format("NVRTC {}.{}", major, minor);
    return n;
  }();
  return *instance;
}

struct OwnedProgram {
  Program program = nullptr;
  OwnedProgram() = default;
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;
  ~OwnedProgram() {
    if (program != nullptr) nvrtc().nvrtcDestroyProgram(&program);
  }
};

std::string log_of(Program program) {
  std::size_t size = 0;
  if (nvrtc().nvrtcGetProgramLogSize(program, &size) != 0 || size == 0) return {};
  std::string log(size, '\0');
  nvrtc().nvrtcGetProgramLog(program, log.data());
  log.resize(log.find('\0'));  // the size counts the zero at the end
  return log;
}

}  // namespace

const std::string& nvrtc_refusal() { return nvrtc().refusal; }
int nvrtc_release() { return nvrtc().release; }
const std::string& nvrtc_version() { return nvrtc().version; }

const std::vector<std::string>& nvrtc_options() {
  static const std::vector<std::string> options = {"--fmad=false",     "--ftz=false", "--prec-div=true",
                                                   "--prec-sqrt=true", "--std=c++17", "--disable-warnings"};
  return options;
}

std::string compile_to_ptx(const std::string& name, const std::string& text,
                           const std::string& architecture) {
  Nvrtc& n = nvrtc();
  PEL_CHECK(n.refusal.empty(), DeviceError, "cannot compile kernel {}: {}", name, n.refusal);
  const std::lock_guard lock(n.compiling);
  const auto check = [&](int status, const char* function) {
    PEL_CHECK(status == 0, DeviceError, "{} failed for kernel {}: {}", function, name,
              n.nvrtcGetErrorString(status));
  };
  OwnedProgram owned;
  check(n.nvrtcCreateProgram(&owned.program, text.c_str(), name.c_str(), 0, nullptr, nullptr),
        "nvrtcCreateProgram");
  const std::string of_architecture = "--gpu-architecture=" + architecture;
  std::vector<const char*> options = {of_architecture.c_str()};
  for (const std::string& option : nvrtc_options()) options.push_back(option.c_str());
  const int status = n.nvrtcCompileProgram(owned.program, static_cast<int>(options.size()), options.data());
  PEL_CHECK(status == 0, DeviceError, "{} refused the kernel {} ({}):\n{}", n.version, name,
            n.nvrtcGetErrorString(status), log_of(owned.program));
  std::size_t size = 0;
  check(n.nvrtcGetPTXSize(owned.program, &size), "nvrtcGetPTXSize");
  std::string ptx(size, '\0');
  check(n.nvrtcGetPTX(owned.program, ptx.data()), "nvrtcGetPTX");
  ptx.resize(ptx.find('\0'));
  return ptx;
}

}  // namespace pel::cuda
