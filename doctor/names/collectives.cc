// Communication. NCCL's names stand for whole classes: one kernel serves every algorithm, protocol and
// reduction of a collective, so that those words in a name say nothing of the call.
#include <array>

#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

struct CollectiveWord {
  std::string_view word, functor;
};
constexpr CollectiveWord kCollectives[] = {
    {"AllReduce", "all_reduce"}, {"AllGather", "all_gather"}, {"ReduceScatter", "reduce_scatter"},
    {"Broadcast", "broadcast"},  {"SendRecv", "send_recv"},   {"AllToAll", "all_to_all"},
    {"Reduce", "reduce"},        {"Gather", "gather"},        {"Scatter", "scatter"}};

constexpr KnownKernel kOtherCollectives[] = {
    {"multimem_all_reduce_kernel*", Family::Collective, "all_reduce"},
    {"multimem_one_shot_all_reduce_kernel*", Family::Collective, "all_reduce"},
    {"multimem_all_gather_kernel*", Family::Collective, "all_gather"},
    {"one_shot_all_reduce_kernel*", Family::Collective, "all_reduce"},
    {"two_shot_all_reduce_kernel*", Family::Collective, "all_reduce"},
    {"*allreduce_fusion_kernel*", Family::Collective, "all_reduce"},
    {"*AllReduceKernel*", Family::Collective, "all_reduce"},
    {"*allReduceKernel*", Family::Collective, "all_reduce"},
    {"cross_device_reduce_*", Family::Collective, "all_reduce"},
    {"allreduce_prototype_*", Family::Collective, "all_reduce"},
    {"cpu_all_reduce", Family::Collective, "all_reduce"},
    {"cpu_all_gather", Family::Collective, "all_gather"},
    {"cpu_reduce_scatter", Family::Collective, "reduce_scatter"},
    {"cpu_broadcast", Family::Collective, "broadcast"},
    {"cpu_all_to_all", Family::Collective, "all_to_all"},
    {"cpu_send", Family::Collective, "send"},
    {"cpu_recv", Family::Collective, "recv"},
    {"quickreduce_*", Family::Collective, "all_reduce"},
    {"nvshmem*", Family::Collective, "one-sided copy"},
    {"barrier_kernel", Family::Collective, "barrier"},
    {"signal_pad_*", Family::Collective, "barrier"},
};

constexpr KnownKernel kDeepEp[] = {
    {"get_dispatch_layout", Family::Moe, "dispatch layout"},
    {"*notify*", Family::Collective, "all_to_all notify"},
    {"dispatch*", Family::Collective, "all_to_all dispatch"},
    {"combine*", Family::Collective, "all_to_all combine"},
};

bool decode_nccl(const NameText& name, KernelName& out) {
  const bool is_nccl = name.leaf.starts_with("nccl"), is_rccl = name.leaf.starts_with("rccl");
  if (!is_nccl && !is_rccl) return false;
  const Pieces words = split(name.leaf, '_');
  out.family.say(Family::Collective, words[0]);
  out.library.say(is_nccl ? "NCCL or RCCL" : "RCCL", words[0]);
  for (std::size_t i = 1; i < words.size(); ++i) {
    for (const CollectiveWord& c : kCollectives)
      if (words[i] == c.word) out.functor.say(std::string(c.functor), words[i]);
    if (words[i] == "Generic") out.functor.guess("any collective: see the arguments of the event", words[i]);
    if (words[i] == "int8") out.a.guess("i8", words[i]);  // of bytes, whatever they are
    if (const std::string_view dtype = dtype_of_word(words[i]); !dtype.empty())
      out.a.say(std::string(dtype), words[i]);
    if (words[i] == "RING" || words[i] == "TREE") out.add("algorithm").guess(std::string(words[i]), words[i]);
    if (words[i] == "LL" || words[i] == "LL128" || words[i] == "SIMPLE")
      out.add("protocol").guess(std::string(words[i]), words[i]);
  }
  return true;
}

}  // namespace

bool decode_collective(const NameText& name, KernelName& out) {
  if (decode_nccl(name, out)) return true;
  for (const std::string_view scope : {"internode", "intranode", "deep_ep", "::ep::"}) {
    if (!found(name.scope, scope).empty() && say_known(kDeepEp, name, "DeepEP", out)) {
      say_value_dtype(name.arguments, out);
      return true;
    }
  }
  if (!say_known(kOtherCollectives, name, "", out)) return false;
  out.library = {};
  say_value_dtype(name.arguments, out);
  return true;
}

}  // namespace pel::doctor::names
