#include "doctor/analyses/verdict.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/median.h"
#include "base/readable.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/activity_roofs.h"

namespace pel::doctor {
namespace {

std::string share(std::int64_t part, std::int64_t whole) {
  return fmt::format("{:.1f} %", percent_of(part, whole));
}

std::int64_t count_launches(const Model& model) {
  std::vector<EventId> launches;
  for (const Activity& activity : model.activities()) {
    if (activity.launch != kNoEvent) launches.push_back(activity.launch);
  }
  std::sort(launches.begin(), launches.end());
  return std::unique(launches.begin(), launches.end()) - launches.begin();
}

std::int64_t median_activity_ns(const Model& model) {
  std::vector<std::int64_t> durations;
  for (const Activity& activity : model.activities())
    durations.push_back(activity.end_ns - activity.begin_ns);
  return median_of(std::move(durations));
}

// The event that accounts for most of the idle time of one cause.
std::string worst(const Examined& examined, IdleCause cause) {
  std::map<std::string, SaturatingSum> sums;
  for (const Gap& gap : examined.time.gaps()) {
    if (gap.cause != cause || gap.blame == kNoEvent) continue;
    std::string name(examined.model.events().name(gap.blame));
    if (cause == IdleCause::Sync) {
      if (const std::string chain = examined.model.op_chain(gap.blame); !chain.empty())
        name += " in " + chain;
    }
    sums[std::move(name)] += gap.duration_ns();
  }
  std::string name;
  std::int64_t most = 0;
  for (const auto& [key, sum] : sums) {
    if (sum > most) {
      name = key;
      most = sum;
    }
  }
  return most == 0 ? std::string() : fmt::format("{} ({})", name, readable_ns(most));
}

}  // namespace

Losses::Losses(const TimeShares& shares)
    : total_ns(shares.total()),
      overhead_ns(shares.idle(IdleCause::Dispatch) + shares.idle(IdleCause::Guards) +
                  shares.idle(IdleCause::Allocation) + shares.idle(IdleCause::Latency)),
      sync_ns(shares.idle(IdleCause::Sync)),
      input_ns(shares.idle(IdleCause::Input)),
      communication_ns(shares.communication_ns),
      unexplained_ns(shares.idle(IdleCause::Unexplained) + shares.idle(IdleCause::NoLaunch) +
                     shares.idle(IdleCause::Dependency) + shares.idle(IdleCause::Profiler)) {}

Bound Losses::bound() const {
  if (total_ns == 0) return Bound::CpuOnly;
  if (percent_of(lost_ns(), total_ns) < kLossThatCounts)
    return compute_ns >= memory_ns ? Bound::Compute : Bound::Memory;
  const std::pair<std::int64_t, Bound> all[] = {{overhead_ns, Bound::Overhead},
                                                {sync_ns, Bound::Sync},
                                                {input_ns, Bound::Input},
                                                {communication_ns, Bound::Communication},
                                                {unexplained_ns, Bound::Unexplained}};
  return std::max_element(std::begin(all), std::end(all),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

Verdicts judge(const Examined& examined) {
  Verdicts verdicts{.all = Losses(examined.time.all()), .steps = {}};
  for (const TimeShares& step : examined.time.of_steps()) verdicts.steps.emplace_back(step);
  ActivityRoofs roofs(examined.model, examined.kernels);
  for (const Activity& activity : examined.model.activities()) {
    if (examined.kernels.is_collective(activity.event)) continue;
    const std::int64_t ns = activity.end_ns - activity.begin_ns;
    const Roof roof = roofs.of(activity).roof;
    const auto add = [&](Losses& losses) {
      (roof == Roof::Memory ? losses.memory_ns : losses.compute_ns) += ns;
      if (roof == Roof::Unknown) losses.unsized_ns += ns;
    };
    add(verdicts.all);
    if (activity.step < verdicts.steps.size()) add(verdicts.steps[activity.step]);
  }
  return verdicts;
}

Verdict verdict_of(const Examined& examined, const Verdicts& verdicts) {
  const Model& model = examined.model;
  const TimeShares& time = examined.time.all();
  const Losses& all = verdicts.all;
  Verdict verdict{.bound = all.bound(), .sentence = {}};
  const auto say = [&](std::string reason) { verdict.reasons.push_back(std::move(reason)); };
  if (verdict.bound == Bound::CpuOnly) {
    verdict.sentence = "This trace has no device activity: it shows the CPU alone.";
    say("If the run used a device, record its activity, too: profile(activities=[ProfilerActivity.CPU, "
        "ProfilerActivity.CUDA]).");
    return verdict;
  }
  const std::int64_t launches = count_launches(model);
  const std::string span = readable_ns(time.total());
  const std::string idle = share(time.idle(), time.total());
  switch (verdict.bound) {
    case Bound::Overhead: {
      if (model.is_synchronous()) {
        verdict.sentence =
            fmt::format("Kernels run for {} of {}; the host spends {} between one kernel and the next.",
                        share(time.busy_ns, time.total()), span, share(all.overhead_ns, all.total_ns));
        say("Larger tensors help, or a compiled function, which has fewer kernels and no dispatch between "
            "them.");
        break;
      }
      verdict.sentence = fmt::format(
          "The device is idle for {} of {}: for {} because the next kernel was launched too late.", idle,
          span, share(all.overhead_ns, all.total_ns));
      if (launches != 0)
        say(fmt::format("{} launches in {}: one every {}, for kernels and copies that take {} (median).",
                        launches, span, readable_ns(time.total() / launches),
                        readable_ns(median_activity_ns(model))));
      if (const std::string op = worst(examined, IdleCause::Dispatch); !op.empty())
        say(fmt::format("The device waited longest for {}.", op));
      say("Fewer and larger kernels help: a larger batch, torch.compile, or a CUDA graph of the "
          "step.");
      break;
    }
    case Bound::Sync:
      verdict.sentence =
          fmt::format("The device is idle for {} of {}: for {} after the host had waited for it.", idle, span,
                      share(all.sync_ns, all.total_ns));
      if (const std::string sync = worst(examined, IdleCause::Sync); !sync.empty())
        say(fmt::format("It was idle longest after {}; the sync points are listed by their cost.", sync));
      say("Keep values on the device: .item(), nonzero(), copies to the host and boolean masks all wait for "
          "it.");
      break;
    case Bound::Input:
      verdict.sentence =
          fmt::format("The device is idle for {} of {}: for {} while the host was loading data.", idle, span,
                      share(all.input_ns, all.total_ns));
      if (const std::string loader = worst(examined, IdleCause::Input); !loader.empty())
        say(fmt::format("The device waited longest in {}.", loader));
      say("Load ahead: DataLoader(num_workers=..., pin_memory=True, prefetch_factor=...), or decode on the "
          "device.");
      break;
    case Bound::Communication:
      verdict.sentence =
          fmt::format("Collectives ran with nothing else for {} of {}; the device was idle for another {}.",
                      share(all.communication_ns, all.total_ns), span, share(time.idle(), time.total()));
      say("Their time includes the wait for late ranks: one rank alone cannot tell a slow link from a "
          "late rank.");
      say("Overlap them with the backward pass (DDP buckets, FSDP prefetch), or send less.");
      break;
    case Bound::Unexplained:
      verdict.sentence =
          fmt::format("{} of {} cannot be explained from this trace; the device is idle for {} in total.",
                      share(all.unexplained_ns, all.total_ns), span, idle);
      if (time.idle(IdleCause::Unexplained) != 0)
        say(fmt::format(
            "For {} the next kernel had been launched long before, and nothing in the trace delayed it: "
            "waits between streams, activity that was not recorded, or other ranks.",
            readable_ns(time.idle(IdleCause::Unexplained))));
      if (time.idle(IdleCause::NoLaunch) != 0)
        say(fmt::format("For {} the launch of the next kernel is not in the trace.",
                        readable_ns(time.idle(IdleCause::NoLaunch))));
      if (all.communication_ns != 0)
        say(fmt::format("Collectives ran with nothing else for {}.",
                        share(all.communication_ns, all.total_ns)));
      say("Record with enable_cuda_sync_events, and record the other ranks, to see what was waited for.");
      break;
    case Bound::Compute:
    case Bound::Memory: {
      const bool is_compute = verdict.bound == Bound::Compute;
      const std::int64_t kernels = all.compute_ns + all.memory_ns;
      verdict.sentence = fmt::format(
          "The device is busy for {} of {}; {} of its kernel and copy time goes to {}.",
          share(time.busy_ns, time.total()), span,
          share(is_compute ? all.compute_ns : all.memory_ns, kernels),
          is_compute ? "compute-bound kernels: matmuls and attention" : "memory-bound kernels and copies");
      if (model.is_synchronous()) {
        say(is_compute ? "A narrower dtype (bf16), more threads or a faster CPU help."
                       : "Fusing elementwise ops and norms saves memory traffic: a compiled function.");
        break;
      }
      if (is_compute && all.unsized_ns > all.compute_ns - all.unsized_ns)
        say(fmt::format(
            "The sizes of matmuls that take {} are not in the trace; small ones, such as those of "
            "decoding, are memory-bound.",
            share(all.unsized_ns, kernels)));
      say(is_compute
              ? "A narrower dtype (bf16, fp8), matmuls on tensor cores with aligned sizes, or a faster "
                "device help."
              : "Fusing elementwise ops and norms saves memory traffic: torch.compile, or a fused kernel.");
      break;
    }
    case Bound::CpuOnly:
      break;
  }
  if (model.activities_without_launch() != 0)
    say(fmt::format(
        "{} of {} device activities were launched before the trace began: what delayed them is not known.",
        model.activities_without_launch(), model.activities().size()));
  return verdict;
}

}  // namespace pel::doctor
