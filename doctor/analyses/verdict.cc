#include "doctor/analyses/verdict.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/analyses/sums.h"
#include "doctor/model/median.h"
#include "doctor/model/work_roofs.h"

namespace pel::doctor {
namespace {

std::string share(std::int64_t part, std::int64_t whole) {
  return fmt::format("{:.1f} %", percent_of(part, whole));
}

std::int64_t count_launches(const Model& model) {
  std::vector<EventId> launches;
  for (const Work& work : model.work()) {
    if (work.launch != kNoEvent) launches.push_back(work.launch);
  }
  std::sort(launches.begin(), launches.end());
  return std::unique(launches.begin(), launches.end()) - launches.begin();
}

std::int64_t median_work_ns(const Model& model) {
  std::vector<std::int64_t> durations;
  for (const Work& work : model.work()) durations.push_back(work.end_ns - work.begin_ns);
  return median_of(std::move(durations));
}

// The thing that most of the idle time of one cause is blamed on.
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
  WorkRoofs roofs(examined.model, examined.kernels);
  for (const Work& work : examined.model.work()) {
    if (examined.kernels.is_collective(work.event)) continue;
    const std::int64_t ns = work.end_ns - work.begin_ns;
    const Roof roof = roofs.of(work).roof;
    const auto add = [&](Losses& losses) {
      (roof == Roof::Memory ? losses.memory_ns : losses.compute_ns) += ns;
      if (roof == Roof::Unknown) losses.unsized_ns += ns;
    };
    add(verdicts.all);
    if (work.step < verdicts.steps.size()) add(verdicts.steps[work.step]);
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
    verdict.sentence = "No work of a device is in this trace: it shows the CPU alone.";
    say("Where a device was used, record it too: profile(activities=[ProfilerActivity.CPU, "
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
            fmt::format("Kernels run for {} of {}; {} is the way of the host from one to the next.",
                        share(time.busy_ns, time.total()), span, share(all.overhead_ns, all.total_ns));
        say("Larger tensors help, or a compiled function: it has fewer kernels, and no dispatch between "
            "them.");
        break;
      }
      verdict.sentence =
          fmt::format("The device idles {} of {}: {} because its next work had not been asked for in time.",
                      idle, span, share(all.overhead_ns, all.total_ns));
      if (launches != 0)
        say(fmt::format("{} launches in {}: one every {}, for works that take {} (median).", launches, span,
                        readable_ns(time.total() / launches), readable_ns(median_work_ns(model))));
      if (const std::string op = worst(examined, IdleCause::Dispatch); !op.empty())
        say(fmt::format("The device waited longest for {}.", op));
      say("Fewer and larger works help: a larger batch, torch.compile, or a graph of the step that is "
          "replayed.");
      break;
    }
    case Bound::Sync:
      verdict.sentence = fmt::format("The device idles {} of {}: {} after the host had waited for it.", idle,
                                     span, share(all.sync_ns, all.total_ns));
      if (const std::string sync = worst(examined, IdleCause::Sync); !sync.empty())
        say(fmt::format("It idled longest after {}; the sync points are listed by what they cost.", sync));
      say("Leave values on the device: .item(), nonzero(), copies to the host and boolean masks all wait for "
          "it.");
      break;
    case Bound::Input:
      verdict.sentence = fmt::format("The device idles {} of {}: {} while the host was loading data.", idle,
                                     span, share(all.input_ns, all.total_ns));
      if (const std::string loader = worst(examined, IdleCause::Input); !loader.empty())
        say(fmt::format("The device waited longest in {}.", loader));
      say("Load ahead: DataLoader(num_workers=..., pin_memory=True, prefetch_factor=...), or decode on the "
          "device.");
      break;
    case Bound::Communication:
      verdict.sentence =
          fmt::format("Collectives ran with nothing beside them for {} of {}; {} more is idle.",
                      share(all.communication_ns, all.total_ns), span, share(time.idle(), time.total()));
      say("Their time holds the wait for late ranks, too: one rank alone does not tell a slow link from a "
          "late rank.");
      say("Overlap them with the backward pass (buckets of DDP, prefetch of FSDP), or send less.");
      break;
    case Bound::Unexplained:
      verdict.sentence =
          fmt::format("{} of {} cannot be explained from this trace; the device idles {} in all.",
                      share(all.unexplained_ns, all.total_ns), span, idle);
      if (time.idle(IdleCause::Unexplained) != 0)
        say(fmt::format(
            "For {} the next work had been asked for long before, and nothing in the trace held it back: "
            "waits between streams, works that were not recorded, or other ranks.",
            readable_ns(time.idle(IdleCause::Unexplained))));
      if (time.idle(IdleCause::NoLaunch) != 0)
        say(fmt::format("For {} the launch of the next work is not in the trace.",
                        readable_ns(time.idle(IdleCause::NoLaunch))));
      if (all.communication_ns != 0)
        say(fmt::format("Collectives ran with nothing beside them for {}.",
                        share(all.communication_ns, all.total_ns)));
      say("Record with enable_cuda_sync_events, and the other ranks, to see what was waited for.");
      break;
    case Bound::Compute:
    case Bound::Memory: {
      const bool is_compute = verdict.bound == Bound::Compute;
      const std::int64_t kernels = all.compute_ns + all.memory_ns;
      verdict.sentence = fmt::format(
          "The device is busy {} of {}; of the time of its works, {} goes to {}.",
          share(time.busy_ns, time.total()), span,
          share(is_compute ? all.compute_ns : all.memory_ns, kernels),
          is_compute ? "products and attention, which arithmetic bounds" : "works that memory bounds");
      if (model.is_synchronous()) {
        say(is_compute ? "Fewer bits (bf16), more threads or a faster CPU help."
                       : "Fusing pointwise works and norms saves trips to memory: a compiled function.");
        break;
      }
      if (is_compute && all.unsized_ns > all.compute_ns - all.unsized_ns)
        say(
            fmt::format("The sizes of products that take {} are not in the trace: small ones, such as those "
                        "of decoding, are "
                        "bound by memory.",
                        share(all.unsized_ns, kernels)));
      say(is_compute
              ? "Fewer bits (bf16, fp8), products that use tensor cores with aligned sizes, or a faster "
                "device help."
              : "Fusing pointwise works and norms saves trips to memory: torch.compile, or a fused kernel.");
      break;
    }
    case Bound::CpuOnly:
      break;
  }
  if (model.works_without_launch() != 0)
    say(fmt::format("{} of {} works were launched before the trace began: what held them back is not known.",
                    model.works_without_launch(), model.work().size()));
  return verdict;
}

}  // namespace pel::doctor
