// Traces of any number of ranks of one run, of any length, made while they are read. Who is late, why, and
// how far clocks are apart is known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "doctor/readers/byte_source.h"

namespace pel::test {

enum class LatenessMade : std::uint8_t { Input, Dispatch, Sync, Kernels };

struct MadeStraggler {
  int rank = 0;
  LatenessMade cause = LatenessMade::Input;
  std::int64_t late_ns = 0;  // at each collective of its steps
  int first_step = 0, every = 1;
  bool is_late_in(int step) const { return step >= first_step && (step - first_step) % every == 0; }
};

// Each step loads data, runs kernels that keep the device busy, and ends with an all-reduce that the
// host waits for.
struct MadeTrainingRun {
  int ranks = 8, steps = 10, kernels = 20;
  std::vector<MadeStraggler> late{};
  bool has_step_marks = true;
  bool has_jitter = false;  // of calls and kernels; arrivals at collectives stay what they are
  int group = 0;  // so many neighbours reduce once more in each step, next to the kernels; 0: they do not

  static constexpr std::int64_t kLoadNs = 20'000, kCallNs = 2'000, kLatencyNs = 3'000, kPaceNs = 3'000;
  static constexpr std::int64_t kKernelNs = 6'000, kGapNs = 1'000, kTransferNs = 50'000;
  static constexpr std::int64_t kGroupTransferNs = 4'000;

  int events_in_step() const { return 3 * kernels + 5 + (has_step_marks ? 1 : 0) + (group != 0 ? 3 : 0); }

