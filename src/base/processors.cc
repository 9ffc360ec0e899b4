#include "base/processors.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include <sched.h>

namespace pel {
namespace {

// The smaller of two limits, of which 0 is none.
int smaller(int a, int b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

// The limit that one folder sets, from its file of two numbers or from two files with one each.
int limit_of(const std::string& folder) {
  double quota = 0, period = 0;
  if (std::ifstream file(folder + "/cpu.max");
      !(file >> quota >> period)) {                        // its quota is "max" if there is no limit
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;  // -1 if there is no limit
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? std::max(1, static_cast<int>(std::ceil(quota / period))) : 0;
}

// The smallest limit of a group and those it is in. Inside a container the path may be that of the host,
// which is not mounted; its own limit is at the mount then.
int limit_of_path(const std::string& mount, std::string path) {
  int limit = limit_of(mount);
  for (; path.size() > 1; path.erase(path.rfind('/'))) limit = smaller(limit, limit_of(mount + path));
  return limit;
}

}  // namespace

int processors_of_control_groups(const std::string& root) {
  int limit = 0;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || !line.substr(second + 1).starts_with('/')) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      path = line.substr(second + 1);
    if (controllers.empty()) {
      limit = smaller(limit, limit_of_path(root + "/sys/fs/cgroup", path));
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      limit = smaller(limit, limit_of_path(root + "/sys/fs/cgroup/cpu", path));
    }
  }
  return limit;
}

int available_processors() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) count = std::min(count, CPU_COUNT(&allowed));
  return std::max(1, smaller(count, processors_of_control_groups()));
}

}  // namespace pel
