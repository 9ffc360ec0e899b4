// The buffers of one Profile: a list of chunks for each thread that recorded something.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "pellucid/profile.h"

#include "profile/clock.h"

namespace pel::profile {

struct Chunk {
  std::uint64_t* words;
  std::size_t capacity;
  std::atomic<std::size_t> used{0};  // whole records; what follows may be incomplete
};

struct ThreadBuffer {
  std::uint32_t thread;
  std::vector<std::unique_ptr<Chunk>> chunks;
  std::atomic<std::uint64_t> dropped{0};
  bool has_thread = true;   // which may write to the last chunk
  bool has_session = true;  // thread and session: the last to leave frees the buffer
};

struct Session {
  std::uint32_t number;
  ProfileOptions options;
  Moment began, ended;
  double ns_per_tick = 0;  // known when it has ended
  std::int64_t bytes = 0;
  std::vector<ThreadBuffer*> buffers;
};

// Waits for the commands that are queued on asynchronous devices; null while there are none. Set by the
// layer of devices, which stands above this one.
extern constinit std::atomic<void (*)()> drain_devices;

// Begins to record. Fails if another session records.
std::unique_ptr<Session> begin_session(const ProfileOptions& options);
void end_session(Session& session);   // from here on nothing is added
void free_session(Session& session);  // frees the buffers

}  // namespace pel::profile