  // Up to 5 ms either way, the same on every call.
  std::int64_t offset_ns(int rank) const {
    return rank == 0 ? 0 : static_cast<std::int64_t>(noise(rank, -1, 10'000'000)) - 5'000'000;
  }
  static std::uint64_t noise(int rank, int step, std::uint64_t below) {
    std::uint64_t x =
        static_cast<std::uint64_t>(rank) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(step) + 1;
    for (int i = 0; i < 3; ++i) x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
    return (x >> 20) % below;
  }
  const MadeStraggler* late_in(int rank, int step) const {
    for (const MadeStraggler& one : late) {
      if (one.rank == rank && one.is_late_in(step)) return &one;
    }
    return nullptr;
  }
  // From the beginning of a step to that of its collective.
  std::int64_t arrival_ns(int rank, int step) const {
    const MadeStraggler* straggler = late_in(rank, step);
    return kLoadNs + 5'000 + kCallNs + kLatencyNs + kernels * (kKernelNs + kGapNs) +
           static_cast<std::int64_t>(noise(rank, step, 2'000)) +
           (straggler == nullptr ? 0 : straggler->late_ns);
  }
  // Likewise of the collective of its group, which begins with its kernels.
  std::int64_t group_arrival_ns(int rank, int step) const {
    const MadeStraggler* straggler = late_in(rank, step);
    const bool loads_late = straggler != nullptr && straggler->cause == LatenessMade::Input;
    return kLoadNs + 5'000 + kCallNs + kLatencyNs +
           static_cast<std::int64_t>(noise(rank, step + 2'000'000, 2'000)) +
           (loads_late ? straggler->late_ns : 0);
  }
  std::int64_t group_end_ns(int rank, int step) const {
    std::int64_t last = 0;
    const int first = rank / group * group;
    for (int other = first; other < std::min(first + group, ranks); ++other)
      last = std::max(last, group_arrival_ns(other, step));
    return last + kGroupTransferNs;
  }
  // Where steps begin, and one more; by the true clock.
  std::vector<std::int64_t> step_begins() const {
    std::vector<std::int64_t> begins{1'000'000'000};
    for (int step = 0; step < steps; ++step) {
      std::int64_t last = 0;
      for (int rank = 0; rank < ranks; ++rank) last = std::max(last, arrival_ns(rank, step));
      begins.push_back(begins.back() + last + kTransferNs + 10'000);
    }
    return begins;
  }
};

class MadeRankSource : public doctor::ByteSource {
 public:
  MadeRankSource(const MadeTrainingRun& run, const std::vector<std::int64_t>& begins, int rank,
                 std::string name = "")
      : run_(run),
        begins_(begins),
        rank_(rank),
        name_(name.empty() ? fmt::format("made/rank{}.json", rank) : std::move(name)) {
    text_ = fmt::format(
        R"({{"schemaVersion": 1, "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}}, "traceEvents": [)",
        rank, run.ranks);
  }
  std::size_t read(char* to, std::size_t most) override {
    if (at_ == text_.size()) {
      text_.clear();
      at_ = 0;
      if (step_ < run_.steps) {
        write_step();
        ++step_;
        if (step_ == run_.steps) text_ += "\n]}";
      }
    }
    const std::size_t count = std::min(most, text_.size() - at_);
    std::memcpy(to, text_.data() + at_, count);
    at_ += count;
    return count;
  }
  const std::string& name() const override { return name_; }

 private:
  template <class... Args>
  void span(std::string_view category, int process, int thread, std::string_view name, std::int64_t begin,
            std::int64_t end, fmt::format_string<Args...> args, Args&&... values) {
    const std::int64_t ts = begin + run_.offset_ns(rank_), duration = end - begin;
    auto out = std::back_inserter(text_);
    fmt::format_to(
        out,
        R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}.{:03}, "dur": {}.{:03}, "args": {{)",
        is_first_ ? "\n" : ",\n", category, name, process, thread, ts / 1000, ts % 1000, duration / 1000,
        duration % 1000);
    fmt::format_to(out, args, std::forward<Args>(values)...);
    text_ += "}}";
    is_first_ = false;
  }
  std::int64_t jitter(int kernel, int kind, std::uint64_t below) const {
    if (!run_.has_jitter) return 0;
    const int place = (step_ * run_.kernels + kernel) * 8 + kind;
    return static_cast<std::int64_t>(MadeTrainingRun::noise(rank_ + 7, place, below));
  }
  void host(std::string_view category, std::string_view name, std::int64_t begin, std::int64_t end) {
    span(category, 100, 1, name, begin, end, R"("External id": {})", correlation_);
  }
  void call(std::string_view name, std::int64_t begin, std::int64_t end) {
    span("cuda_runtime", 100, 1, name, begin, end, R"("External id": {}, "cbid": 211, "correlation": {})",
         correlation_, correlation_);
  }

  void write_step() {
    using R = MadeTrainingRun;
    const MadeStraggler* straggler = run_.late_in(rank_, step_);
    const auto extra = [&](LatenessMade cause) {
      return straggler != nullptr && straggler->cause == cause ? straggler->late_ns : 0;
    };
    const std::int64_t begin = begins_[static_cast<std::size_t>(step_)],
                       next = begins_[static_cast<std::size_t>(step_) + 1];
    const std::int64_t end = next - 10'000;  // of the collective
    if (run_.has_step_marks) host("user_annotation", fmt::format("ProfilerStep#{}", step_), begin, next);
    const std::int64_t loaded = begin + R::kLoadNs + extra(LatenessMade::Input);
    host("user_annotation", "enumerate(DataLoader)#_Iter.__next__", begin, loaded);
    std::int64_t asks = loaded + 5'000, ran = 0;
    const int pause = run_.kernels / 2;
    const std::int64_t slower = extra(LatenessMade::Kernels) / run_.kernels;
    for (int i = 0; i < run_.kernels; ++i) {
      ++correlation_;
      std::int64_t op_begin = asks - 500;
      if (i == pause && extra(LatenessMade::Dispatch) + extra(LatenessMade::Sync) != 0) {
        if (extra(LatenessMade::Sync) != 0) {
          call("cudaStreamSynchronize", asks, ran + 500);
          op_begin = ran + 1'000;
        }
        // One gap between kernels is there without the pause, too.
        asks = ran + R::kGapNs + straggler->late_ns - R::kCallNs - R::kLatencyNs;
      }
      host("cpu_op", "aten::relu", op_begin + jitter(i, 0, 300), asks + R::kCallNs + 300 - jitter(i, 1, 250));
      call("cudaLaunchKernel", asks + jitter(i, 2, 500), asks + R::kCallNs - jitter(i, 3, 1'000));
      const std::int64_t earliest = asks + R::kCallNs + R::kLatencyNs;
      const std::int64_t starts = i == 0 ? earliest : std::max(earliest, ran + R::kGapNs);
      std::int64_t takes = R::kKernelNs + slower;
      if (i + 1 == run_.kernels) takes += extra(LatenessMade::Kernels) % run_.kernels;
      ran = starts + takes;
      span(
          "kernel", 0, 7,
          "void at::native::vectorized_elementwise_kernel<4, at::native::relu_functor<float> >(int)", starts,
          ran - jitter(i, 4, 2'000),
          R"("External id": {}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {}, "registers per thread": 24, "shared memory": 0, "blocks per SM": 4.5, "warps per SM": 18.2, "grid": [{}, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 28)",
          correlation_, correlation_, 512 + i % 7);
      asks += R::kPaceNs;
    }
    const auto collective = [&](std::int64_t asked, std::int64_t arrives, std::int64_t left, int stream,
                                int ranks, int process_group) {
      ++correlation_;
      host("cpu_op", "nccl:all_reduce", asked - 300, asked + R::kCallNs + 300);
      call("cudaLaunchKernel", asked, asked + R::kCallNs);
      span(
          "kernel", 0, stream, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
          arrives, left,
          R"("External id": {}, "device": 0, "context": 1, "stream": {}, "correlation": {}, "Collective name": "allreduce", "In msg nelems": 1048576, "Out msg nelems": 1048576, "Group size": {}, "dtype": "Float", "Process Group Name": "{}", "Process Group Description": "{}")",
          correlation_, stream, correlation_, ranks, process_group, process_group == 0 ? "default_pg" : "tp");
    };
    if (run_.group != 0) {
      const int first = rank_ / run_.group * run_.group;
      const std::int64_t asked = loaded + 1'000;  // before the first kernel
      collective(asked, begin + run_.group_arrival_ns(rank_, step_),
                 begin + run_.group_end_ns(rank_, step_) +
                     static_cast<std::int64_t>(R::noise(rank_, step_ + 3'000'000, 1'000)),
                 24, std::min(run_.group, run_.ranks - first), 1 + rank_ / run_.group);
    }
    collective(asks, begin + run_.arrival_ns(rank_, step_),
               end + static_cast<std::int64_t>(R::noise(rank_, step_ + 1'000'000, 1'000)), 20, run_.ranks, 0);
    ++correlation_;
    call("cudaStreamSynchronize", asks + R::kPaceNs, end + 5'000);
  }

  const MadeTrainingRun& run_;
  const std::vector<std::int64_t>& begins_;
  int rank_, step_ = 0;
  std::int64_t correlation_ = 0;
  bool is_first_ = true;
  std::string name_, text_;
  std::size_t at_ = 0;
};

}  // namespace pel::test
