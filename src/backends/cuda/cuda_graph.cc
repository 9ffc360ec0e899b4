#include "backends/cuda/cuda_graph.h"

#include <fmt/format.h>

namespace pel::cuda {

std::unique_ptr<CudaGraph> CudaGraph::capture(const Driver& driver, Stream_ stream, Address report,
                                              ArrayView<HeldLaunch> launches, std::size_t address_count,
                                              std::uint64_t first_launch, std::string& refusal,
                                              Result& status) {
  std::unique_ptr<CudaGraph> made(new CudaGraph(driver));
  made->address_count_ = address_count;
  made->launch_count_ = launches.size();
  made->first_launch_ = first_launch;
  const char* function = "";
  status = made->record(stream, report, launches, function);
  if (status == kSuccess) return made;
  refusal = fmt::format("{} returned {}", function, error_text(driver, status));
  return nullptr;
}

Result CudaGraph::record(Stream_ stream, Address report, ArrayView<HeldLaunch> launches,
                         const char*& function) {
  function = "cuMemAlloc";
  if (const Result status = driver_.cuMemAlloc_v2(&table_, table_bytes()); status != kSuccess) return status;
  function = "cuMemAllocHost";
  if (const Result status = driver_.cuMemAllocHost_v2(&pinned_, kTables * table_bytes()); status != kSuccess)
    return status;
  function = "cuStreamBeginCapture";
  // Of this thread: others may call the driver meanwhile.
  if (const Result status = driver_.cuStreamBeginCapture_v2(stream, kCaptureOfThread); status != kSuccess)
    return status;
  function = "cuLaunchKernel";
  Result status = kSuccess;
  for (std::size_t i = 0; i < launches.size() && status == kSuccess; ++i) {
    const HeldLaunch& launch = launches[i];
    SmallVector<Address, 9> slots;
    for (std::size_t a = 0; a < launch.address_count; ++a)
      slots.push_back(table_ + sizeof(Address) * (launch.first_address + a));
    slots.push_back(report);
    status = launch_kernel(driver_, stream, launch.function->by_table, launch.shape,
                           {slots.data(), slots.size()}, launch.numbers, first_launch_ + i);
  }
  // The stream has to leave the capture after an error, too.
  Graph_ recorded = nullptr;
  const Result ended = driver_.cuStreamEndCapture(stream, &recorded);
  if (status == kSuccess && ended != kSuccess) {
    function = "cuStreamEndCapture";
    status = ended;
  }
  if (status == kSuccess) {
    function = "cuGraphInstantiate";
    status = driver_.cuGraphInstantiateWithFlags(&graph_, recorded, 0);
  }
  if (recorded != nullptr) driver_.cuGraphDestroy(recorded);
  return status;
}

CudaGraph::~CudaGraph() {
  if (graph_ != nullptr) driver_.cuGraphExecDestroy(graph_);
  if (pinned_ != nullptr) driver_.cuMemFreeHost(pinned_);
  if (table_ != 0) driver_.cuMemFree_v2(table_);
}

Address* CudaGraph::unused_table(std::uint64_t ended) {
  const std::size_t table = next_ % kTables;
  if (used_until_[table] > ended) return nullptr;
  ++next_;
  return static_cast<Address*>(pinned_) + table * address_count_;
}

Result CudaGraph::replay(Stream_ stream, const Address* table, std::uint64_t used_until,
                         const char*& function) {
  used_until_[(next_ - 1) % kTables] = used_until;
  function = "cuMemcpyHtoDAsync";
  if (const Result status = driver_.cuMemcpyHtoDAsync_v2(table_, table, table_bytes(), stream);
      status != kSuccess)
    return status;
  function = "cuGraphLaunch";
  return driver_.cuGraphLaunch(graph_, stream);
}

}  // namespace pel::cuda
