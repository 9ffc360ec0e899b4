#include "doctor/analyses/find_chains.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/median.h"
#include "doctor/analyses/sums.h"
#include "doctor/analyses/verdict.h"
#include "doctor/model/op_traffic.h"
#include "doctor/names/op_families.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMaxOps = 15;

bool is_norm(KernelFamily family) { return family == KernelFamily::Norm || family == KernelFamily::Softmax; }
bool can_fuse(KernelFamily family) {
  return is_norm(family) || family == KernelFamily::Reduction || family == KernelFamily::Elementwise ||
         family == KernelFamily::Copy || family == KernelFamily::Random;
}

struct Link {
  NameId name;
  std::int64_t ns;
  KernelFamily family;
  std::uint32_t step;
  std::optional<Traffic> traffic;
  std::uint32_t index;  // of activities(), or the op
};

struct OpenChain {
  std::vector<Link> links;
  bool is_over_matmul = false;  // since the last link, a matmul ran that does not read its result
};

class Chains {
 public:
  // `gap_ns` is what one kernel less saves in addition to its bytes.
  Chains(const Examined& examined, std::int64_t gap_ns)
      : examined_(examined), model_(examined.model), gap_ns_(gap_ns) {}

  void find_on_device() {
    std::map<std::pair<std::int32_t, std::int32_t>, OpenChain> open;
    for (std::uint32_t w = 0; w < model_.activities().size(); ++w) {
      const Activity& activity = model_.activities()[w];
      OpenChain& chain = open[{activity.device, activity.stream}];
      const EventId op = model_.op_of_activity(activity);
      const KernelFamily family = examined_.kernels.family(activity.event);
      if (model_.events().category(activity.event) != Category::Kernel || op == kNoEvent ||
          !is_single(activity) || !can_fuse(family)) {
        pass(chain, op);
      } else {
        add(chain, {model_.events().name_id(op), activity.end_ns - activity.begin_ns, family, activity.step,
                    traffic_of(model_, op, family), w});
      }
    }
    for (auto& [stream, chain] : open) take(chain);
  }

  // Returns how long ops ran.
  std::int64_t find_on_host() {
    const EventTable& events = model_.events();
    std::vector<SaturatingSum> inner(events.size());  // of an op, the time of ops on tensors inside it
    std::vector<bool> is_of_numbers(events.size());   // makes a tensor, or takes none that has axes
    SaturatingSum all_ns;
    for_each_op([&](EventId op, EventId around) {
      const auto inputs = inputs_of(model_, op);
      is_of_numbers[op] = inputs && std::ranges::all_of(inputs->sizes, &Sizes::empty);
      if (around == kNoEvent) all_ns += events.duration_ns(op);
      if (around != kNoEvent && !is_of_numbers[op]) inner[around] += events.duration_ns(op);
    });
    OpenChain chain;
    RowId row = model_.host_rows().empty() ? 0 : model_.host_rows().front();
    std::int64_t covered_ns = std::numeric_limits<std::int64_t>::min();  // until here an op computes itself
    for_each_op([&](EventId op, EventId) {
      if (events.row(op) != row) {
        take(chain);
        row = events.row(op);
        covered_ns = std::numeric_limits<std::int64_t>::min();
      }
      const std::string_view name = events.name(op);
      if (name == "aten::_local_scalar_dense") take(chain);  // what follows may depend on it
      const KernelFamily family =
          name.starts_with("aten::")
              ? names::known_family_of_op(name.substr(6)).value_or(KernelFamily::Unknown)
              : KernelFamily::Unknown;
      if (events.begin_ns(op) < covered_ns || is_of_numbers[op] ||
          (family == KernelFamily::Copy && !copies(name)) || makes_view(name))
        return;
      if (inner[op] >= events.duration_ns(op) - inner[op]) return;  // those inside compute
      covered_ns = events.end_ns(op);
      if (can_fuse(family)) {
        add(chain, {events.name_id(op), events.duration_ns(op), family, model_.step_at(events.begin_ns(op)),
                    traffic_of(model_, op, family), op});
      } else {
        pass(chain, op);
      }
    });
    take(chain);
    return all_ns;
  }

  std::map<ChainKind, ChainSum> take_kinds() {
    for (auto& [kind, sum] : kinds_) find_memory_time(sum);
    return std::move(kinds_);
  }

