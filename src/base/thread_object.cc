#include "base/thread_object.h"

#include <array>
#include <mutex>
#include <utility>

#include "base/check.h"

namespace pel::detail {
namespace {

using Objects = std::array<void*, kThreadSlots>;

constinit Objects no_objects{};  // never written
constinit std::array<DeleteThreadObject, kThreadSlots> deleters{};

int new_slot(std::atomic<int>& slot, DeleteThreadObject destroy) {
  static constinit std::mutex mutex;
  static int count = 0;
  const std::lock_guard lock(mutex);
  if (const int taken = slot.load(std::memory_order_relaxed); taken != 0) return taken;
  PEL_ASSERT(count + 1 < kThreadSlots, "kThreadSlots is too small for all types of thread objects");
  deleters[static_cast<std::size_t>(++count)] = destroy;
  slot.store(count, std::memory_order_release);
  return count;
}

struct AtThreadEnd {
  ~AtThreadEnd() {
    auto* const objects = reinterpret_cast<Objects*>(thread_objects);
    if (objects == &no_objects) return;
    // The last type first, as with variables. An object that is used by a later destructor is made again.
    for (std::size_t slot = kThreadSlots; slot-- > 1;) {
      if (void* const object = std::exchange((*objects)[slot], nullptr); object != nullptr)
        deleters[slot](object);
    }
    thread_objects = no_objects.data();
    delete objects;
  }
};

}  // namespace

constinit thread_local void** thread_objects = no_objects.data();

void* make_thread_object(std::atomic<int>& slot, MakeThreadObject make, DeleteThreadObject destroy) {
  const int number = new_slot(slot, destroy);
  if (thread_objects == no_objects.data()) {
    thread_local const AtThreadEnd at_end;
    static_cast<void>(at_end);
    thread_objects = (new Objects{})->data();
  }
  // Made first: its constructor may need another thread object.
  void* const made = make();
  thread_objects[number] = made;
  return made;
}

}  // namespace pel::detail
