#include "doctor/analyses/launch_pace.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "pellucid/error.h"

#include "doctor/diagnosis/examination.h"
#include "doctor/model/saturating.h"

namespace pel::doctor {
namespace {

// A call with the kernels that it launched.
struct Launch {
  EventId call;
  std::int64_t begin_ns, end_ns;  // of its kernels
  SaturatingSum busy_ns{};
  std::uint64_t kernels = 0;
};

// A pause is so many times as long as the median.
constexpr double kPause = 100;

std::vector<Launch> launches_of(const Model& model) {
  std::unordered_map<EventId, Launch> by_call;
  for (const Activity& activity : model.activities()) {
    if (activity.launch == kNoEvent || model.events().category(activity.event) != Category::Kernel) continue;
    Launch& launch =
        by_call.try_emplace(activity.launch, Launch{activity.launch, activity.begin_ns, activity.end_ns})
            .first->second;
    launch.end_ns = std::max(launch.end_ns, activity.end_ns);
    launch.busy_ns += activity.end_ns - activity.begin_ns;
    ++launch.kernels;
  }
  std::vector<Launch> launches;
  for (const auto& [call, launch] : by_call) launches.push_back(launch);
  const EventTable& events = model.events();
  std::sort(launches.begin(), launches.end(), [&](const Launch& a, const Launch& b) {
    return events.begin_ns(a.call) != events.begin_ns(b.call)
               ? events.begin_ns(a.call) < events.begin_ns(b.call)
               : a.call < b.call;
  });
  return launches;
}

// How long a thread waited for the device between two times. Waits are sorted by begin.
std::int64_t waited(const EventTable& events, const std::vector<EventId>& waits, RowId row, std::int64_t from,
                    std::int64_t to) {
  SaturatingSum sum;
  auto at = std::lower_bound(waits.begin(), waits.end(), from,
                             [&](EventId wait, std::int64_t time) { return events.begin_ns(wait) < time; });
  for (; at != waits.end() && events.begin_ns(*at) < to; ++at) {
    if (events.row(*at) == row) sum += std::min(events.end_ns(*at), to) - events.begin_ns(*at);
  }
  return sum;
}

double mean_without_pauses(std::vector<double> values, std::uint64_t& pauses) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double longest = kPause * std::max(1.0, values[values.size() / 2]);
  double sum = 0;
  std::size_t count = 0;
  for (; count < values.size() && values[count] <= longest; ++count) sum += values[count];
  pauses = values.size() - count;
  return sum / static_cast<double>(count);
}

LaunchPace pace_of(const Model& model, const std::string& path) {
  const EventTable& events = model.events();
  const std::vector<Launch> launches = launches_of(model);
  if (launches.empty())
    throw FileError(
        fmt::format("{}: the trace has no kernel whose launch is recorded; PyTorch records none for a run on "
                    "the CPU alone, "
                    "Pellucid does",
                    path));
  LaunchPace pace;
  pace.launches = launches.size();
  pace.steps = model.has_marked_steps() ? model.steps().size() : 1;
  pace.is_synchronous = model.is_synchronous();
  SaturatingSum busy;
  std::int64_t end = launches.front().end_ns;
  for (const Launch& launch : launches) {
    pace.kernels += launch.kernels;
    busy += launch.busy_ns;
    end = std::max(end, launch.end_ns);
  }
  pace.kernel_ns = static_cast<double>(busy) / static_cast<double>(pace.launches);
  pace.span_ns = static_cast<double>(end - events.begin_ns(launches.front().call));

  std::vector<EventId> waits;
  for (const RowId row : model.host_rows()) {
    for (const EventId e : model.of_row(row)) {
      if (events.is_sync_call(e)) waits.push_back(e);
    }
  }
  std::sort(waits.begin(), waits.end(),
            [&](EventId a, EventId b) { return events.begin_ns(a) < events.begin_ns(b); });
  std::vector<double> intervals;
  std::unordered_map<RowId, std::int64_t> last;  // when the last launch of a thread, or its kernel, ended
  for (const Launch& launch : launches) {
    const RowId row = events.row(launch.call);
    const std::int64_t issued = pace.is_synchronous ? launch.begin_ns : events.end_ns(launch.call);
    const auto [before, is_first] = last.try_emplace(row, 0);
    if (!is_first) {
      const std::int64_t idle = waited(events, waits, row, before->second, issued);
      intervals.push_back(
          static_cast<double>(std::max<std::int64_t>(0, saturating_sub(issued - before->second, idle))));
    }
    before->second = pace.is_synchronous ? launch.end_ns : events.end_ns(launch.call);
  }
  pace.dispatch_ns = mean_without_pauses(std::move(intervals), pace.pauses);
  return pace;
}

}  // namespace

LaunchPace launch_pace(const std::string& path) { return launch_pace(*open_source(path)); }

LaunchPace launch_pace(ByteSource& source) { return pace_of(Examination(source).model(), source.name()); }

}  // namespace pel::doctor
