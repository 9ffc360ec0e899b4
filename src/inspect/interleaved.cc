#include "inspect/interleaved.h"

#include <algorithm>
#include <chrono>

namespace pel::inspect {
namespace {

constexpr std::int64_t kMaxCalls = 100'000;
constexpr int kMinTurns = 3;

double ns_per_call(const Loop& loop, std::int64_t calls) {
  const auto begin = std::chrono::steady_clock::now();
  loop(calls);
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::nano>(end - begin).count() / static_cast<double>(calls);
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::size_t Interleaved::add(Loop loop) {
  return add_timed([loop = std::move(loop)](std::int64_t calls) { return ns_per_call(loop, calls); });
}

std::size_t Interleaved::add_timed(std::function<double(std::int64_t calls)> timed) {
  entries_.push_back({std::move(timed)});
  return entries_.size() - 1;
}

double Interleaved::median_rest_ns(std::size_t whole, const std::vector<std::size_t>& parts) const {
  std::vector<double> rest = entries_[whole].ns;
  for (const std::size_t part : parts) {
    for (std::size_t turn = 0; turn < rest.size(); ++turn) rest[turn] -= entries_[part].ns[turn];
  }
  return median(std::move(rest));
}

void Interleaved::run(int turns, const Progress& progress) {
  for (Entry& entry : entries_) {
    double ns = entry.timed(1);  // the first call selects kernels and allocates memory
    if (ns < burst_ns_) ns = entry.timed(8);
    entry.calls =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(burst_ns_ / std::max(1.0, ns)), 1, kMaxCalls);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (int turn = 0; turn < turns; ++turn) {
    if (turn >= kMinTurns && std::chrono::steady_clock::now() > end) break;
    for (Entry& entry : entries_) entry.ns.push_back(entry.timed(entry.calls));
    if (progress) progress("timing", static_cast<double>(turn + 1) / turns);
  }
  if (progress) progress("", 1);
}

}  // namespace pel::inspect
