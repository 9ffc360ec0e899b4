#include "profile/collective_note.h"

#include <atomic>

#include "base/thread_object.h"
#include "profile/rank_identity.h"
#include "profile/recorder.h"

namespace pel::profile {
namespace {

std::atomic<std::uint64_t> identity{0};  // rank and world, 32 bits each: read and written as one

}  // namespace

void note_collective(const CollectiveNote& note) {
  if (settings().session() == 0) [[likely]]
    return;
  thread_object<CollectiveNote>() = note;
  thread_state.has_collective = true;
}

void set_rank_identity(RankIdentity known) {
  identity.store(static_cast<std::uint64_t>(known.rank) << 32 | static_cast<std::uint32_t>(known.world));
}
RankIdentity rank_identity() {
  const std::uint64_t known = identity.load();
  return {static_cast<int>(known >> 32), static_cast<int>(known & 0xffffffff)};
}

}  // namespace pel::profile
