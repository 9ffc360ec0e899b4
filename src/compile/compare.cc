#include "pellucid/compare.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "pellucid/ops/copies.h"
#include "pellucid/profile.h"

#include "base/check.h"
#include "base/json_writer.h"
#include "base/readable.h"
#include "tensor/read_back.h"

namespace pel {
namespace {

using Clock = std::chrono::steady_clock;

struct MeasuredWay {
  Comparison::Way way;
  TensorListFunction run;
  std::vector<double> turns{};
};

double ns_of(const MeasuredWay& measured, ArrayView<Tensor> inputs, std::vector<Tensor>& results) {
  const Clock::time_point begin = Clock::now();
  results = measured.run(inputs);
  if (!results.empty()) synchronize(results[0].device());  // on the CPU the kernels have run
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

bool have_the_same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    if (x.dtype() != y.dtype() || !std::ranges::equal(x.sizes(), y.sizes())) return false;
    const Tensor dense = read_back(x.contiguous(), "to compare results"),
                 other = read_back(y.contiguous(), "to compare results");
    const auto bytes = static_cast<std::size_t>(x.numel().value() * size_bytes(x.dtype()));
    return bytes == 0 || std::memcmp(dense.raw_data(), other.raw_data(), bytes) == 0;
  });
}

// Turns of at least a millisecond each, for some tenths of a second.
void time_in_turns(std::vector<MeasuredWay>& all, ArrayView<Tensor> inputs) {
  constexpr double kTurnNs = 1e6, kAllNs = 3e8;
  constexpr int kMinTurns = 5, kMaxTurns = 31;
  std::vector<Tensor> results;
  std::vector<int> calls;
  for (const MeasuredWay& measured : all) {
    const double ns = std::max(1.0, ns_of(measured, inputs, results));
    calls.push_back(static_cast<int>(std::clamp(kTurnNs / ns, 1.0, 1e4)));
  }
  const Clock::time_point begin = Clock::now();
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    if (turn >= kMinTurns && std::chrono::duration<double, std::nano>(Clock::now() - begin).count() > kAllNs)
      break;
    for (std::size_t w = 0; w < all.size(); ++w) {
      double ns = 0;
      for (int i = 0; i < calls[w]; ++i) ns += ns_of(all[w], inputs, results);
      all[w].turns.push_back(ns / calls[w]);
    }
  }
  for (MeasuredWay& measured : all) {
    const auto middle = measured.turns.begin() + static_cast<std::ptrdiff_t>(measured.turns.size() / 2);
    std::nth_element(measured.turns.begin(), middle, measured.turns.end());
    measured.way.call_ns = *middle;
  }
}

}  // namespace

Comparison compare_calls(const TensorListFunction& f, ArrayView<std::vector<Tensor>> calls,
                         const TensorListFunction& tuned) {
  PEL_CHECK(!calls.empty(), ValueError, "compare_calls needs the arguments of at least one call");
  const detail::CompiledTensors compiled(f, {});
  std::vector<MeasuredWay> all{{{.name = "eager"}, f}};
  all.push_back({{.name = "compiled"}, [&](ArrayView<Tensor> inputs) { return compiled(inputs); }});
  if (tuned) all.push_back({{.name = "tuned"}, tuned});

  for (std::size_t c = 0; c < calls.size(); ++c) {
    std::vector<Tensor> eager;
    for (MeasuredWay& measured : all) {
      std::vector<Tensor> results;
      const double ns = ns_of(measured, calls[c], results);
      if (c == 0) measured.way.first_call_ns = ns;
      if (&measured == all.data()) eager = results;
      measured.way.has_bits_of_eager = measured.way.has_bits_of_eager && have_the_same_bits(results, eager);
    }
  }
  const std::vector<Tensor>& last = calls[calls.size() - 1];
  for (MeasuredWay& measured : all) {  // after the first calls, in which kernels of constants run
    const Recording recording;
    const std::vector<Tensor> results = measured.run(last);
    for (const Event& event : recording.events()) {
      ++measured.way.kernels;
      measured.way.bytes_read += event.bytes_read;
      measured.way.bytes_written += event.bytes_written;
    }
  }
  time_in_turns(all, last);
  all[1].way.compiles = compiled.compiles();
  Comparison made;
  made.calls = calls.size();
  for (MeasuredWay& measured : all) made.ways.push_back(std::move(measured.way));
  return made;
}

std::string Comparison::text() const {
  std::string text = fmt::format("{:<10}{:>9}{:>11}{:>11}{:>11}{:>11}{:>13}{:>10}  bits\n", "", "kernels",
                                 "read", "written", "a call", "to eager", "first call", "compiles");
  for (const Way& way : ways)
    text +=
        fmt::format("{:<10}{:>9}{:>11}{:>11}{:>11}{:>11.2f}{:>13}{:>10}  {}\n", way.name, way.kernels,
                    readable_bytes(way.bytes_read), readable_bytes(way.bytes_written),
                    readable_ns(way.call_ns), way.call_ns / ways[0].call_ns, readable_ns(way.first_call_ns),
                    way.compiles, way.has_bits_of_eager ? "equal" : "differ");
  return text + fmt::format("{} {} with arguments of their own; times are of the last one\n", calls,
                            calls == 1 ? "call" : "calls");
}

std::string Comparison::json() const {
  JsonWriter json("pellucid.compare/1");
  json.field("calls", calls).key("ways").begin_array();
  for (const Way& way : ways) {
    json.begin_object().field("name", way.name).field("kernels", way.kernels);
    json.field("bytes_read", way.bytes_read).field("bytes_written", way.bytes_written);
    json.field("call_ns", way.call_ns).field("first_call_ns", way.first_call_ns);
    json.field("compiles", way.compiles).field("has_bits_of_eager", way.has_bits_of_eager).end_object();
  }
  return json.end_array().finish();
}

}  // namespace pel
