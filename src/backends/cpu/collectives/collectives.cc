// Collectives over host memory: engines move it (src/distributed).
#include "distributed/collectives.h"

#include <array>

#include "backends/cpu/kernels.h"
#include "tensor/convert.h"

namespace pel::cpu {
namespace {

dist::Group::State& group_of(const KernelArgs& args) { return dist::group_numbered(args.scalars[0].as_int); }
int peer_of(const KernelArgs& args) { return static_cast<int>(args.scalars[1].as_int); }

using Collective = void (*)(dist::Group::State& group, const Operand& dst, const Operand& src);
template <Collective Run>
void run(Stream&, const KernelArgs& args) {
  Run(group_of(args), output(args, 0), input(args, 0));
}
void run_broadcast(Stream&, const KernelArgs& args) {
  dist::broadcast(group_of(args), output(args, 0), input(args, 0), peer_of(args));
}
void run_send(Stream&, const KernelArgs& args) {
  const Operand& src = input(args, 0);
  dist::send(group_of(args), src, peer_of(args));
  std::int64_t count = 1;
  for (int i = 0; i < src.rank; ++i) count *= src.sizes[i];
  store_as(output(args, 0).data, count);
}
void run_recv(Stream&, const KernelArgs& args) {
  dist::recv(group_of(args), output(args, 0), input(args, 0), peer_of(args));
}

const std::array<Kernel, 1> kAllReduce = {{{"cpu_all_reduce", supports_any, run<dist::all_reduce>}}};
const std::array<Kernel, 1> kAllGather = {{{"cpu_all_gather", supports_any, run<dist::all_gather>}}};
const std::array<Kernel, 1> kReduceScatter = {
    {{"cpu_reduce_scatter", supports_any, run<dist::reduce_scatter>}}};
const std::array<Kernel, 1> kBroadcast = {{{"cpu_broadcast", supports_any, run_broadcast}}};
const std::array<Kernel, 1> kAllToAll = {{{"cpu_all_to_all", supports_any, run<dist::all_to_all>}}};
const std::array<Kernel, 1> kSend = {{{"cpu_send", supports_any, run_send}}};
const std::array<Kernel, 1> kRecv = {{{"cpu_recv", supports_any, run_recv}}};

}  // namespace

KernelLists collective_kernels() {
  static const std::array<BackendKernels, 7> lists = {{{"all_gather", kAllGather},
                                                       {"all_reduce", kAllReduce},
                                                       {"all_to_all", kAllToAll},
                                                       {"broadcast", kBroadcast},
                                                       {"recv", kRecv},
                                                       {"reduce_scatter", kReduceScatter},
                                                       {"send", kSend}}};
  return lists;
}

}  // namespace pel::cpu
