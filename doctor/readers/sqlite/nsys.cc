// Exports of Nsight Systems: `nsys export --type sqlite`. Tables are there if something was recorded for
// them.
//
//   CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET   device activities; names are ids of StringIds
//   CUPTI_ACTIVITY_KIND_GRAPH_TRACE                whole graphs, if their kernels were not recorded
//   CUPTI_ACTIVITY_KIND_RUNTIME                    calls of CUDA's runtime and driver
//   CUPTI_ACTIVITY_KIND_SYNCHRONIZATION            waits of streams
//   NVTX_EVENTS                                    ranges: the ops of PyTorch and the user's annotations
//   TARGET_INFO_GPU, TARGET_INFO_CUDA_DEVICE       what the devices are
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "doctor/readers/named_range.h"
#include "doctor/readers/sqlite/formats.h"

namespace pel::doctor {
namespace {

constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL", kMemcpys = "CUPTI_ACTIVITY_KIND_MEMCPY",
                           kMemsets = "CUPTI_ACTIVITY_KIND_MEMSET",
                           kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                           kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME",
                           kWaits = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kRanges = "NVTX_EVENTS";

// A thread is numbered by hardware, machine, process and thread, in bits 56, 48, 24 and 0. A process has the
// same number with 0 for the thread.
constexpr std::int64_t process_of(std::int64_t global_id) { return global_id >> 24 & 0xFFFFFF; }
constexpr std::int64_t thread_of(std::int64_t global_id) { return global_id & 0xFFFFFF; }

// By the numbers of ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND. The last three copy pages of unified
// memory.
constexpr std::string_view kCopyWays[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                          "DtoA", "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
constexpr std::int64_t kFirstUnifiedCopy = 11;
constexpr std::string_view kMemoryKinds[] = {"Pageable", "Pinned", "Device", "Array",
                                             "Managed",  "Device", "Managed"};
// By the numbers of CUpti_ActivitySynchronizationType.
constexpr std::string_view kWaitNames[] = {"", "Event Sync", "Stream Wait Event", "Stream Sync",
                                           "Context Sync"};

template <std::size_t N>
std::string_view at_or(const std::string_view (&names)[N], std::int64_t number, std::string_view otherwise) {
  return number >= 0 && number < static_cast<std::int64_t>(N) && !names[number].empty() ? names[number]
                                                                                        : otherwise;
}

// "cudaLaunchKernel_v7000" is "cudaLaunchKernel".
std::string_view without_version(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  const bool is_version = at != std::string_view::npos && at + 2 < name.size() &&
                          name.find_first_not_of("0123456789", at + 2) == std::string_view::npos;
  return is_version ? name.substr(0, at) : name;
}

class NsysReader {
 public:
  NsysReader(const Database& database, DatabaseVisit& visit) : database_(database), visit_(visit) {
    // Numbers of correlations begin anew in each process, if the export says which one an activity is of.
    has_processes_ = true;
    for (const std::string_view table : {kKernels, kMemcpys, kMemsets}) {
      const std::vector<std::string> columns = database.columns(table);
      if (!columns.empty() && std::find(columns.begin(), columns.end(), "globalPid") == columns.end())
        has_processes_ = false;
    }
  }
  void read() {
    read_strings();
    read_devices();
    read_ranges();
    read_calls();
    read_kernels();
    read_graphs();
    read_memcpys();
    read_memsets();
    read_waits();
  }

 private:
  void read_strings() {
    TableRows rows = database_.select("StringIds", {"id", "value"});
    while (rows.next()) strings_.insert_or_assign(rows.number(0), std::string(rows.text(1)));
  }
  std::string_view string(std::int64_t id) const {
    const auto at = strings_.find(id);
    return at == strings_.end() ? std::string_view() : std::string_view(at->second);
  }

  void read_devices() {
    struct Gpu {
      std::string name;
      std::int64_t multiprocessors = 0;
    };
    std::map<std::int64_t, Gpu> gpus;
    DevicePropertiesJson properties;
    if (!database_.has("TARGET_INFO_GPU")) return;
    TableRows rows = database_.select("TARGET_INFO_GPU", {"id", "name", "smCount"});
    while (rows.next()) gpus[rows.number(0)] = {std::string(rows.text(1)), rows.number(2)};
    if (database_.has("TARGET_INFO_CUDA_DEVICE")) {
      std::map<std::int64_t, std::int64_t> by_device;  // processes may see the same GPU by other numbers
      TableRows devices =
          database_.select("TARGET_INFO_CUDA_DEVICE", {"cudaId", "gpuId", "numMultiprocessors"});
      while (devices.next()) {
        by_device.try_emplace(devices.number(0), devices.number(1));
        Gpu& gpu = gpus[devices.number(1)];
        if (devices.number(2) > 0) gpu.multiprocessors = devices.number(2);
      }
      for (const auto& [device, gpu] : by_device)
        properties.add(device, gpus[gpu].name, gpus[gpu].multiprocessors);
    } else {
      for (const auto& [id, gpu] : gpus) properties.add(id, gpu.name, gpu.multiprocessors);
    }
    properties.add_to(visit_.summary);
  }

  static void set_times(const TableRows& rows, TraceEvent& event) {  // the first two columns
    event.phase = Phase::Span;
    event.has_time = true;
    event.begin_ns = rows.number(0);
    const std::int64_t end = rows.number(1, event.begin_ns);
    event.duration_ns = end > event.begin_ns ? saturated_difference(end, event.begin_ns) : 0;
  }
  static std::int64_t saturated_difference(std::int64_t end, std::int64_t begin) {
    std::int64_t difference = 0;
    return __builtin_sub_overflow(end, begin, &difference) ? INT64_MAX : difference;
  }
  void set_correlation(const TableRows& rows, int correlation, std::int64_t process,
                       TraceEvent& event) const {
    if (rows.number(correlation) == 0) return;  // none
    const std::int64_t number = rows.number(correlation) & 0xFFFFFFFF;
    event.set(Arg::Correlation, has_processes_ ? process << 32 | number : number);
  }
  static void set_thread(std::int64_t global_id, TraceEvent& event) {
    event.process.number = process_of(global_id);
    event.thread.number = thread_of(global_id);
  }
  // Of the columns start, end, deviceId, streamId, correlationId, globalPid.
  TraceEvent activity(const TableRows& rows, Category category) const {
    TraceEvent event;
    set_times(rows, event);
    event.category = category;
    event.process.number = rows.number(2);
    event.thread.number = rows.number(3);
    event.set(Arg::Device, rows.number(2));
    event.set(Arg::Stream, rows.number(3));
    set_correlation(rows, 4, process_of(rows.number(5)), event);
    return event;
  }

  void read_ranges() {
    if (!database_.has(kRanges)) return;
    TableRows rows = database_.select(kRanges, {"start", "end", "globalTid", "text", "textId", "eventType"});
    std::string name;
    while (rows.next()) {
      if (rows.is_null(1)) continue;  // a mark, or a range that was not closed
      TraceEvent event;
      set_times(rows, event);
      set_thread(rows.number(2), event);
      read_named_range(rows.is_null(3) ? string(rows.number(4)) : rows.text(3), event, name);
      visit_(event);
    }
  }
  void read_calls() {
    if (!database_.has(kCalls)) return;
    TableRows rows = database_.select(kCalls, {"start", "end", "globalTid", "correlationId", "nameId"});
    while (rows.next()) {
      TraceEvent event;
      set_times(rows, event);
      set_thread(rows.number(2), event);
      set_correlation(rows, 3, event.process.number, event);
      event.name = without_version(string(rows.number(4)));
      event.category = event.name.starts_with("cuda") ? Category::Runtime : Category::Driver;
      visit_(event);
    }
  }
  void read_kernels() {
    if (!database_.has(kKernels)) return;
    TableRows rows = database_.select(
        kKernels, {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName",
                   "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
                   "staticSharedMemory", "dynamicSharedMemory", "graphNodeId"});
    while (rows.next()) {
      TraceEvent event = activity(rows, Category::Kernel);
      event.name = string(rows.number(rows.is_null(6) ? 7 : 6));
      event.has_grid = !rows.is_null(8);
      event.has_block = !rows.is_null(11);
      for (int i = 0; i < 3; ++i) {
        event.grid[static_cast<std::size_t>(i)] = rows.number(8 + i);
        event.block[static_cast<std::size_t>(i)] = rows.number(11 + i);
      }
      if (!rows.is_null(14)) event.set(Arg::RegistersPerThread, rows.number(14));
      if (!rows.is_null(15))
        event.set(Arg::SharedMemory, (rows.number(15) & 0xFFFFFFFF) + (rows.number(16) & 0xFFFFFFFF));
      if (!rows.is_null(17)) event.set(Arg::GraphNodeId, rows.number(17));
      visit_(event);
    }
  }
  void read_graphs() {
    if (!database_.has(kGraphs)) return;
    TableRows rows = database_.select(
        kGraphs, {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphId"});
    std::string name;
    while (rows.next()) {
      TraceEvent event = activity(rows, Category::Kernel);
      name = fmt::format("CUDA graph {}", rows.number(6));
      event.name = name;
      event.set(Arg::GraphId, rows.number(6));
      visit_(event);
    }
  }
  void read_memcpys() {
    if (!database_.has(kMemcpys)) return;
    TableRows rows = database_.select(kMemcpys, {"start", "end", "deviceId", "streamId", "correlationId",
                                                 "globalPid", "copyKind", "srcKind", "dstKind", "bytes"});
    std::string name;
    while (rows.next()) {
      TraceEvent event = activity(rows, Category::Memcpy);
      name = fmt::format("Memcpy {}", at_or(kCopyWays, rows.number(6), "of unknown direction"));
      if (rows.number(6) >= kFirstUnifiedCopy) {
        name += " (Unified memory)";
      } else if (!rows.is_null(7) && !rows.is_null(8)) {
        name += fmt::format(" ({} -> {})", at_or(kMemoryKinds, rows.number(7), "Unknown"),
                            at_or(kMemoryKinds, rows.number(8), "Unknown"));
      }
      event.name = name;
      if (!rows.is_null(9)) event.set(Arg::Bytes, rows.number(9));
      visit_(event);
    }
  }
  void read_memsets() {
    if (!database_.has(kMemsets)) return;
    TableRows rows = database_.select(
        kMemsets, {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "memKind", "bytes"});
    std::string name;
    while (rows.next()) {
      TraceEvent event = activity(rows, Category::Memset);
      name = fmt::format("Memset ({})", at_or(kMemoryKinds, rows.number(6, 2), "Unknown"));
      event.name = name;
      if (!rows.is_null(7)) event.set(Arg::Bytes, rows.number(7));
      visit_(event);
    }
  }
  void read_waits() {
    if (!database_.has(kWaits)) return;
    TableRows rows = database_.select(kWaits, {"start", "end", "deviceId", "streamId", "correlationId",
                                               "globalPid", "syncType", "eventId"});
    while (rows.next()) {
      TraceEvent event = activity(rows, Category::Sync);
      event.name = at_or(kWaitNames, rows.number(6), "Sync");
      if (!rows.is_null(7)) event.set(Arg::WaitEvent, rows.number(7));
      visit_(event);
    }
  }

  const Database& database_;
  DatabaseVisit& visit_;
  bool has_processes_ = true;
  std::unordered_map<std::int64_t, std::string> strings_;
};

}  // namespace

bool is_nsys(const Database& database) {
  for (const std::string_view table : {kKernels, kMemcpys, kCalls, kRanges})
    if (database.has(table) && database.has("StringIds")) return true;
  return false;
}

void read_nsys(const Database& database, DatabaseVisit& visit) { NsysReader(database, visit).read(); }

}  // namespace pel::doctor
