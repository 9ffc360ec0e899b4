#include "distributed/environment.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include <unistd.h>

#include "base/check.h"
#include "base/environment.h"

namespace pel::dist {
namespace {

// The variables of one launcher. Those of `job` that are set make the name of the job together.
struct Launcher {
  const char *name, *rank, *size, *local_rank;
  const char *local_size, *machines;  // ranks on this machine, or machines: null where there is no such name
  const char* job[5];
};

constexpr Launcher kLaunchers[] = {
    {"torchrun",
     "RANK",
     "WORLD_SIZE",
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     nullptr,
     {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     nullptr,
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"PMI",
     "PMI_RANK",
     "PMI_SIZE",
     "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS",
     nullptr,
     {"PMI_JOBID", "PMI_KVSNAME"}},
    // SLURM_NTASKS is also set in a batch script, which is one process.
    {"Slurm",
     "SLURM_PROCID",
     "SLURM_STEP_NUM_TASKS",
     "SLURM_LOCALID",
     nullptr,
     "SLURM_STEP_NUM_NODES",
     {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
};

int number_of(const char* variable, int low, int high) {
  const std::string text = environment_text(variable);
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  PEL_CHECK(error == std::errc() && end == text.data() + text.size() && value >= low && value <= high,
            ValueError, "the environment variable {} is \"{}\"; expected a number from {} to {}", variable,
            text, low, high);
  return value;
}

constexpr int kMaxRanks = 1024;

}  // namespace

LaunchedAs launched_as() {
  for (const Launcher& launcher : kLaunchers) {
    if (environment_text(launcher.size).empty()) continue;
    // SLURM_STEP_NUM_TASKS and PMI_SIZE come with a rank; WORLD_SIZE may have been set by hand.
    PEL_CHECK(!environment_text(launcher.rank).empty(), ValueError,
              "the environment variable {} is set, and {} is not: start each rank with its own {}, or unset "
              "{}",
              launcher.size, launcher.rank, launcher.rank, launcher.size);
    LaunchedAs found;
    found.launcher = launcher.name;
    found.size = number_of(launcher.size, 1, kMaxRanks);
    found.rank = number_of(launcher.rank, 0, found.size - 1);
    found.local_rank = environment_text(launcher.local_rank).empty()
                           ? found.rank
                           : number_of(launcher.local_rank, 0, found.size - 1);
    if (launcher.local_size != nullptr && !environment_text(launcher.local_size).empty())
      found.is_on_one_machine = number_of(launcher.local_size, 1, kMaxRanks) >= found.size;
    if (launcher.machines != nullptr && !environment_text(launcher.machines).empty())
      found.is_on_one_machine = number_of(launcher.machines, 1, kMaxRanks) == 1;
    for (const char* variable : launcher.job) {
      if (variable != nullptr) found.job += environment_text(variable) + "/";
    }
    // Ranks that a shell or an MPI proxy starts have one parent.
    if (found.job.find_first_not_of('/') == std::string::npos) found.job = fmt::format("{}", getppid());
    return found;
  }
  return {};
}

double timeout_seconds() {
  const std::string text = environment_text("PELLUCID_COMM_TIMEOUT");
  if (text.empty()) return 120;
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  PEL_CHECK(*end == '\0' && std::isfinite(seconds) && seconds > 0, ValueError,
            "PELLUCID_COMM_TIMEOUT is \"{}\"; expected a number of seconds above 0", text);
  return seconds;
}

}  // namespace pel::dist
