// Which rank this process is: what launchers say in environment variables.
#pragma once

#include <string>

namespace pel::dist {

struct LaunchedAs {
  int rank = 0, size = 1;
  int local_rank = 0;
  bool is_on_one_machine = true;  // as far as the launcher says
  std::string job;                // the same for all ranks of one start of the job, and for no other
  std::string launcher = "none";
};

// Reads the names of torchrun, Open MPI, PMI (MPICH, Intel MPI) and Slurm, in this order. Without any of them
// the process is alone. Throws a ValueError if a variable is missing or out of range.
LaunchedAs launched_as();

// How long a rank waits for others: PELLUCID_COMM_TIMEOUT in seconds, or 120.
double timeout_seconds();

}  // namespace pel::dist
