#include "torch/openmp_runner.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <pellucid/threads.h>

namespace pel::python {
namespace {

// The functions that compilers call for `#pragma omp parallel`. libgomp has them, and libomp and libiomp5
// export them too.
struct OpenMp {
  // Calls function(data) on each thread of a team, the calling one included, and returns when all have ended.
  void (*parallel)(void (*function)(void*), void* data, unsigned thread_count, unsigned flags) = nullptr;
  int (*thread_number)() = nullptr;
  int (*team_size)() = nullptr;

  // Finds them in a library and those that it depends on.
  static OpenMp in(void* library) {
    OpenMp found;
    found.parallel = reinterpret_cast<decltype(parallel)>(dlsym(library, "GOMP_parallel"));
    found.thread_number = reinterpret_cast<decltype(thread_number)>(dlsym(library, "omp_get_thread_num"));
    found.team_size = reinterpret_cast<decltype(team_size)>(dlsym(library, "omp_get_num_threads"));
    return found;
  }
  explicit operator bool() const {
    return parallel != nullptr && thread_number != nullptr && team_size != nullptr;
  }
};

// The loaded libraries whose file name begins with one of `prefixes`, in the order of the prefixes.
template <std::size_t N>
std::vector<std::string> loaded_libraries(const std::array<std::string_view, N>& prefixes) {
  std::vector<std::string> loaded;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        return 0;
      },
      &loaded);
  std::vector<std::string> found;
  for (const std::string_view prefix : prefixes) {
    for (const std::string& path : loaded) {
      if (std::string_view(path).substr(path.rfind('/') + 1).starts_with(prefix)) found.push_back(path);
    }
  }
  return found;
}

// A process may have several OpenMP libraries; the one that PyTorch calls is wanted. The dynamic linker
// resolves its calls first in the program and preloaded libraries, where people put libiomp5 by LD_PRELOAD,
// and then in what libtorch_cpu.so depends on. Without PyTorch, any one.
OpenMp loaded_openmp() {
  if (const OpenMp found = OpenMp::in(dlopen(nullptr, RTLD_LAZY))) return found;
  constexpr std::array<std::string_view, 4> kLibraries = {"libtorch_cpu.", "libgomp", "libiomp5", "libomp"};
  for (const std::string& path : loaded_libraries(kLibraries)) {
    // The handle is never closed: the runner needs the library as long as the process lives.
    void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    if (const OpenMp found = OpenMp::in(library)) return found;
  }
  return {};
}

// One loop: what each thread of the team needs.
struct Loop {
  const OpenMp& openmp;
  int n;
  const std::function<void(int)>& body;
};

void run_share(void* data) {
  const Loop& loop = *static_cast<const Loop*>(data);
  // The team may have more threads than there are calls, or fewer: one, inside another parallel region.
  const int team = loop.openmp.team_size();
  for (int i = loop.openmp.thread_number(); i < loop.n; i += team) loop.body(i);
}

}  // namespace

bool use_loaded_openmp() {
  const OpenMp openmp = loaded_openmp();
  if (!openmp) return false;
  set_parallel_runner([openmp](int n, const std::function<void(int)>& body) {
    // 0 is the number of threads that the user has set, as PyTorch's own loops request it. libgomp ends
    // threads when a team is smaller than the one before, and starts them again for the next.
    Loop loop{openmp, n, body};
    openmp.parallel(run_share, &loop, 0, 0);
  });
  return true;
}

}  // namespace pel::python
