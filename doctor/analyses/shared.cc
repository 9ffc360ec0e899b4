#include "doctor/analyses/shared.h"

namespace pel::doctor {

std::shared_ptr<const WhatIf> Shared::replay(const Examined& examined) const {
  const std::scoped_lock lock(replay_mutex_);
  if (replay_ == nullptr) replay_ = std::make_shared<const WhatIf>(examined);
  return replay_;
}

std::shared_ptr<const FoundChains> Shared::chains(const Examined& examined) const {
  const std::scoped_lock lock(chains_mutex_);
  if (chains_ == nullptr) chains_ = std::make_shared<const FoundChains>(find_chains(examined));
  return chains_;
}

std::shared_ptr<const WhatIf> replay_of(const Examined& examined) {
  return examined.shared != nullptr ? examined.shared->replay(examined)
                                    : std::make_shared<const WhatIf>(examined);
}

std::shared_ptr<const FoundChains> chains_of(const Examined& examined) {
  return examined.shared != nullptr ? examined.shared->chains(examined)
                                    : std::make_shared<const FoundChains>(find_chains(examined));
}

}  // namespace pel::doctor
