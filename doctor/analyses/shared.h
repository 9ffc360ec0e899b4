// What several analyses of one trace use and takes long to compute: made for the first that asks, by
// whichever thread.
#pragma once

#include <memory>
#include <mutex>

#include "doctor/analyses/find_chains.h"
#include "doctor/replay/what_if.h"

namespace pel::doctor {

class Shared {
 public:
  std::shared_ptr<const WhatIf> replay(const Examined& examined) const;
  std::shared_ptr<const FoundChains> chains(const Examined& examined) const;

 private:
  mutable std::mutex replay_mutex_, chains_mutex_;
  mutable std::shared_ptr<const WhatIf> replay_;
  mutable std::shared_ptr<const FoundChains> chains_;
};

// Of Examined::shared where there is one.
std::shared_ptr<const WhatIf> replay_of(const Examined& examined);
std::shared_ptr<const FoundChains> chains_of(const Examined& examined);

}  // namespace pel::doctor
