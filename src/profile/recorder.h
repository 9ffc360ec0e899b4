// Where kernel launches are counted and recorded. Nothing here allocates or locks unless a Recording is on.
#pragma once

#include <cstdint>

#include "pellucid/profile.h"

namespace pel::profile {

struct ThreadState {
  std::uint64_t launches = 0;
  Recording* recording = nullptr;
};
extern constinit thread_local ThreadState thread_state;

inline void count_launch() { ++thread_state.launches; }
inline bool is_recording() { return thread_state.recording != nullptr; }

std::uint64_t now_ns();
void record(Event event);  // fills in the thread

}  // namespace pel::profile
