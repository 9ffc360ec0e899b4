// The decoded kernel names of a trace, each decoded once.
#pragma once

#include <cstdint>
#include <vector>

#include "doctor/model/model.h"
#include "doctor/names/kernel_name.h"

namespace pel::doctor {

inline constexpr std::size_t kKernelFamilyCount = static_cast<std::size_t>(KernelFamily::Other) + 1;

// As conditions, questions and JSON call a family: its name with _ for blanks, "gemm_helper".
std::string word_of(KernelFamily family);
KernelFamily family_of(std::string_view word);  // Unknown: there is none of that name

class KernelCatalog {
 public:
  explicit KernelCatalog(const Model& model);

  const KernelName& of(EventId kernel) const { return names_[places_[events_.name_id(kernel)]]; }
  // Of copies and fills, too.
  KernelFamily family(EventId activity) const;
  bool is_collective(EventId activity) const { return family(activity) == KernelFamily::Collective; }

 private:
  const EventTable& events_;
  std::vector<std::uint32_t> places_;  // in names_, by NameId
  std::vector<KernelName> names_;
  std::vector<KernelFamily> families_;  // by NameId
};

}  // namespace pel::doctor
