// How many processors this process may use.
#pragma once

#include <string>

namespace pel {

// Returns the number of processors, at least 1: those of the machine, without those that the affinity of this
// thread excludes, and no more than the limit of the control groups (containers) it runs in.
int available_processors();

// Returns the limit of the control groups of this process, rounded up to whole processors; 0 if there is
// none. Reads version 2 (cpu.max) and version 1 (cpu.cfs_quota_us). `root` is put before the paths, for
// tests.
int processors_of_control_groups(const std::string& root = "");

}  // namespace pel
