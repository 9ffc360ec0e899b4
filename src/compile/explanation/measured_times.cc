// Times of kernels, from a profile of calls of their graph.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pellucid/compile_explanation.h"
#include "pellucid/profile.h"

#include "base/readable.h"

namespace pel {
namespace {

struct Launch {
  const char* name;
  std::uint64_t bytes_read, bytes_written, ns;
};
using Launches = std::vector<Launch>;  // of one call, in their order

// Kernels of a plan are inside one op (PlannedLaunches). Those of an asynchronous device ran elsewhere and
// refer to the thread that queued them.
std::vector<Launches> calls_in(Profile& profile) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, Launches> by_op;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> ops;
  profile.each([&](const ProfileEvent& event) {
    if (event.kind == ProfileEvent::Kind::Kernel)
      by_op[{is_asynchronous(event.device) ? event.caller_thread : event.thread, event.id}].push_back(
          {event.name, event.bytes_read, event.bytes_written, event.end_ns - event.begin_ns});
    if (event.kind == ProfileEvent::Kind::Op && event.name == std::string_view("pellucid::compiled"))
      ops.emplace_back(event.thread, event.id);
  });
  std::vector<Launches> calls;
  for (const auto& op : ops) calls.push_back(std::move(by_op[op]));
  return calls;
}

// Why a call is not one of the graph at these sizes; empty if it is.
std::string difference(const std::vector<CompileExplanation::Kernel>& kernels, const Launches& launches) {
  if (launches.size() != kernels.size())
    return fmt::format("it launched {} kernels instead of {}", launches.size(), kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (launches[i].name != kernels[i].name)
      return fmt::format("kernel {} was {} instead of {}", i + 1, launches[i].name, kernels[i].name);
    if (launches[i].bytes_read != kernels[i].bytes_read ||
        launches[i].bytes_written != kernels[i].bytes_written)
      return fmt::format("kernel {} read {} and wrote {} instead of {} and {}", i + 1,
                         readable_bytes(launches[i].bytes_read), readable_bytes(launches[i].bytes_written),
                         readable_bytes(kernels[i].bytes_read), readable_bytes(kernels[i].bytes_written));
  }
  return "";
}

// The lower one of the two in the middle: a time that a call took.
std::uint64_t median(std::vector<std::uint64_t> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace

void CompileExplanation::add_times(Profile& profile) {
  const std::vector<Launches> calls = calls_in(profile);
  for (Graph& graph : graphs) {
    std::vector<const Launches*> own;
    std::string last_difference;
    for (const Launches& launches : calls) {
      const std::string different = difference(graph.kernels, launches);
      if (different.empty())
        own.push_back(&launches);
      else
        last_difference = different;
    }
    graph.measured_calls = static_cast<int>(own.size());
    graph.not_measured =
        !own.empty()    ? ""
        : calls.empty() ? "no times are known: the profile has no call of a compiled function"
                        : fmt::format(
                              "no times are known: of {} calls in the profile none was one of this graph at "
                              "these sizes; in the last one, {}",
                              calls.size(), last_difference);
    for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
      std::vector<std::uint64_t> times;
      for (const Launches* launches : own) times.push_back((*launches)[i].ns);
      graph.kernels[i].measured_ns = times.empty() ? 0 : median(std::move(times));
    }
  }
}

}  // namespace pel
