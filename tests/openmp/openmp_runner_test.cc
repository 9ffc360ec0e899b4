// use_loaded_openmp: kernels on the threads of OpenMP libraries that are loaded at run time, as PyTorch's is.
// Uses the library of the packages, which links no OpenMP. Each test has a process of its own, because such a
// library stays.
#include "torch/openmp_runner.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"

namespace pel {
namespace {

using python::use_loaded_openmp;

bool fails(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return false;
}

std::vector<std::string> thread_names() {
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    std::getline(std::ifstream(task.path() / "comm"), names.emplace_back());
  return names;
}
// The library names the threads of its own pool.
bool has_own_threads() { return std::ranges::count(thread_names(), "pellucid") != 0; }

std::vector<std::vector<char>> results() {
  manual_seed(7);
  const Tensor x = randn({300, 1000}), heads = randn({2, 4, 130, 64});
  std::vector<std::vector<char>> bytes;
  for (const Tensor& result : {add(x, x), gelu(x.t()), softmax(x, 1), sum(x, {0}), sum(x), matmul(x, x.t()),
                               matmul(to_copy(x, kBF16), to_copy(x.t(), kBF16)),
                               scaled_dot_product_attention(heads, heads, heads), cumsum(x, 1)})
    bytes.push_back(test::bytes_of(result));
  return bytes;
}

// Loads a library as Python loads a module: its symbols are not for other libraries.
bool loads(const std::string& library) {
  return dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr || fails(dlerror());
}

// Whether all holds that has to in a process that has this library.
bool works_with(const std::string& library) {
  set_thread_count(1);
  const auto wanted = results();
  if (use_loaded_openmp()) return fails("an OpenMP library is there before one is loaded");
  if (!loads(library)) return false;
  if (!use_loaded_openmp()) return fails("the library was not found");
  for (const int threads : {2, 3, 7}) {  // OpenMP has 3
    set_thread_count(threads);
    if (results() != wanted) return fails("results differ");
  }
  if (thread_names().size() < 2 || has_own_threads()) return fails("kernels did not run on OpenMP's threads");

  std::atomic<int> wrong = 0;
  {
    const Tensor x = full({100'000}, 1.5);
    std::vector<std::jthread> callers;
    for (int t = 0; t < 3; ++t) {
      callers.emplace_back([&] {
        for (int i = 0; i < 50; ++i) wrong += sum(add(x, x)).item().to_double() != 300'000;
      });
    }
  }
  if (wrong != 0) return fails("results of several threads differ");

  // libgomp's threads are lost in a child, whose next parallel region would wait for them forever.
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(results() == wanted && has_own_threads() ? 42 : 1);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 42)
    return fails("kernels of a forked child did not run on the library's own threads");
  if (results() != wanted || has_own_threads()) return fails("the parent has lost its runner");
  set_parallel_runner(nullptr);
  return (results() == wanted && has_own_threads()) || fails("the library's own threads were not restored");
}

class OpenMpRunner : public testing::Test {
 protected:
  OpenMpRunner() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("OMP_NUM_THREADS", "3", 1);
  }
  ~OpenMpRunner() override { unsetenv("OMP_NUM_THREADS"); }

  static void expect_works_with(const std::string& library) {
    if (!std::filesystem::exists(library)) GTEST_SKIP() << library << " is not installed";
    EXPECT_EXIT(std::exit(works_with(library) ? 42 : 1), testing::ExitedWithCode(42), "");
  }
};

constexpr const char* kSystemLibgomp = "/usr/lib/x86_64-linux-gnu/libgomp.so.1";
const std::string torch_libraries = std::string(PELLUCID_TORCH_DIR) + "/lib/";

TEST_F(OpenMpRunner, IsRefusedIfNoOpenMpIsLoaded) {
  EXPECT_FALSE(use_loaded_openmp());
  set_thread_count(2);
  results();
  EXPECT_TRUE(has_own_threads());
}

TEST_F(OpenMpRunner, RunsOnTheLibgompOfPyTorch) { expect_works_with(torch_libraries + "libgomp.so.1"); }
TEST_F(OpenMpRunner, RunsOnTheLibgompOfTheSystem) { expect_works_with(kSystemLibgomp); }
TEST_F(OpenMpRunner, RunsOnLibomp) { expect_works_with("/usr/lib/llvm-14/lib/libomp.so.5"); }

// PyTorch's library is loaded, and with it whichever OpenMP it depends on.
TEST_F(OpenMpRunner, FindsTheOpenMpThatPyTorchDependsOn) {
  expect_works_with(torch_libraries + "libtorch_cpu.so");
}

// A program may have several, such as those of other Python packages.
TEST_F(OpenMpRunner, PrefersTheOpenMpOfPyTorchToOthersThatAreLoaded) {
  const std::string torch = torch_libraries + "libtorch_cpu.so";
  if (!std::filesystem::exists(torch) || !std::filesystem::exists(kSystemLibgomp))
    GTEST_SKIP() << torch << " or " << kSystemLibgomp << " is not installed";
  EXPECT_EXIT(
      {
        // By its path: libraries with the same name in different folders are different libraries.
        const bool are_loaded =
            loads(kSystemLibgomp) && loads(torch_libraries + "libgomp.so.1") && loads(torch);
        const auto threads_of = [](const std::string& library) {
          void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
          return reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
        };
        const bool is_used = are_loaded && use_loaded_openmp();
        if (!is_used) std::exit(1);
        set_thread_count(4);
        threads_of(torch)(1);  // then only another OpenMP would start threads
        const std::size_t before = thread_names().size();
        results();
        std::exit(thread_names().size() == before ? 42 : 1);
      },
      testing::ExitedWithCode(42), "");
}

TEST_F(OpenMpRunner, OneThreadOfOpenMpRunsLoopsOnTheCaller) {
  if (!std::filesystem::exists(kSystemLibgomp)) GTEST_SKIP() << kSystemLibgomp << " is not installed";
  setenv("OMP_NUM_THREADS", "1", 1);
  EXPECT_EXIT(
      {
        set_thread_count(4);
        const bool is_used = loads(kSystemLibgomp) && use_loaded_openmp();
        results();
        std::exit(is_used && thread_names().size() == 1 ? 42 : 1);
      },
      testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace pel
