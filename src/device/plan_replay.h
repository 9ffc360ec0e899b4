// The launches of a plan as one command, for a device that can replay them: they are the same in each run,
// but for addresses.
//
// Within a run the device holds its launches back, and takes them as one command at the end. Any other
// command of the stream comes after those that are held: then they are launched first, one by one, as are the
// others of the run. So the order is that of the calls, whatever other threads do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace pel {

// Of a plan. Used under the lock of the device.
struct PlanReplay {
  struct Captured {  // what the device holds for it
    virtual ~Captured() = default;
  };
  std::unique_ptr<Captured> captured;
  std::uint64_t runs = 0;
  std::string state;    // what a replay is; empty: nothing was captured yet
  std::string refusal;  // why the launches are made one by one; empty: they are not, or not for long
};

// A run of a plan, on one thread.
struct ReplayRun {
  PlanReplay* replay = nullptr;
  std::uint8_t stream = 0;
  bool is_whole = false;  // its launches may still become one command
};

}  // namespace pel
