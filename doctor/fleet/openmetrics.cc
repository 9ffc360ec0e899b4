#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/median.h"
#include "base/sort_stably.h"
#include "doctor/fleet/fleet_report.h"

namespace pel::fleet {
namespace {

constexpr std::size_t kHostsOfJob =
    20;  // a series for each host of a fleet would be more than a server wants

std::string escaped(std::string_view text) {
  std::string to;
  for (const char c : text) {
    if (c == '\\' || c == '"') to += '\\';
    to += c == '\n' ? "\\n" : std::string(1, c);
  }
  return to;
}

// Labels without a value are left out, as an empty value means the same.
std::string labels_of(const std::vector<std::pair<std::string_view, std::string>>& labels) {
  std::string text;
  for (const auto& [key, value] : labels)
    if (!value.empty()) text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", key, escaped(value));
  return text;
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// Those that are waited for longest, the first of them first.
std::vector<std::pair<std::string, std::int64_t>> slow_hosts(const JobFigures& job) {
  std::vector<std::pair<std::string, std::int64_t>> hosts;
  for (const auto& [host, waits] : job.hosts)
    if (waits.waited_ns > 0 && !host.empty()) hosts.emplace_back(host, waits.waited_ns);
  sort_stably(hosts, [](const auto& a, const auto& b) { return a.second > b.second; });
  hosts.resize(std::min(hosts.size(), kHostsOfJob));
  return hosts;
}

// Samples of one gauge. Those of equal labels follow each other, in the order of time, which is that of jobs.
class Gauge {
 public:
  void add(const JobFigures& job, std::vector<std::pair<std::string_view, std::string>> labels,
           double value) {
    labels.insert(labels.begin(), {"job", job.job});
    const std::string text = labels_of(labels);
    samples_[text] += fmt::format("{{{}}} {} {}\n", text, value, job.begin_s);
  }
  // With a name that ends in the unit, as the format wants it.
  std::string text(std::string_view name, std::string_view unit, std::string_view help) const {
    std::string text = fmt::format("# TYPE {} gauge\n", name);
    if (!unit.empty()) text += fmt::format("# UNIT {} {}\n", name, unit);
    text += fmt::format("# HELP {} {}\n", name, help);
    for (const auto& [labels, lines] : samples_) {
      for (std::size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
        end = lines.find('\n', begin);
        text += fmt::format("{}{}\n", name, std::string_view(lines).substr(begin, end - begin));
      }
    }
    return text;
  }

 private:
  std::map<std::string, std::string> samples_;  // of labels, a line for each
};

}  // namespace

std::string openmetrics_of(const std::vector<JobFigures>& jobs) {
  Gauge ranks, kernels, syncs, device_seconds, exposed, idle, waited;
  for (const JobFigures& job : jobs) {
    const auto ratio = [&](std::int64_t part) {
      return static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(1, job.time.total()));
    };
    ranks.add(job, {}, static_cast<double>(job.ranks));
    for (const auto& [commit, counts] : job.commits) {
      const auto add_middle = [&](Gauge& gauge, const std::vector<std::int64_t>& values) {
        if (!values.empty())
          gauge.add(job, {{"commit", commit}}, static_cast<double>(lower_median_of(values)));
      };
      add_middle(kernels, counts.kernels);
      add_middle(syncs, counts.syncs);
    }
    device_seconds.add(job, {}, seconds(job.time.total()));
    exposed.add(job, {}, ratio(job.time.communication_ns));
    for (std::size_t cause = 0; cause < doctor::kIdleCauseCount; ++cause)
      idle.add(job, {{"cause", std::string(name(static_cast<doctor::IdleCause>(cause)))}},
               ratio(job.time.idle_ns[cause]));
    for (const auto& [host, ns] : slow_hosts(job)) waited.add(job, {{"host", host}}, seconds(ns));
  }
  return ranks.text("pellucid_job_ranks", "", "Ranks of a job whose traces were reduced.") +
         kernels.text("pellucid_step_kernels", "",
                      "Kernels of the step in the middle, of all ranks of a job.") +
         syncs.text("pellucid_step_syncs", "",
                    "Waits for the device in the step in the middle, of all ranks of a job.") +
         device_seconds.text("pellucid_device_seconds", "seconds",
                             "Device time that was recorded, of all ranks of a job.") +
         exposed.text("pellucid_exposed_communication_ratio", "ratio",
                      "Device time in which collectives ran and nothing else, of all device time.") +
         idle.text("pellucid_idle_ratio", "ratio",
                   "Device time in which nothing ran, of all device time, by cause.") +
         waited.text("pellucid_host_waited_seconds", "seconds",
                     "What the typical other rank waited for the ranks of a host, for the slowest hosts of "
                     "each job.") +
         "# EOF\n";
}

}  // namespace pel::fleet
