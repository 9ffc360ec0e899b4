// CUB, rocPRIM and Thrust: algorithms of which the iterators and functors are template arguments.
#include "doctor/names/decoders.h"

namespace pel::doctor::names {
namespace {

using Family = KernelFamily;

constexpr KnownKernel kCub[] = {
    {"*RadixSort*", Family::Sort, "radix sort"},
    {"*MergeSort*", Family::Sort, "merge sort"},
    {"*SegmentedSort*", Family::Sort, "sort"},
    {"DeviceReduceByKey*", Family::Reduction, "sum by key"},
    {"DeviceRunLengthEncode*", Family::Index, "run lengths"},
    {"*Select*", Family::Index, "select"},
    {"*Partition*", Family::Index, "partition"},
    {"*UniqueByKey*", Family::Index, "unique"},
    {"*CompactInit*", Family::Index, "select"},
    {"*Histogram*", Family::Index, "histogram"},
    {"DeviceScan*", Family::Scan, "scan"},
    {"*ScanByKey*", Family::Scan, "scan"},
    {"DeviceReduce*", Family::Reduction, "reduce"},
    {"DeviceSegmentedReduce*", Family::Reduction, "reduce"},
    {"DeviceBatchMemcpy*", Family::Copy, "copy"},
    {"init_lookback_scan_state_kernel", Family::Scan, "scan"},
    {"init_offset_scan_state_kernel", Family::Scan, "scan"},
};

struct Inner {
  std::string_view piece;
  Family family;
  std::string_view functor;
};
// What rocPRIM's trampoline and Thrust's agents run; the first that stands in the name.
constexpr Inner kInner[] = {{"radix_sort", Family::Sort, "radix sort"},
                            {"merge_sort", Family::Sort, "merge sort"},
                            {"onesweep", Family::Sort, "radix sort"},
                            {"block_sort", Family::Sort, "sort"},
                            {"partition_impl", Family::Index, "select"},
                            {"reduce_by_key", Family::Reduction, "sum by key"},
                            {"scan_by_key", Family::Scan, "scan"},
                            {"scan_impl", Family::Scan, "scan"},
                            {"reduce_impl", Family::Reduction, "reduce"},
                            {"histogram", Family::Index, "histogram"},
                            {"__scan", Family::Scan, "scan"},
                            {"__reduce_by_key", Family::Reduction, "sum by key"},
                            {"__reduce", Family::Reduction, "reduce"},
                            {"__unique", Family::Index, "unique"},
                            {"__copy_if", Family::Index, "select"},
                            {"__merge_sort", Family::Sort, "merge sort"},
                            {"uninitialized_fill", Family::Fill, "fill"},
                            {"fill_functor", Family::Fill, "fill"},
                            {"transform_impl", Family::Elementwise, "transform"},
                            {"__transform", Family::Elementwise, "transform"},
                            {"ParallelForAgent", Family::Elementwise, "for each"}};

}  // namespace

bool decode_cub(const NameText& name, KernelName& out) {
  const auto in_scope = [&](std::string_view piece) { return !found(name.scope, piece).empty(); };
  const std::string_view library = in_scope("rocprim") || in_scope("hipcub") ? "rocPRIM"
                                   : in_scope("thrust")                      ? "Thrust"
                                   : in_scope("cub::")                       ? "CUB"
                                                                             : "";
  if (library.empty()) return false;
  if (!say_known(kCub, name, library, out)) {
    for (const Inner& inner : kInner) {
      const std::string_view piece = found(name.text, inner.piece);
      if (piece.empty()) continue;
      out.family.say(inner.family, piece);
      out.functor.say(std::string(inner.functor), piece);
      break;
    }
    if (!out.family) out.family.guess(Family::Other, name.leaf);
    out.library.say(std::string(library), name.scope);
  }
  // Counting what is not zero is how PyTorch learns a size, for which the CPU then waits.
  if (const std::string_view piece = found(name.text, "NonZeroOp"); !piece.empty()) {
    out.family.say(Family::Index, piece);
    out.functor.say("nonzero", piece);
    out.add("the CPU waits").guess("for the number of elements", piece);
  }
  if (const std::string_view piece = found(name.text, "target_arch)"); !piece.empty())
    if (const int arch = leading_number(after(name.text, "target_arch)")); arch > 0)
      out.arch.say("gfx" + std::to_string(arch), piece);
  if (library == "CUB" && *out.functor != "nonzero") {
    if (const Pieces policy = template_arguments(name.arguments.empty() ? "" : name.arguments[0]);
        !policy.empty())
      say_value_dtype(policy, out);
  }
  return true;
}

}  // namespace pel::doctor::names
