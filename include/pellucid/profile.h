// What ran: the launch counter, a recording of kernel launches for tests, and the profiler.
//
//   Profile profile;           // records from here on
//   train_step();
//   profile.stop();
//   fmt::print("{}", profile.table());
//   profile.write_trace("run.json");  // for Perfetto and everything that reads PyTorch's traces
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

// One kernel launch, as a Recording keeps it.
struct Event {
  Device device;
  std::uint32_t thread;    // small number, in order of first event
  const char* name;        // lives as long as the process
  const char* op;          // the op whose kernel list was asked
  std::uint64_t begin_ns;  // steady clock
  std::uint64_t end_ns;
  std::uint64_t bytes_read;  // elements addressed × element size; a broadcast element counts once
  std::uint64_t bytes_written;
  std::uint64_t flops;  // of products, convolutions and attention: a multiplication and an addition are two
};

// Keeps the kernel launches of this thread while it is in scope. Recordings nest: the innermost keeps them.
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
  // When so much is recorded, later events are dropped and counted; what was recorded before is kept whole.
  std::int64_t most_bytes = std::int64_t{256} << 20;
};

// One thing that happened, as Profile::each gives it. Views are valid during the call.
struct ProfileEvent {
  // Op: a call, from its public function to its return. Layer: its way through one dispatch key. Backward:
  // the rules of one op's gradient. Memory: bytes taken or given back, at one moment.
  enum class Kind : std::uint8_t { Op, Layer, Kernel, Backward, Module, Range, Compile, Memory };
  struct Shape {
    DType dtype;
    ArrayView<std::int64_t> sizes, strides;
  };
  struct Refusal {
    const char* kernel;
    const char* reason;
  };

  Kind kind = Kind::Op;
  bool is_sync = false;       // an op that reads data back to the host
  bool is_outermost = false;  // an op inside no other
  bool is_composite = false;  // an op made of other ops
  Device device;              // of kernels and memory
  std::uint32_t thread = 0;   // small number, in order of first event
  std::uint32_t depth = 0;    // spans around it
  const char* name = "";
  Site site{};                             // of the public call; line 0: not known
  std::uint64_t id = 0;                    // of an op on its thread; of a kernel, the op that launched it
  std::uint64_t begin_ns = 0, end_ns = 0;  // since the profile began
  std::uint64_t sequence = 0;              // joins an op with the Backward of its gradient; 0: none
  const char* op = "";                     // of kernels: the op that launched it
  std::uint64_t bytes_read = 0, bytes_written = 0, flops = 0;  // of kernels; see Event
  std::int64_t bytes = 0, bytes_in_use = 0;                    // of Memory; given back is less than 0
  ArrayView<Shape> shapes;  // arguments of an op; of a kernel its outputs, then its inputs
  std::uint32_t output_count = 0;
  ArrayView<Refusal> refusals;  // kernels of the list that were asked before this one
};

enum class ProfileBy : std::uint8_t { Op, Kernel, Site, Module };

// One line of a table. What a span has of its own is what no inner row of the same kind has.
struct ProfileRow {
  std::string name;
  std::uint64_t calls = 0;
  std::uint64_t total_ns = 0, self_ns = 0;
  std::uint64_t kernels = 0, kernel_ns = 0;          // launched inside
  std::uint64_t own_kernels = 0, own_kernel_ns = 0;  // and by no inner row
  std::uint64_t bytes = 0, flops = 0;                // of its own kernels
  double roof_ns = 0;  // the least its own kernels could take on this machine (machine.h); 0: not known
  std::uint64_t before_kernel_ns = 0;  // from a call's begin to its first kernel's
};

// Records all threads, from construction to stop(). One at a time.
class PEL_API Profile {
 public:
  explicit Profile(const ProfileOptions& options = {});
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  void stop();  // a second time does nothing; what is asked below stops first

  // Thread by thread, in the order in which things ended: what is inside a span comes before it.
  void each(const std::function<void(const ProfileEvent&)>& f);
  std::uint64_t event_count();
  std::uint64_t dropped();       // for lack of room
  std::int64_t bytes_used();     // by the buffers
  std::int64_t began_unix_ns();  // wall clock
  std::uint64_t duration_ns();

  // Those with the most time of their own first.
  std::vector<ProfileRow> rows(ProfileBy by);
  std::string table(ProfileBy by = ProfileBy::Op, std::size_t most = 30);  // for a terminal of 100 columns

  // Chrome JSON as Kineto writes it, for Perfetto, HTA and all that read PyTorch's traces.
  void write_trace(const std::string& path, Site site = Site::current());

 private:
  struct State;
  std::unique_ptr<State> state_;
};

PEL_API bool is_profiling();

// A span with a name of your own, where a Profile records. The name is a literal, or lives as long as the
// process.
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
  bool gives_site_ = false;
  const char* name_;
  Site site_;
  std::uint64_t begin_ = 0, sequence_;
};

// A name that lives as long as the process, for Range and for kernels.
PEL_API const char* interned(std::string_view text);

}  // namespace pel
