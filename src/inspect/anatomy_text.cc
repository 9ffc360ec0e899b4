#include <cmath>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "inspect/anatomy.h"

namespace pel::inspect {
namespace {

const char* name(Anatomy::By by) {
  switch (by) {
    case Anatomy::By::Timed:
      return "timed";
    case Anatomy::By::Profiled:
      return "profiled";
    case Anatomy::By::Difference:
      return "difference";
  }
  return "";
}

constexpr int kLayer = 11, kJob = 48, kBy = 10, kNs = 8, kShare = 6;

std::string line(const std::string& layer, const std::string& job, const std::string& by,
                 const std::string& ns, const std::string& share, const std::string& grad_ns,
                 const std::string& grad_share) {
  return fmt::format("{}{} {}{}{}{}{}", pad_right(layer, kLayer), pad_right(job, kJob), pad_right(by, kBy),
                     pad_left(ns, kNs), pad_left(share, kShare), pad_left(grad_ns, kNs + 1),
                     pad_left(grad_share, kShare));
}
std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : std::string();
}
std::string rule(const Terminal& terminal) {
  std::string dashes;
  for (int i = 0; i < kLayer + kJob + kBy + 2 * (kNs + kShare) + 2; ++i) dashes += "─";
  return terminal.dim(dashes) + '\n';
}

std::string peer_lines(const Anatomy& anatomy, const Terminal& terminal) {
  if (!anatomy.wants_peer) return {};
  if (!anatomy.peer) {
    return terminal.dim(
               "libtorch: its program was not found. Run ./dev setup --peers to install torch; then build "
               "peer_anatomy\nnext to this program, or set PELLUCID_PEER to its path.") +
           '\n';
  }
  const Anatomy::Peer& peer = *anatomy.peer;
  std::string text = line("libtorch", peer.version + ", the same call", "timed", readable_ns(peer.ns), "",
                          readable_ns(peer.grad_ns), "") +
                     '\n';
  text += terminal.dim(line("", fmt::format("in its InferenceMode {}", readable_ns(peer.inference_ns)), "",
                            fmt::format("{:.1f}×", peer.ns / anatomy.total_ns), "",
                            fmt::format("{:.1f}×", peer.grad_ns / anatomy.total_grad_ns), "")) +
          '\n';
  return text;
}

}  // namespace

std::string Anatomy::text(const Terminal& terminal) const {
  std::string out = fmt::format("{}  {}   {}\n\n", terminal.bold(op), arguments,
                                terminal.dim(fmt::format("{} thread{}", threads, threads == 1 ? "" : "s")));
  out += terminal.dim(line("layer", "what it does", "by", "no grad", "share", "grad", "share")) + '\n' +
         rule(terminal);
  std::string inside;
  for (const Row& row : rows) {
    if (row.op != inside) out += terminal.bold(row.op) + '\n';
    inside = row.op;
    const bool is_kernel = row.layer == "kernel";
    const std::string none = row.layer == "autograd" && row.ns == 0 ? "–" : readable_ns(row.ns);
    const std::string shown =
        line("  " + row.layer, row.job, name(row.by), none, none == "–" ? "" : percent(row.ns, total_ns),
             readable_ns(row.grad_ns), percent(row.grad_ns, total_grad_ns));
    out += (is_kernel                 ? terminal.green(shown)
            : row.layer == "autograd" ? terminal.yellow(shown)
                                      : shown) +
           '\n';
  }
  out += rule(terminal);
  out += terminal.bold(line("pellucid", "the whole call", "timed", readable_ns(total_ns), "100 %",
                            readable_ns(total_grad_ns), "100 %")) +
         '\n';
  out += peer_lines(*this, terminal) + '\n';
  if (kernels.empty()) {
    out += "No kernel is launched: the call creates a view.\n";
  } else {
    const double kernel = kernel_ns();
    out += fmt::format("{} kernel{}, {} of the call without grad; the time before the kernel is {}.\n",
                       kernels.size(), kernels.size() == 1 ? "" : "s", percent(kernel, total_ns),
                       readable_ns(total_ns - kernel));
  }
  out += terminal.dim(
      "\ntimed       alone in a loop, without profiler, interleaved with the others; the median\n"
      "profiled    timestamps of a Profile around the kernel, minus their own cost; the median\n"
      "difference  a time measured in a loop, minus the other rows of the op\n"
      "grad        parameters require gradients: the graph is built, and freed with the result\n");
  if (is_scaled)
    out += terminal.dim(
        "Parts took a little longer alone than inside the whole: they were scaled so that the rows add "
        "up.\n");
  return out;
}

std::string Anatomy::json() const {
  JsonWriter json("pellucid.anatomy/1");
  json.field("op", op).field("arguments", arguments).field("threads", threads);
  json.field("ns", total_ns).field("grad_ns", total_grad_ns).field("is_scaled", is_scaled);
  json.key("rows").begin_array();
  for (const Row& row : rows) {
    json.begin_object().field("op", row.op).field("layer", row.layer).field("job", row.job);
    json.field("by", name(row.by)).field("ns", row.ns).field("grad_ns", row.grad_ns).end_object();
  }
  json.end_array().key("kernels").begin_array();
  for (const Kernel& kernel : kernels) {
    json.begin_object().field("name", kernel.name).field("ns", kernel.ns);
    json.field("bytes", kernel.bytes).field("flops", kernel.flops).end_object();
  }
  json.end_array().key("peer");
  if (peer) {
    json.begin_object()
        .field("name", "libtorch")
        .field("version", peer->version)
        .field("inference_ns", peer->inference_ns);
    json.field("ns", peer->ns).field("grad_ns", peer->grad_ns).end_object();
  } else {
    json.null();
  }
  return json.finish();
}

}  // namespace pel::inspect
