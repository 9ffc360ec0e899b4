// Databases of rocprofv3 (rocpd). The tables have the id of their run in their names, and change with
// versions of ROCm; the views over them have kept their names, and most of their columns:
//
//   kernels         dispatches; stack_id is that of the call, sizes are in work-items
//   memory_copies
//   regions         calls of HIP and HSA, and the ranges of roctx
//   rocpd_info_agent
#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "doctor/readers/named_range.h"
#include "doctor/readers/rocprof_names.h"
#include "doctor/readers/sqlite/formats.h"

namespace pel::doctor {
namespace {

std::int64_t first_of(const TableRows& rows, std::initializer_list<int> columns) {
  for (const int column : columns)
    if (!rows.is_null(column)) return rows.number(column);
  return 0;
}

class RocpdReader {
 public:
  RocpdReader(const Database& database, DatabaseVisit& visit) : database_(database), visit_(visit) {}
  void read() {
    read_agents();
    read_regions();
    read_kernels();
    read_copies();
  }

 private:
  void read_agents() {
    if (!database_.has("rocpd_info_agent")) return;
    DevicePropertiesJson properties;
    TableRows rows =
        database_.select("rocpd_info_agent", {"type", "type_index", "product_name", "model_name", "name"});
    while (rows.next()) {
      if (rows.text(0) != "GPU") continue;
      const std::string product(rows.text(2));
      properties.add(rows.number(1), product.empty() ? rows.text(3) : product, 0);
    }
    properties.add_to(visit_.summary);
  }

  static TraceEvent span(const TableRows& rows, Category category) {  // of the columns start, end, stack_id
    TraceEvent event;
    event.phase = Phase::Span;
    event.has_time = true;
    event.category = category;
    event.begin_ns = rows.number(0);
    const std::int64_t end = rows.number(1, event.begin_ns);
    if (end > event.begin_ns && __builtin_sub_overflow(end, event.begin_ns, &event.duration_ns))
      event.duration_ns = INT64_MAX;
    if (!rows.is_null(2)) event.set(Arg::Correlation, rows.number(2));
    return event;
  }
  static void set_device(std::int64_t device, std::int64_t stream, TraceEvent& event) {
    event.process.number = device;
    event.thread.number = stream;
    event.set(Arg::Device, device);
    event.set(Arg::Stream, stream);
  }

  void read_regions() {
    if (!database_.has("regions")) return;
    TableRows rows =
        database_.select("regions", {"start", "end", "stack_id", "category", "name", "pid", "tid"});
    std::string name;
    while (rows.next()) {
      TraceEvent event = span(rows, Category::Runtime);
      event.process.number = rows.number(5);
      event.thread.number = rows.number(6);
      const std::string_view category = rows.text(3);
      if (category.starts_with("MARKER")) {
        event.args_there = 0;  // its correlation is of no call
        read_named_range(rows.text(4), event, name);
      } else {
        event.name = rows.text(4);
        if (category.starts_with("HSA")) event.category = Category::Driver;
      }
      visit_(event);
    }
  }
  void read_kernels() {
    if (!database_.has("kernels")) return;
    TableRows rows =
        database_.select("kernels", {"start", "end", "stack_id", "name", "agent_type_index",
                                     "agent_log_index", "stream_id", "queue_id", "grid_x", "grid_y", "grid_z",
                                     "workgroup_x", "workgroup_y", "workgroup_z", "lds_size"});
    while (rows.next()) {
      TraceEvent event = span(rows, Category::Kernel);
      event.name = rows.text(3);
      set_device(first_of(rows, {4, 5}), first_of(rows, {6, 7}), event);
      event.has_grid = event.has_block = !rows.is_null(8) && !rows.is_null(11);
      for (int i = 0; i < 3; ++i) {
        event.block[static_cast<std::size_t>(i)] = rows.number(11 + i);
        event.grid[static_cast<std::size_t>(i)] = work_groups(rows.number(8 + i), rows.number(11 + i));
      }
      if (!rows.is_null(14)) event.set(Arg::SharedMemory, rows.number(14));
      visit_(event);
    }
  }
  void read_copies() {
    if (!database_.has("memory_copies")) return;
    TableRows rows = database_.select(
        "memory_copies", {"start", "end", "stack_id", "name", "dst_agent_type", "dst_agent_type_index",
                          "src_agent_type_index", "stream_id", "queue_id", "size"});
    std::string name;
    while (rows.next()) {
      TraceEvent event = span(rows, Category::Memcpy);
      name = usual_copy_name(rows.text(3));
      event.name = name;
      set_device(rows.number(rows.text(4) == "GPU" ? 5 : 6), first_of(rows, {7, 8}), event);
      if (!rows.is_null(9)) event.set(Arg::Bytes, rows.number(9));
      visit_(event);
    }
  }

  const Database& database_;
  DatabaseVisit& visit_;
};

}  // namespace

bool is_rocpd(const Database& database) {
  return database.has("rocpd_metadata") || (database.has("kernels") && database.has("regions"));
}

void read_rocpd(const Database& database, DatabaseVisit& visit) { RocpdReader(database, visit).read(); }

}  // namespace pel::doctor
