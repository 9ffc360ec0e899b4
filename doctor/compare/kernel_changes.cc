#include "doctor/compare/kernel_changes.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <tuple>

#include "base/sort_stably.h"
#include "doctor/compare/longest_common.h"

namespace pel::doctor {
namespace {

// A kernel that runs twice never takes quite the same time.
constexpr double kSameWithin = 0.05;

constexpr std::uint32_t kNoName = ~std::uint32_t{0};

ChangeKind change_kind(const KernelChange& change, bool is_same_name) {
  if (change.count_after == 0) return ChangeKind::Gone;
  if (change.count_before == 0) return ChangeKind::New;
  if (!is_same_name) return ChangeKind::Replaced;
  if (std::abs(static_cast<double>(change.difference_ns())) <=
      kSameWithin * static_cast<double>(change.ns_before))
    return ChangeKind::Same;
  return change.difference_ns() < 0 ? ChangeKind::Faster : ChangeKind::Slower;
}

class ChangeSums {
 public:
  ChangeSums(const StepSummary& before, const StepSummary& after, CommonNames& names)
      : before_(before), after_(after), names_(names) {}

  void add(const Counterpart& part) {
    std::vector<std::uint32_t> before = part.before, after = part.after;  // what has no counterpart yet
    pair_by(part, before, after, [&](const StepSummary& of, std::uint32_t w) { return name_of(of, w); });
    // Between ops that differ, an elementwise kernel has nothing to do with the next one; a matmul has.
    pair_by(part, before, after, [&](const StepSummary& of, std::uint32_t w) {
      const KernelFamily family = of.kernel_of(w).family;
      const bool is_told = family != KernelFamily::Unknown && (part.is_aligned || uses_tensor_cores(family));
      return is_told ? static_cast<std::uint32_t>(family) : kNoName;
    });
    for (const std::uint32_t w : before) add_pair(part, &w, nullptr);
    for (const std::uint32_t w : after) add_pair(part, nullptr, &w);
  }

  std::vector<KernelChange> take() {
    std::vector<KernelChange> changes;
    for (auto& [key, change] : sums_) {
      change.kind = change_kind(change, std::get<0>(key) == std::get<1>(key));
      change.chain = std::get<2>(key);
      changes.push_back(std::move(change));
    }
    sort_stably(changes, [](const KernelChange& a, const KernelChange& b) {
      return std::abs(a.difference_ns()) > std::abs(b.difference_ns());
    });
    return changes;
  }

 private:
  std::uint32_t name_of(const StepSummary& of, std::uint32_t w) { return names_.add(of.kernel_of(w).name); }

  // The k-th of a key with the k-th of that key; kNoName is paired with nothing.
  template <class KeyOf>
  void pair_by(const Counterpart& part, std::vector<std::uint32_t>& before, std::vector<std::uint32_t>& after,
               KeyOf&& key_of) {
    std::vector<std::uint32_t> keys_before, keys_after;
    for (const std::uint32_t w : before) keys_before.push_back(key_of(before_, w));
    for (const std::uint32_t w : after) keys_after.push_back(key_of(after_, w));
    std::vector<bool> has_before(before.size()), has_after(after.size());
    for (const auto& [i, j] : common_by_count(keys_before, keys_after)) {
      if (keys_before[i] == kNoName) continue;
      has_before[i] = has_after[j] = true;
      add_pair(part, &before[i], &after[j]);
    }
    const auto drop = [](std::vector<std::uint32_t>& activities, const std::vector<bool>& has) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < activities.size(); ++i) {
        if (!has[i]) activities[kept++] = activities[i];
      }
      activities.resize(kept);
    };
    drop(before, has_before);
    drop(after, has_after);
  }

  static const std::string& launch_chain(const StepSummary& of, std::uint32_t w) {
    return of.texts[of.activities[w].chain];
  }
  std::string chain_of_pair(const Counterpart& part, const std::uint32_t* before,
                            const std::uint32_t* after) const {
    if (part.is_aligned) return part.chain;
    if (after == nullptr) return launch_chain(before_, *before);
    if (before == nullptr) return launch_chain(after_, *after);
    const std::string &chain = launch_chain(before_, *before), &now = launch_chain(after_, *after);
    return chain == now ? chain : chain + " → " + now;
  }

  void add_pair(const Counterpart& part, const std::uint32_t* before, const std::uint32_t* after) {
    const auto key =
        std::tuple(before == nullptr ? kNoName : name_of(before_, *before),
                   after == nullptr ? kNoName : name_of(after_, *after), chain_of_pair(part, before, after));
    KernelChange& change = sums_[key];
    if (before != nullptr) {
      change.before = &before_.kernel_of(*before);
      ++change.count_before;
      change.ns_before += before_.activities[*before].duration_ns;
    }
    if (after != nullptr) {
      change.after = &after_.kernel_of(*after);
      ++change.count_after;
      change.ns_after += after_.activities[*after].duration_ns;
    }
  }

  const StepSummary& before_;
  const StepSummary& after_;
  CommonNames& names_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, KernelChange> sums_;
};

}  // namespace

std::string_view name(ChangeKind kind) {
  static constexpr std::array<std::string_view, 6> kNames{"same",     "faster", "slower",
                                                          "replaced", "gone",   "new"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<KernelChange> kernel_changes(const StepSummary& before, const StepSummary& after,
                                         const Alignment& alignment, CommonNames& names) {
  ChangeSums sums(before, after, names);
  for (const Counterpart& part : alignment.parts) sums.add(part);
  return sums.take();
}

}  // namespace pel::doctor
