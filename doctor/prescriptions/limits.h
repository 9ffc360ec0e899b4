// Limits of what is prescribed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pel::doctor {

inline constexpr double kMinGainPercent = 2;     // below, it is within the error of the prediction
inline constexpr std::size_t kMaxReplayed = 10;  // those with the largest bounds
inline constexpr std::int64_t kLongestDispatchNs = 1'000'000;  // an op of PyTorch is launched in far less
// What PyTorch's profiler adds to the host for each span that it records, measured with PyTorch 2.15:
// x.item(), two ops and two frames, takes 0.35 µs without it and 3.2 µs with it.
inline constexpr double kProfilerNsOfSpan = 700;
inline constexpr std::size_t kStepsForMedian = 3;
inline constexpr std::size_t kTogether = 3;  // so many are also replayed at once

}  // namespace pel::doctor
