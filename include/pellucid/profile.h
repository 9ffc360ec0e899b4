// The profiler, a counter of kernel launches, and a recording of launches for tests.
//
//   Profile profile;           // records from here on
//   train_step();
//   profile.stop();
//   fmt::print("{}", profile.table());
//   profile.write_trace("run.json");  // for Perfetto and other tools that read PyTorch's traces
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/array_view.h"
#include "pellucid/device.h"
#include "pellucid/dtype.h"

namespace pel {

// Kernels launched by this thread since it started. Views launch none.
PEL_API std::uint64_t launch_count();

// One kernel launch in a Recording.
struct Event {
  Device device;
  std::uint32_t thread;    // small number, in order of first event
  const char* name;        // lives as long as the process
  const char* op;          // the op whose kernel list was asked
  std::uint64_t begin_ns;  // steady clock
  std::uint64_t end_ns;
  std::uint64_t bytes_read;  // elements addressed × element size; a broadcast element counts once
  std::uint64_t bytes_written;
  std::uint64_t flops;  // of GEMMs, convolutions and attention; a multiply-add counts as two
};

// Records the kernel launches of this thread while in scope. Recordings nest: the innermost one records.
class PEL_API Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  const std::vector<Event>& events() const { return events_; }
  void add(const Event& event) { events_.push_back(event); }

 private:
  std::vector<Event> events_;
  Recording* outer_;
};

struct ProfileOptions {
  bool shapes = true;   // dtypes, sizes and strides of the tensors that ops and kernels take
  bool layers = false;  // a span for each dispatch key that an op passes
  bool memory = false;  // allocations and releases of tensor data
  // Limit of the buffers. When they are full, later events are dropped and counted.
  std::int64_t max_bytes = std::int64_t{256} << 20;
};

// One event, as Profile::each passes it on. Views are valid during the call.
struct ProfileEvent {
  // Op: a call, from its public function to its return. Layer: the handler of one dispatch key. Backward:
  // the gradient of one op. Memory: an allocation or a release, which has no duration. Piece: of a parallel
  // loop, on the thread that ran it; loops on one thread have none. Of asynchronous devices: Launch, a kernel
  // or a copy that a thread queued; Copy, between the host and the device; Sync, a wait of a thread.
  enum class Kind : std::uint8_t {
    Op,
    Layer,
    Kernel,
    Backward,
    Module,
    Range,
    Compile,
    Memory,
    Piece,
    Launch,
    Copy,
    Sync
  };
  struct Shape {
    DType dtype;
    ArrayView<std::int64_t> sizes, strides;
  };
  struct Refusal {
    const char* kernel;
    const char* reason;
  };

  // Of a kernel that takes part in a collective: which one. Without a name for others.
  struct Collective {
    const char* name = "";     // "all_reduce"
    const char* group = "";    // "world"
    std::uint64_t number = 0;  // of the call in the group
    std::uint64_t ranks = 0;   // of the group
  };

  Kind kind = Kind::Op;
  bool is_sync = false;       // an op that reads data back to the host
  bool is_outermost = false;  // an op inside no other
  bool is_composite = false;  // an op that calls other ops
  Device device;              // of kernels, memory, launches, copies and waits
  std::uint32_t thread = 0;   // small number, in order of first event
  std::uint32_t depth = 0;    // spans around it
  const char* name = "";
  Site site{};  // of the public call; line 0: not known
  // Of an op on its thread; of a kernel, a launch, a copy and a wait, the op around the launch or the wait.
  std::uint64_t id = 0;
  std::uint64_t begin_ns = 0, end_ns = 0;                      // since the profile began
  std::uint64_t sequence = 0;                                  // the same for an op and its Backward; 0: none
  const char* op = "";                                         // of kernels: the op that launched it
  std::uint64_t bytes_read = 0, bytes_written = 0, flops = 0;  // of kernels; see Event
  std::int64_t bytes = 0, bytes_in_use = 0;                    // of Memory, negative for a release; of Copy
  std::int64_t first_element = 0, end_element = 0;             // of a Piece, in its loop
  // Of a Piece: the thread that called the loop. Of a Kernel or Copy on an asynchronous device: the thread
  // that queued it.
  std::uint32_t caller_thread = 0;
  // Of asynchronous devices. The stream is -1 for a wait for several.
  int stream = 0;
  std::uint64_t correlation = 0;  // of a Launch and its Kernel or Copy; 0: queued before the profile began
  // Of a Launch: commands of its stream that had not ended, with this one. Of a Sync: of the streams that it
  // waited for, when it began.
  std::uint64_t queued = 0;
  ArrayView<Shape> shapes;  // arguments of an op; of a kernel its outputs, then its inputs
  std::uint32_t output_count = 0;
  ArrayView<Refusal> refusals;  // kernels earlier in the list, which did not take the call
  Collective collective;
};

