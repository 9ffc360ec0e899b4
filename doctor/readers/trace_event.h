// One event of a trace, as readers hand it out, whichever version of PyTorch wrote it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pel::doctor {

enum class Phase : std::uint8_t {
  Span,
  Begin,
  End,
  Instant,
  Metadata,
  FlowStart,
  FlowStep,
  FlowEnd,
  Counter,
  Other
};
inline constexpr std::size_t kPhaseCount = 10;

// What Kineto calls `cat`. Names of 2021 (Operator, Runtime, Kernel …) are read as those of today.
enum class Category : std::uint8_t {
  None,  // no `cat` at all: metadata, marks of the profiler
  CpuOp,
  UserAnnotation,
  PythonFunction,
  Runtime,  // calls of CUDA, HIP or Pellucid that launch or wait
  Driver,
  Kernel,
  Memcpy,
  Memset,
  Sync,
  DeviceEvent,
  DeviceAnnotation,
  Overhead,
  CpuInstant,    // [memory], [OutOfMemory]
  LaunchFlow,    // ac2g
  BackwardFlow,  // fwdbwd
  TraceSpan,
  Counters,
  Piece,  // of a parallel loop on one thread, in Pellucid's traces
  Other,
};
inline constexpr std::size_t kCategoryCount = 20;

// Arguments that are whole numbers.
enum class Arg : std::uint8_t {
  ExternalId,
  Correlation,
  Sequence,
  ForwardThread,
  RecordFunctionId,
  EventIndex,
  Device,
  Context,
  Stream,
  Bytes,
  BytesRead,
  BytesWritten,
  Flops,
  RegistersPerThread,
  SharedMemory,
  GraphId,
  GraphNodeId,
  Address,
  DeviceType,
  DeviceId,
  TotalAllocated,
  TotalReserved,
  PythonId,
  PythonParent,
  PythonModule,
  WaitStream,
  WaitCorrelation,
  WaitEvent,
  InputElements,   // of a collective, what one rank gives
  OutputElements,  // and gets
  GroupSize,       // ranks that take part
  CollectiveSequence,
  SourceRank,  // of a send or a receive
  DestinationRank,
  Queued,  // Pellucid's own: commands of a stream that had not ended at a launch or a wait
};
inline constexpr std::size_t kArgCount = 35;

// Arguments that have a fraction.
enum class ArgDecimal : std::uint8_t { OccupancyPercent, BlocksPerMultiprocessor, GigabytesPerSecond };
inline constexpr std::size_t kArgDecimalCount = 3;

// Arguments that are text: a string as it reads, a list as its JSON.
enum class ArgText : std::uint8_t {
  InputShapes,     // [[8, 16], [], [[2, 3], [4]]]
  InputTypes,      // ["float", "Scalar", "TensorList"]
  InputStrides,    // [[16, 1], [], []]
  ConcreteInputs,  // ["", "2", "[1, 2]"]
  CallStack,       // torch 1.8 to 1.12: "a.py(3): f;b.py(7): g"
  CollectiveName,
  ProcessGroupName,
  ElementType,  // of a collective
  KernelFile,   // that Inductor wrote
  Reason,       // Pellucid's own: why a call waits
};
inline constexpr std::size_t kArgTextCount = 10;

std::string_view name(Phase phase);
std::string_view name(Category category);  // as Kineto writes it today
Category category_of(std::string_view text);
Phase phase_of(std::string_view text);

// A number, or the text that replaces it: rows are named "Spans" or "stream 7", flows 0x1f.
struct RowName {
  std::int64_t number = 0;  // of "stream 7" it is 7
  std::string_view text;    // empty where the trace has a number
};

// Views are valid during the visit.
struct TraceEvent {
  Phase phase = Phase::Other;
  Category category = Category::None;
  bool has_time = false;
  std::string_view name, category_text;
  RowName process, thread;       // of device activity: the device and its stream
  RowName id;                    // of flows
  std::int64_t begin_ns = 0;     // as in the trace: its base, which may follows the events, is not added
  std::int64_t duration_ns = 0;  // of spans
  std::string_view label;        // of metadata: the name of a process or thread
  std::string_view call_site;    // Pellucid's own: model.cc:12
  std::string_view json;         // all of it, for arguments that are not here

  bool has(Arg arg) const { return (args_there >> static_cast<unsigned>(arg) & 1) != 0; }
  std::int64_t get(Arg arg, std::int64_t otherwise = 0) const {
    return has(arg) ? args[static_cast<std::size_t>(arg)] : otherwise;
  }
  void set(Arg arg, std::int64_t value) {
    args[static_cast<std::size_t>(arg)] = value;
    args_there |= std::uint64_t{1} << static_cast<unsigned>(arg);
  }

  bool has(ArgText arg) const { return (texts_there >> static_cast<unsigned>(arg) & 1) != 0; }
  std::string_view get(ArgText arg) const {
    return has(arg) ? texts[static_cast<std::size_t>(arg)] : std::string_view();
  }
  void set(ArgText arg, std::string_view value) {
    texts[static_cast<std::size_t>(arg)] = value;
    texts_there = static_cast<std::uint16_t>(texts_there | 1u << static_cast<unsigned>(arg));
  }

  bool has(ArgDecimal arg) const { return (decimals_there >> static_cast<unsigned>(arg) & 1) != 0; }
  double get(ArgDecimal arg, double otherwise = 0) const {
    return has(arg) ? decimals[static_cast<std::size_t>(arg)] : otherwise;
  }
  void set(ArgDecimal arg, double value) {
    decimals[static_cast<std::size_t>(arg)] = value;
    decimals_there = static_cast<std::uint8_t>(decimals_there | 1u << static_cast<unsigned>(arg));
  }

  // An element of these is valid if its bit is set.
  std::uint64_t args_there = 0;
  std::uint16_t texts_there = 0;
  std::uint8_t decimals_there = 0;
  bool has_grid = false, has_block = false;
  std::array<std::int64_t, 3> grid, block;  // of a kernel: blocks, and threads of one
  std::array<std::int64_t, kArgCount> args;
  std::array<double, kArgDecimalCount> decimals;
  std::array<std::string_view, kArgTextCount> texts;
};

}  // namespace pel::doctor
