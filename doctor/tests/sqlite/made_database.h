// Databases of profilers in memory, made by the published schemas; no real file is among them.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <sqlite3.h>

#include "doctor/tests/same_run.h"

namespace pel::test {

class MadeDatabase {
 public:
  MadeDatabase() {
    if (sqlite3_open(":memory:", &database_) != SQLITE_OK) throw std::runtime_error("sqlite3_open");
    run("BEGIN");
  }
  ~MadeDatabase() { sqlite3_close(database_); }
  MadeDatabase(const MadeDatabase&) = delete;
  MadeDatabase& operator=(const MadeDatabase&) = delete;

  void run(const std::string& sql) {
    char* problem = nullptr;
    if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, &problem) == SQLITE_OK) return;
    const std::string text = problem;
    sqlite3_free(problem);
    throw std::runtime_error(text + " in " + sql);
  }
  static std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) result.append(c == '\'' ? 2 : 1, c);
    return result + "'";
  }
  std::string bytes() {
    run("COMMIT");
    sqlite3_int64 size = 0;
    unsigned char* const data = sqlite3_serialize(database_, "main", &size, 0);
    std::string result(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    sqlite3_free(data);
    run("BEGIN");
    return result;
  }

 private:
  sqlite3* database_ = nullptr;
};

// The numbers that strings have in a table.
class StringTable {
 public:
  std::size_t id(const std::string& text) { return ids_.try_emplace(text, ids_.size() + 1).first->second; }
  const std::map<std::string, std::size_t>& all() const { return ids_; }

 private:
  std::map<std::string, std::size_t> ids_;
};

// As `nsys export --type sqlite` writes it, schema 3.
inline std::string nsys_of(const std::vector<RunEvent>& events) {
  MadeDatabase db;
  db.run(R"(CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
    INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.24.14');
    CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, smCount INTEGER);
    CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, numMultiprocessors INTEGER);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 3, 'NVIDIA H100 80GB HBM3', 132);
    INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 1, 132);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, "end" INTEGER NOT NULL, eventClass INTEGER,
      globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL,
      contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
      demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
      blockX INTEGER, blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL,
      contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
      bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL,
      contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
      bytes INTEGER NOT NULL, memKind INTEGER);
    CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, "end" INTEGER, eventType INTEGER NOT NULL, text TEXT,
      globalTid INTEGER, textId INTEGER, domainId INTEGER);)");
  StringTable strings;
  const auto add = [&](const char* table, const std::string& values) {
    db.run(fmt::format("INSERT INTO {} VALUES ({})", table, values));
  };
  for (const RunEvent& e : events) {
    const std::int64_t process = std::int64_t{1} << 56 | std::int64_t{1} << 24, thread = process | e.thread;
    const std::string times = fmt::format("{}, {}", e.begin_ns, e.end_ns());
    const std::string where = fmt::format("{}, 0, 1, {}, {}, {}", times, e.thread, e.correlation, process);
    const bool is_to_host = e.name.find("DtoH") != std::string::npos;
    switch (e.category) {
      case doctor::Category::Kernel:
        add("CUPTI_ACTIVITY_KIND_KERNEL",
            fmt::format("{}, {}, {}, {}, NULL", where, strings.id(e.name), strings.id("short"),
                        e.has_grid ? fmt::format("{}, {}, {}, {}, {}, {}", e.grid[0], e.grid[1], e.grid[2],
                                                 e.block[0], e.block[1], e.block[2])
                                   : "NULL, NULL, NULL, NULL, NULL, NULL"));
        break;
      case doctor::Category::Memcpy:
        add("CUPTI_ACTIVITY_KIND_MEMCPY",
            fmt::format("{}, {}, {}", where, e.bytes, is_to_host ? "2, 2, 0" : "1, 0, 2"));
        break;
      case doctor::Category::Memset:
        add("CUPTI_ACTIVITY_KIND_MEMSET", fmt::format("{}, {}, 2", where, e.bytes));
        break;
      case doctor::Category::Runtime:
        add("CUPTI_ACTIVITY_KIND_RUNTIME",
            fmt::format("{}, 0, {}, {}, {}, 0", times, thread, e.correlation, strings.id(e.name + "_v7000")));
        break;
      default: {
        std::string text = e.name;
        if (e.is_step()) text = "step " + e.step_number();
        if (e.category == doctor::Category::CpuOp) text += ", op_id = 7";
        // A text stands in the row, or in the table of strings.
        if (e.is_step()) {
          add("NVTX_EVENTS",
              fmt::format("{}, 59, {}, {}, NULL, 0", times, MadeDatabase::quoted(text), thread));
        } else {
          add("NVTX_EVENTS", fmt::format("{}, 59, NULL, {}, {}, 0", times, thread, strings.id(text)));
        }
      }
    }
  }
  add("NVTX_EVENTS", "5, NULL, 34, 'a mark', 0, NULL, 0");
  for (const auto& [text, id] : strings.all())
    add("StringIds", fmt::format("{}, {}", id, MadeDatabase::quoted(text)));
  return db.bytes();
}