// Wait: waits of threads for asynchronous devices, by reason and call site.
enum class ProfileBy : std::uint8_t { Op, Kernel, Site, Module, Wait };

// One line of a table. "Own" excludes inner spans that have rows of the same kind.
struct ProfileRow {
  std::string name;
  std::uint64_t calls = 0;
  std::uint64_t total_ns = 0, self_ns = 0;
  std::uint64_t kernels = 0, kernel_ns = 0;          // launched inside
  std::uint64_t own_kernels = 0, own_kernel_ns = 0;  // and by no inner row
  std::uint64_t bytes = 0, flops = 0;                // of its own kernels
  double roof_ns = 0;  // lower bound for its own kernels on this machine (machine.h); 0: not known
  std::uint64_t before_kernel_ns = 0;  // from the begin of a call to that of its first kernel, or its launch
  std::uint64_t queued = 0;            // of waits: commands that had not ended when they began, in total
};

// Records all threads, from construction to stop(). One at a time.
class PEL_API Profile {
 public:
  explicit Profile(const ProfileOptions& options = {});
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // Waits until kernels that are queued on asynchronous devices have ended, and stops. Does nothing if
  // stopped; the functions below stop it first.
  void stop();

  // Calls `f` for each event, thread by thread, in the order in which they ended: inner spans come first.
  void each(const std::function<void(const ProfileEvent&)>& f);
  std::uint64_t event_count();
  std::uint64_t dropped();       // after max_bytes was reached
  std::int64_t bytes_used();     // by the buffers
  std::int64_t began_unix_ns();  // wall clock
  std::uint64_t duration_ns();

  // Returns the rows, those with the most own time first.
  std::vector<ProfileRow> rows(ProfileBy by);
  std::string table(ProfileBy by = ProfileBy::Op,
                    std::size_t max_rows = 30);  // for a terminal of 100 columns

  // Writes Chrome JSON in Kineto's schema, for Perfetto, HTA and other tools that read PyTorch's traces.
  void write_trace(const std::string& path, Site site = Site::current());

 private:
  struct State;
  std::unique_ptr<State> state_;
};

PEL_API bool is_profiling();

// A span of the user's, recorded if a Profile is active. The name must live as long as the process: a
// literal, or interned().
class PEL_API Range {
 public:
  explicit Range(const char* name, Site site = Site::current())
      : Range(ProfileEvent::Kind::Range, name, site) {}
  ~Range() {
    if (session_ != 0) [[unlikely]]
      end();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 protected:
  Range(ProfileEvent::Kind kind, const char* name, const Site& site, std::uint64_t sequence = 0);

 private:
  void end();
  std::uint32_t session_ = 0;  // 0: nothing is recorded
  ProfileEvent::Kind kind_;
  bool sets_site_ = false;
  const char* name_;
  Site site_;
  std::uint64_t begin_ = 0, sequence_;
};

// Returns a copy of the name that lives as long as the process. Equal names share one copy.
PEL_API const char* interned(std::string_view text);

}  // namespace pel
