#include "doctor/model/kernel_catalog.h"

#include <algorithm>

namespace pel::doctor {

std::string word_of(KernelFamily family) {
  std::string word(name(family));
  std::replace(word.begin(), word.end(), ' ', '_');
  return word;
}

KernelFamily family_of(std::string_view word) {
  for (std::size_t i = 0; i < kKernelFamilyCount; ++i) {
    const auto family = static_cast<KernelFamily>(i);
    if (word_of(family) == word) return family;
  }
  return KernelFamily::Unknown;
}

KernelCatalog::KernelCatalog(const Model& model) : events_(model.events()) {
  constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  places_.assign(events_.names.size(), kNowhere);
  families_.assign(events_.names.size(), KernelFamily::Unknown);
  for (const Activity& activity : model.activities()) {
    if (events_.category(activity.event) != Category::Kernel) continue;
    const NameId id = events_.name_id(activity.event);
    if (places_[id] != kNowhere) continue;
    places_[id] = static_cast<std::uint32_t>(names_.size());
    names_.push_back(decode_kernel_name(events_.names[id]));
    families_[id] = *names_.back().family;
  }
}

KernelFamily KernelCatalog::family(EventId activity) const {
  switch (events_.category(activity)) {
    case Category::Kernel:
      return families_[events_.name_id(activity)];
    case Category::Memset:
      return KernelFamily::Fill;
    default:
      return KernelFamily::Copy;
  }
}

}  // namespace pel::doctor
