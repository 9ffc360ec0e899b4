#include "doctor/launch_pace.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "pellucid/error.h"

#include "doctor/readers/kineto.h"

namespace pel::doctor {
namespace {

struct Span {
  std::int64_t row, begin_ns, end_ns, correlation;
};

// The kernels of one launch.
struct Work {
  std::int64_t begin_ns, end_ns, busy_ns = 0;
  std::uint64_t kernels = 0;
};

// A pause is so many times as long as the median.
constexpr double kPause = 100;

bool waits(std::string_view name) {  // cudaStreamSynchronize, hipDeviceSynchronize, cudaEventSynchronize …
  return name.find("Synchronize") != std::string_view::npos;
}

struct Trace {
  std::vector<Span> calls, waits;                // of the runtime, by thread
  std::unordered_map<std::int64_t, Work> works;  // by correlation
  std::uint64_t steps = 0;

  void add_kernel(const Span& kernel) {
    Work& work = works.try_emplace(kernel.correlation, Work{kernel.begin_ns, kernel.end_ns}).first->second;
    work.begin_ns = std::min(work.begin_ns, kernel.begin_ns);
    work.end_ns = std::max(work.end_ns, kernel.end_ns);
    work.busy_ns += kernel.end_ns - kernel.begin_ns;
    ++work.kernels;
  }
  void take(const TraceEvent& e) {
    if (e.phase != Phase::Span) return;
    const Span span{e.thread.number, e.begin_ns, e.begin_ns + e.duration_ns, e.get(Arg::Correlation, -1)};
    switch (e.category) {
      case Category::Kernel:
        add_kernel(span);
        break;
      case Category::Runtime:
      case Category::Driver:
        (doctor::waits(e.name) ? waits : calls).push_back(span);
        break;
      case Category::UserAnnotation:
        if (e.name.starts_with("ProfilerStep#")) ++steps;
        break;
      default:
        break;
    }
  }
};

// The waits are few, and sorted.
std::int64_t waited(const std::vector<Span>& waits, std::int64_t row, std::int64_t from, std::int64_t to) {
  std::int64_t sum = 0;
  auto at = std::lower_bound(waits.begin(), waits.end(), from,
                             [](const Span& span, std::int64_t time) { return span.begin_ns < time; });
  for (; at != waits.end() && at->begin_ns < to; ++at) {
    if (at->row == row) sum += std::min(at->end_ns, to) - at->begin_ns;
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

}  // namespace

LaunchPace launch_pace(const std::string& path) {
  FileSource source(path);
  return launch_pace(source);
}

LaunchPace launch_pace(ByteSource& source) {
  Trace trace;
  read_kineto(source, [&](const TraceEvent& e) { trace.take(e); });
  std::erase_if(trace.calls, [&](const Span& call) { return !trace.works.contains(call.correlation); });
  if (trace.calls.empty())
    throw FileError(
        fmt::format("{}: no kernel with its launch is in this trace; of a run on the CPU alone PyTorch "
                    "records none, Pellucid does",
                    source.name()));
  const auto by_time = [](const Span& a, const Span& b) { return a.begin_ns < b.begin_ns; };
  std::sort(trace.calls.begin(), trace.calls.end(), by_time);
  std::sort(trace.waits.begin(), trace.waits.end(), by_time);

  LaunchPace pace;
  pace.launches = trace.calls.size();
  pace.steps = std::max<std::uint64_t>(1, trace.steps);
  std::uint64_t inside = 0;
  std::int64_t busy = 0, end = 0;
  for (const Span& call : trace.calls) {
    const Work& work = trace.works.at(call.correlation);
    pace.kernels += work.kernels;
    busy += work.busy_ns;
    end = std::max(end, work.end_ns);
    if (work.begin_ns >= call.begin_ns && work.end_ns <= call.end_ns) ++inside;
  }
  pace.kernel_ns = static_cast<double>(busy) / static_cast<double>(pace.launches);
  pace.span_ns = static_cast<double>(end - trace.calls.front().begin_ns);
  pace.is_synchronous = 2 * inside > pace.launches;

  std::vector<double> intervals;
  std::unordered_map<std::int64_t, std::int64_t> last;  // by thread: when its last launch, or kernel, ended
  for (const Span& call : trace.calls) {
    const Work& work = trace.works.at(call.correlation);
    const std::int64_t issued = pace.is_synchronous ? work.begin_ns : call.end_ns;
    const auto [before, is_first] = last.try_emplace(call.row, 0);
    if (!is_first) {
      const std::int64_t idle = waited(trace.waits, call.row, before->second, issued);
      intervals.push_back(static_cast<double>(std::max<std::int64_t>(0, issued - before->second - idle)));
    }
    before->second = pace.is_synchronous ? work.end_ns : call.end_ns;
  }
  pace.dispatch_ns = mean_without_pauses(std::move(intervals), pace.pauses);
  return pace;
}

}  // namespace pel::doctor