// As rocprofv3 writes it: views over tables whose names end with the id of the run.
inline std::string rocpd_of(const std::vector<RunEvent>& events) {
  MadeDatabase db;
  db.run(R"(CREATE TABLE rocpd_metadata_0001 (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
    CREATE VIEW rocpd_metadata AS SELECT * FROM rocpd_metadata_0001;
    CREATE TABLE rocpd_string_0001 (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
    CREATE TABLE rocpd_info_agent_0001 (id INTEGER PRIMARY KEY, type TEXT, type_index INTEGER, product_name TEXT);
    INSERT INTO rocpd_info_agent_0001 VALUES (1, 'CPU', 0, 'EPYC'), (2, 'GPU', 0, 'AMD Instinct MI300X');
    CREATE VIEW rocpd_info_agent AS SELECT * FROM rocpd_info_agent_0001;
    CREATE TABLE rocpd_region_0001 (id INTEGER PRIMARY KEY, tid INTEGER, start BIGINT, "end" BIGINT, name_id INTEGER,
      category TEXT, stack_id INTEGER);
    CREATE VIEW regions AS SELECT R.category, S.string AS name, 1 AS pid, R.tid, R.start, R."end", R.stack_id
      FROM rocpd_region_0001 R INNER JOIN rocpd_string_0001 S ON S.id = R.name_id;
    CREATE TABLE rocpd_kernel_dispatch_0001 (id INTEGER PRIMARY KEY, stream_id INTEGER, start BIGINT, "end" BIGINT,
      name_id INTEGER, stack_id INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER,
      workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER);
    CREATE VIEW kernels AS SELECT S.string AS name, 0 AS agent_type_index, K.stream_id, K.start, K."end", K.stack_id,
      K.grid_size_x AS grid_x, K.grid_size_y AS grid_y, K.grid_size_z AS grid_z, K.workgroup_size_x AS workgroup_x,
      K.workgroup_size_y AS workgroup_y, K.workgroup_size_z AS workgroup_z
      FROM rocpd_kernel_dispatch_0001 K INNER JOIN rocpd_string_0001 S ON S.id = K.name_id;
    CREATE TABLE rocpd_memory_copy_0001 (id INTEGER PRIMARY KEY, stream_id INTEGER, start BIGINT, "end" BIGINT,
      name_id INTEGER, stack_id INTEGER, size INTEGER, dst_agent_type TEXT);
    CREATE VIEW memory_copies AS SELECT S.string AS name, M.start, M."end", M.stack_id, M.stream_id, M.size,
      M.dst_agent_type, 0 AS dst_agent_type_index, 0 AS src_agent_type_index
      FROM rocpd_memory_copy_0001 M INNER JOIN rocpd_string_0001 S ON S.id = M.name_id;)");
  StringTable strings;
  for (const RunEvent& e : events) {
    const std::string times = fmt::format("{}, {}", e.begin_ns, e.end_ns());
    const auto add = [&](const char* table, const std::string& values) {
      db.run(fmt::format("INSERT INTO {}_0001 VALUES (NULL, {}, {}, {})", table, e.thread, times, values));
    };
    switch (e.category) {
      case doctor::Category::Kernel: {
        std::string sizes = "NULL, NULL, NULL, NULL, NULL, NULL";
        if (e.has_grid)
          sizes = fmt::format("{}, {}, {}, {}, {}, {}", e.grid[0] * e.block[0], e.grid[1] * e.block[1],
                              e.grid[2] * e.block[2], e.block[0], e.block[1], e.block[2]);
        add("rocpd_kernel_dispatch", fmt::format("{}, {}, {}", strings.id(e.name), e.correlation, sizes));
        break;
      }
      case doctor::Category::Memcpy: {
        const bool is_to_host = e.name.find("DtoH") != std::string::npos;
        const char* const name = is_to_host ? "MEMORY_COPY_DEVICE_TO_HOST" : "MEMORY_COPY_HOST_TO_DEVICE";
        add("rocpd_memory_copy", fmt::format("{}, {}, {}, '{}'", strings.id(name), e.correlation, e.bytes,
                                             is_to_host ? "CPU" : "GPU"));
        break;
      }
      case doctor::Category::Runtime:
        add("rocpd_region", fmt::format("{}, 'HIP_RUNTIME_API', {}", strings.id(e.name), e.correlation));
        break;
      default:
        add("rocpd_region", fmt::format("{}, 'MARKER_CORE_RANGE_API', 0",
                                        strings.id(e.is_step() ? "step " + e.step_number() : e.name)));
    }
  }
  for (const auto& [text, id] : strings.all())
    db.run(fmt::format("INSERT INTO rocpd_string_0001 VALUES ({}, 'g', {})", id, MadeDatabase::quoted(text)));
  return db.bytes();
}

}  // namespace pel::test
