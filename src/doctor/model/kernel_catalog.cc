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
  for (const Work& work : model.work()) {
    if (events_.category(work.event) != Category::Kernel) continue;
    const NameId id = events_.name_id(work.event);
    if (!names_.contains(id)) names_.emplace(id, decode_kernel_name(events_.names[id]));
  }
}

KernelFamily KernelCatalog::family(EventId work) const {
  switch (events_.category(work)) {
    case Category::Kernel:
      return *of(work).family;
    case Category::Memset:
      return KernelFamily::Fill;
    default:
      return KernelFamily::Copy;
  }
}

}  // namespace pel::doctor