 private:
  template <class Visit>
  void for_each_op(Visit visit) const {
    for (const RowId row : model_.host_rows()) {
      for (const EventId e : model_.of_row(row)) {
        if (model_.events().category(e) != Category::CpuOp) continue;
        const EventId parent = model_.parent(e);
        visit(e, parent == kNoEvent ? kNoEvent : model_.op_of(parent));
      }
    }
  }
  // Other ops of that family make views, or call one of these.
  static bool copies(std::string_view op) {
    return op == "aten::copy_" || op == "aten::cat" || op == "aten::flip" || op == "aten::roll" ||
           op == "aten::constant_pad_nd";
  }
  // Views that no compiled kernel is named after.
  static bool makes_view(std::string_view op) {
    static constexpr std::string_view kViews[] = {
        "aten::numpy_T",   "aten::mT",      "aten::chunk",        "aten::expand_as",   "aten::flatten",
        "aten::movedim",   "aten::narrow",  "aten::resolve_conj", "aten::resolve_neg", "aten::swapaxes",
        "aten::unflatten", "aten::view_as", "aten::resize_",      "aten::lift_fresh",
    };
    return std::ranges::find(kViews, op) != std::end(kViews);
  }
  // Of code that is not compiled yet, and not part of a graph.
  bool is_single(const Activity& activity) const {
    return examined_.kernels.of(activity.event).fused->empty() &&
           (activity.launch == kNoEvent || model_.launched_by(activity.launch).size() == 1);
  }
  // What cannot be fused ends a chain. A matmul does not, if it reads something else: gelu(x a) * (x b).
  void pass(OpenChain& chain, EventId op) {
    if (!chain.links.empty() && chain.links.back().traffic) {
      const auto matmul = matmul_of(model_, op);
      if (matmul && !may_read(*matmul, chain.links.back().traffic->result)) {
        chain.is_over_matmul = true;
        return;
      }
    }
    take(chain);
  }
  static bool follows(const OpenChain& chain, const Link& next) {
    const Link& last = chain.links.back();
    if (last.step != next.step) return false;
    if (!last.traffic || !next.traffic) return last.traffic.has_value() == next.traffic.has_value();
    // Over a matmul: what the matmul left is one more input of those sizes.
    return times_taken(*last.traffic, *next.traffic) >= (chain.is_over_matmul ? 2 : 1);
  }
  void add(OpenChain& chain, Link link) {
    if (!chain.links.empty() && !follows(chain, link)) take(chain);
    chain.links.push_back(std::move(link));
    chain.is_over_matmul = false;
  }
  // What repeats is taken for calls of one function, which need not take each other's results: gelu, mul,
  // gelu, mul.
  void take(OpenChain& chain) {
    const std::span<const Link> links = chain.links;
    std::size_t begin = 0, at = 0;
    while (at < links.size()) {
      const std::size_t period = period_of(links.subspan(at));
      if (period == 0) {
        ++at;
        continue;
      }
      count(links.subspan(begin, at - begin));
      begin = at;
      do {
        count(links.subspan(at, period));
        at += period;
      } while (at + period <= links.size() &&
               is_same(links.subspan(begin, period), links.subspan(at, period)));
      begin = at;
    }
    count(links.subspan(begin));
    chain = {};
  }
  // Of links that begin with some that come again at once, how many; else 0. One op must come twice again.
  static std::size_t period_of(std::span<const Link> links) {
    for (std::size_t period = 1; period <= kMaxOps && 2 * period <= links.size(); ++period) {
      const auto repeats = [&](std::size_t times) {
        return (times + 1) * period <= links.size() &&
               is_same(links.first(times * period), links.subspan(period, times * period));
      };
      if (repeats(period == 1 ? 2 : 1)) return period;
    }
    return 0;
  }
  static bool is_same(std::span<const Link> a, std::span<const Link> b) {
    return std::ranges::equal(a, b, [](const Link& x, const Link& y) {
      return x.name == y.name && x.traffic.has_value() == y.traffic.has_value() &&
             (!x.traffic || x.traffic->result == y.traffic->result);
    });
  }
  std::int64_t duration_ns(std::uint32_t link) const {
    if (model_.activities().empty()) return model_.events().duration_ns(link);
    return model_.activities()[link].end_ns - model_.activities()[link].begin_ns;
  }
  // Memory takes one link no longer than another that moves as much or more; what is left is arithmetic,
  // which stays. By medians of all chains of the kind: of one chain, the shortest is the one that was not
  // interrupted.
  void find_memory_time(ChainSum& sum) const {
    const auto length = static_cast<std::size_t>(sum.kernels);
    if (sum.moved.size() != length) return;  // not all have shapes
    std::vector<std::int64_t> usual(length);
    double all = 0, memory = 0;
    for (std::size_t i = 0; i < length; ++i) {
      std::vector<std::int64_t> durations;
      for (std::size_t at = i; at < sum.links.size(); at += length)
        durations.push_back(duration_ns(sum.links[at]));
      usual[i] = median_of(std::move(durations));
      all += static_cast<double>(usual[i]);
    }
    for (std::size_t i = 0; i < length; ++i) {
      std::int64_t least = usual[i];
      for (std::size_t other = 0; other < length; ++other) {
        if (sum.moved[other].read_bytes >= sum.moved[i].read_bytes &&
            sum.moved[other].written_bytes >= sum.moved[i].written_bytes)
          least = std::min(least, usual[other]);
      }
      memory += static_cast<double>(least);
    }
    if (all > 0) sum.memory_ns = static_cast<double>(sum.ns) * memory / all;
  }
  void count(std::span<const Link> links) {
    for (; links.size() > kMaxOps; links = links.subspan(kMaxOps)) count(links.first(kMaxOps));
    if (links.size() < 2) return;
    ChainKind kind;
    for (const Link& link : links) {
      kind.ops.push_back(link.name);
      kind.results.push_back(link.traffic ? link.traffic->result : Sizes());
    }
    ChainSum& sum = kinds_[std::move(kind)];
    ++sum.count;
    sum.kernels = static_cast<std::int64_t>(links.size());
    double moved_bytes = 0, saved_bytes = 0;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const bool is_last = i + 1 == links.size();
      sum.ns += links[i].ns;
      sum.links.push_back(links[i].index);
      sum.is_norm |= is_norm(links[i].family) || (links[i].family == KernelFamily::Reduction && !is_last);
      if (i != 0) sum.gaps_ns += gap_ns_;
      if (!links[i].traffic) {
        sum.has_shapes = false;
        continue;
      }
      if (sum.count == 1)
        sum.moved.push_back({links[i].traffic->read_bytes, links[i].traffic->written_bytes});
      moved_bytes += links[i].traffic->read_bytes + links[i].traffic->written_bytes;
      if (!is_last) saved_bytes += 2 * links[i].traffic->written_bytes;  // and read again
    }
    sum.moved_bytes += moved_bytes;
    sum.saved_bytes += std::min(saved_bytes, moved_bytes);
  }

  const Examined& examined_;
  const Model& model_;
  std::int64_t gap_ns_;
  std::map<ChainKind, ChainSum> kinds_;
};

}  // namespace

FoundChains find_chains(const Examined& examined) {
  const Losses losses(examined.time.all());
  FoundChains found;
  found.is_on_host = examined.model.activities().empty();
  found.is_starved = percent_of(losses.overhead_ns, losses.total_ns) >= kLossThatCounts;
  Chains chains(examined, found.is_on_host || found.is_starved ? 0 : examined.time.usual_gap_ns());
  found.whole_ns = examined.time.all().busy_ns;
  if (found.is_on_host) {
    found.whole_ns = chains.find_on_host();
  } else {
    chains.find_on_device();
  }
  found.kinds = chains.take_kinds();
  return found;
}

std::string chain_text(const Model& model, const ChainKind& kind) {
  std::string text;
  for (std::size_t i = 0; i < kind.ops.size();) {
    std::size_t same = 1;
    while (i + same < kind.ops.size() && kind.ops[i + same] == kind.ops[i]) ++same;
    const std::string_view op = without_namespace(model.events().names[kind.ops[i]]);
    text += text.empty() ? "" : ", ";
    text += same == 1 ? std::string(op) : fmt::format("{} {}", same, op);
    i += same;
  }
  return text;
}

}  // namespace pel::doctor
