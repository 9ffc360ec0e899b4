// The launches of a plan as a graph of CUDA. Its kernels find their addresses in a table in device memory, so
// that a replay is one copy of that table and one launch.
//
// A graph belongs to one stream: its kernels have the address of that stream's report. So replays run one
// after the other, and a table is read before the next one is copied over it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/cuda_launch.h"
#include "backends/cuda/driver.h"
#include "base/small_vector.h"

namespace pel::cuda {

class CudaGraph {
 public:
  // Captures the launches, each of which has the form by_table. Their numbers of launches are those from
  // `first_launch` on, in every replay. Null: `refusal` says which function of the driver failed, `status`
  // how.
  static std::unique_ptr<CudaGraph> capture(const Driver& driver, Stream_ stream, Address report,
                                            ArrayView<HeldLaunch> launches, std::size_t address_count,
                                            std::uint64_t first_launch, std::string& refusal, Result& status);
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // Returns memory of the host that no copy reads which has not ended; null: all of it is in use. `ended`: as
  // in used_until.
  Address* unused_table(std::uint64_t ended);
  bool is_half_used() const { return next_ % (kTables / 2) == 0; }  // after unused_table
  // Copies the table, which unused_table returned, and launches the graph. The copy has ended when
  // `used_until` commands of the stream have.
  Result replay(Stream_ stream, const Address* table, std::uint64_t used_until, const char*& function);

  std::size_t launch_count() const { return launch_count_; }
  std::uint64_t first_launch() const { return first_launch_; }
  std::size_t table_bytes() const { return address_count_ * sizeof(Address); }

 private:
  explicit CudaGraph(const Driver& driver) : driver_(driver) {}
  Result record(Stream_ stream, Address report, ArrayView<HeldLaunch> launches, const char*& function);

  static constexpr std::size_t kTables = 32;
  const Driver& driver_;
  GraphExec_ graph_ = nullptr;
  Address table_ = 0;
  void* pinned_ = nullptr;  // kTables tables
  std::array<std::uint64_t, kTables> used_until_{};
  std::size_t next_ = 0, address_count_ = 0, launch_count_ = 0;
  std::uint64_t first_launch_ = 0;
};

}  // namespace pel::cuda
