#include "inspect/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "pellucid/ops.h"
#include "pellucid/ops/random.h"

#include "base/json_writer.h"
#include "base/wrapped.h"

namespace pel::inspect {
namespace {

// Only measuring needs numbers; without it no page of the operands is touched.
Tensor operand(const MatmulCall& call, std::int64_t rows, std::int64_t columns, bool is_transposed,
               Measure measure) {
  std::vector<Dim> sizes;
  if (call.batch > 0) sizes.emplace_back(call.batch);
  sizes.emplace_back(is_transposed ? columns : rows);
  sizes.emplace_back(is_transposed ? rows : columns);
  const Tensor t = measure == Measure::Yes ? to_copy(randn(sizes), call.dtype) : empty(sizes, call.dtype);
  return is_transposed ? t.transpose(-2, -1) : t;
}

std::string share_of_roof(double roof_ns, std::optional<double> measured_ns) {
  return measured_ns ? fmt::format("{:.0f} %", 100 * roof_ns / *measured_ns) : "";
}

}  // namespace

MatmulExplanation explain(const MatmulCall& call, Measure measure) {
  MatmulExplanation e;
  e.call = call;
  const Tensor a = operand(call, call.m, call.k, call.is_a_transposed, measure);
  const Tensor b = operand(call, call.k, call.n, call.is_b_transposed, measure);
  std::optional<Tensor> bias;
  if (call.has_bias) bias = zeros({call.n}, call.dtype);
  e.choice = explain_matmul(a, b, bias, measure);
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(1, call.batch));
  const auto m = static_cast<std::uint64_t>(call.m), n = static_cast<std::uint64_t>(call.n),
             k = static_cast<std::uint64_t>(call.k);
  e.flops = 2 * count * m * n * k;
  e.bytes = (count * (m * k + k * n + m * n) + (call.has_bias ? n : 0)) *
            static_cast<std::uint64_t>(size_bytes(call.dtype));
  e.machine = Machine::known();
  return e;
}

std::string MatmulExplanation::text(const Terminal& terminal) const {
  constexpr int kTook = 11, kOfRoof = 9;
  const double roof_ns = machine ? machine->roof_ns(bytes, flops, call.dtype) : 0;
  int width = 10;
  bool is_measured = false;
  for (const KernelCandidate& c : choice.candidates) {
    width = std::clamp(columns_of(c.name), width, terminal.columns - 2 * kTook - kOfRoof - 2);
    is_measured = is_measured || c.measured_ns;
  }
  std::string text =
      fmt::format("{}  {}\n\n", terminal.bold(choice.call),
                  terminal.dim(fmt::format("{} FLOPs, {} to move", readable_count(static_cast<double>(flops)),
                                           readable_bytes(static_cast<double>(bytes)))));
  std::string head = "  " + pad_right("kernel", width) + pad_left("predicted", kTook);
  if (is_measured) head += pad_left("measured", kTook);
  if (is_measured && machine) head += pad_left("of roof", kOfRoof);
  text += terminal.bold(head) + "\n";
  for (std::size_t i = 0; i < choice.candidates.size(); ++i) {
    const KernelCandidate& c = choice.candidates[i];
    const bool is_winner = choice.winner == i;
    const std::string name = pad_right(c.name, width);
    std::string line =
        is_winner ? terminal.green("* " + name) : "  " + (c.refusal.empty() ? name : terminal.dim(name));
    line += pad_left(c.predicted_ns > 0 ? readable_ns(c.predicted_ns) : "—", kTook);
    if (is_measured) line += pad_left(c.measured_ns ? readable_ns(*c.measured_ns) : "—", kTook);
    if (is_measured && machine) line += pad_left(share_of_roof(roof_ns, c.measured_ns), kOfRoof);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (!c.refusal.empty())
      for (const std::string& part : wrapped("refused: " + c.refusal, terminal.columns - 6))
        text += "    " + terminal.yellow(part) + "\n";
  }
  text += "\nchosen: " + choice.reason + "\n";
  if (!machine) return text + terminal.dim("the roof is unknown: run pellucid machine to measure it") + "\n";
  const MemoryLevel& level = machine->level_of(bytes);
  const double moving_ns = static_cast<double>(bytes) / level.gb_per_s;
  text += fmt::format("roof:   {}, bound by {}\n", readable_ns(roof_ns),
                      moving_ns < roof_ns
                          ? fmt::format("compute at {:.0f} GFLOP/s", machine->gflop_per_s(call.dtype))
                          : fmt::format("{} at {:.1f} GB/s", level.name, level.gb_per_s));
  return text;
}

std::string MatmulExplanation::json() const {
  JsonWriter json("pellucid.explain/1");
  json.field("m", call.m).field("n", call.n).field("k", call.k).field("batch", call.batch);
  json.field("dtype", name(call.dtype)).field("transposed_a", call.is_a_transposed);
  json.field("transposed_b", call.is_b_transposed).field("bias", call.has_bias);
  json.field("flops", flops).field("bytes", bytes);
  json.key("roof_ns");
  if (machine) {
    json.value(machine->roof_ns(bytes, flops, call.dtype));
  } else {
    json.null();
  }
  return json.key("choice").raw(choice.json()).finish();
}

}  // namespace pel::inspect
