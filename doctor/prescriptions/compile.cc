// torch.compile for chains of kernels that only pass memory to each other.
#include <fmt/format.h>

#include "doctor/analyses/sums.h"
#include "doctor/prescriptions/patient.h"

namespace pel::doctor {

void propose_compile(Patient& patient, std::vector<Prescription>& prescriptions) {
  const std::shared_ptr<const FoundChains> chains = chains_of(patient.examined());
  Prescription p;
  const ChainKind* largest = nullptr;
  const ChainSum* largest_sum = nullptr;
  double bound = 0, most = 0;
  std::int64_t kernels = 0;
  for (const auto& [kind, sum] : chains->kinds) {
    const auto length = static_cast<std::size_t>(sum.kernels);
    if (length == 0 || sum.ns <= 0) continue;
    const double memory_saved = sum.saved_ns() - static_cast<double>(sum.gaps_ns);
    const double kept = 1 - memory_saved / static_cast<double>(sum.ns);
    std::int64_t taken = 0;
    for (std::size_t at = 0; at + length <= sum.links.size(); at += length) {
      const std::span<const std::uint32_t> links(&sum.links[at], length);
      if (chains->is_on_host) {
        const std::int64_t begin = patient.events().begin_ns(links.front()),
                           end = patient.events().end_ns(links.back());
        if (patient.events().row(links.front()) != patient.host_row() || end <= begin) continue;
        p.cuts.push_back({begin, end, kept});
      } else {
        if (std::ranges::any_of(links, [&](std::uint32_t w) { return patient.is_claimed(w); })) continue;
        double ns = 0;
        for (const std::uint32_t w : links) ns += static_cast<double>(patient.duration_ns(w));
        patient.fuse(p.change, links, ns * kept);
      }
      ++taken;
    }
    if (taken == 0) continue;
    // A chain launches less, too, where the host is what the device waits for.
    const double saved = sum.saved_ns() * static_cast<double>(taken) / static_cast<double>(sum.count);
    bound += saved + (chains->is_starved && !chains->is_on_host
                          ? static_cast<double>(patient.total_ns()) /
                                static_cast<double>(patient.model().activities().size()) *
                                static_cast<double>(taken * (sum.kernels - 1))
                          : 0);
    p.count += taken;
    kernels += taken * sum.kernels;
    if (largest == nullptr || saved > most) {
      largest = &kind;
      largest_sum = &sum;
      most = saved;
    }
  }
  if (largest == nullptr) return;
  p.key = "compile";
  p.action =
      fmt::format("Compile the model: {} {} in chains become {}, such as {}", kernels,
                  chains->is_on_host ? "ops" : "kernels", p.count, chain_text(patient.model(), *largest));
  p.how = "model = torch.compile(model)";
  const std::uint32_t example = largest_sum->links.front();
  p.where = chains->is_on_host ? patient.line_of(example) : patient.place_of_activity(example);
  p.needs = "these ops do not break the graph";
  p.effort = Effort::Setting;
  p.bound_ns = saturating_cast(bound);
  prescriptions.push_back(std::move(p));
}

}  // namespace pel::doctor
