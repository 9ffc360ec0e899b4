// A CompileExplanation for people, and for programs.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pellucid/compile_explanation.h"

#include "base/json_writer.h"
#include "base/readable.h"

namespace pel {
namespace {

using Explained = CompileExplanation;
constexpr std::size_t kColumns = 100;

// Broken at spaces, later lines two columns further in.
std::string in_columns(std::size_t indent, std::string_view text) {
  std::string lines(indent, ' ');
  for (std::size_t used = indent, begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t length = end - begin;
    const bool is_first = used <= indent + 2 && (lines.empty() || lines.back() == ' ');
    if (!is_first && used + 1 + length > kColumns) {
      lines += '\n' + std::string(indent + 2, ' ');
      used = indent + 2;
    } else if (begin != 0) {
      lines += ' ';
      ++used;
    }
    lines += text.substr(begin, length);
    used += length;
    begin = end + 1;
  }
  return lines + '\n';
}

std::string at_location(const std::string& location) {
  return location.empty() ? "" : fmt::format(" ({})", location);
}

std::string threads_text(const Explained::Threads& threads) {
  return fmt::format("runs on {}: {}",
                     threads.count == 1 ? "one thread" : fmt::format("{} threads", threads.count),
                     threads.reason);
}

std::string times_text(const Explained::Kernel& kernel) {
  const std::string predicted =
      kernel.predicted_ns == 0 ? "" : fmt::format("; predicted: {}", readable_ns(kernel.predicted_ns));
  return fmt::format("measured: {}{}", readable_ns(static_cast<double>(kernel.measured_ns)), predicted);
}

std::string kernels_text(const Explained::Graph& graph) {
  constexpr std::size_t kNumbers = 11;
  const auto row = [&](const std::string& name, const std::string& read, const std::string& written) {
    constexpr std::size_t kName = kColumns - 2 * kNumbers - 2;
    const std::string numbers = fmt::format("{:>{}}{:>{}}", read, kNumbers, written, kNumbers);
    if (name.size() > kName) return fmt::format("  {}\n{:>{}}\n", name, numbers, kColumns);
    return fmt::format("  {:<{}}{}\n", name, kName, numbers);
  };
  std::string text = row("kernels", "read", "written");
  std::uint64_t read = 0, written = 0;
  std::int64_t saved = 0;
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
    const Explained::Kernel& kernel = graph.kernels[i];
    text += row(fmt::format("{}. {}", i + 1, kernel.name), readable_bytes(kernel.bytes_read),
                readable_bytes(kernel.bytes_written));
    for (const Explained::Call& call : kernel.calls)
      text += in_columns(6, call.text + at_location(call.location));
    for (const Explained::Value& value : kernel.saved) {
      text += in_columns(6, fmt::format("not written: {}, {}: {} bytes, {}", value.name, value.type,
                                        value.formula, readable_bytes(value.bytes)));
      saved += value.bytes;
    }
    if (!kernel.reason.empty()) text += in_columns(6, "chosen: " + kernel.reason);
    if (graph.thread_count > 1) text += in_columns(6, threads_text(kernel.threads));
    if (graph.measured_calls != 0) text += in_columns(6, times_text(kernel));
    read += kernel.bytes_read;
    written += kernel.bytes_written;
  }
  text += row("all", readable_bytes(read), readable_bytes(written));
  if (saved != 0) text += fmt::format("  not written, by fusion: {}\n", readable_bytes(saved));
  if (!graph.not_measured.empty()) text += in_columns(2, graph.not_measured);
  if (graph.thread_count == 0) text += "  threads: known after a call at these sizes\n";
  if (graph.thread_count == 1) text += "  threads: one, since thread_count() is 1\n";
  return text;
}

// Packed weights one by one. Others by their reason, because layers of a model have the same ones.
std::string weights_text(const std::vector<Explained::PackedWeight>& weights) {
  std::int64_t bytes = 0;
  std::string list;
  std::vector<std::string> reasons;
  for (const Explained::PackedWeight& w : weights) {
    bytes += w.bytes;
    if (w.bytes != 0)
      list += in_columns(
          4, fmt::format("{}, {}: {} since call {}", w.name, w.type, readable_bytes(w.bytes), w.since_call));
    else if (std::ranges::find(reasons, w.reason) == reasons.end())
      reasons.push_back(w.reason);
  }
  for (const std::string& reason : reasons) {
    std::vector<std::string> names;
    for (const Explained::PackedWeight& w : weights)
      if (w.bytes == 0 && w.reason == reason) names.push_back(fmt::format("{}, {}", w.name, w.type));
    list += in_columns(4, fmt::format("not packed: {}: {}", fmt::join(names, "; "), reason));
  }
  if (list.empty()) return "";
  return fmt::format("\n  packed weights: {}\n{}", bytes == 0 ? "none" : readable_bytes(bytes), list);
}

std::string decisions_text(const char* title, const std::vector<Explained::Decision>& list) {
  if (list.empty()) return "";
  std::string text = fmt::format("\n  {}\n", title);
  for (const Explained::Decision& d : list)
    text += in_columns(4, fmt::format("{}: {}: {}{}", d.pass, d.what, d.reason, at_location(d.location)));
  return text;
}

std::string graph_text(const Explained::Graph& graph) {
  std::vector<std::string> types, at;
  for (const Explained::Input& input : graph.inputs) types.push_back(input.type);
  for (const Explained::Symbol& s : graph.symbols) at.push_back(fmt::format("{} = {}", s.name, s.value));
  std::string text = in_columns(
      0, fmt::format("graph({}){}{}", fmt::join(types, ", "), at.empty() ? "" : " at ", fmt::join(at, ", ")));
  text += "\n  one compile serves\n";
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    text += in_columns(4, fmt::format("input {}: {}", i, graph.inputs[i].forecast));
  for (const Explained::Guard& guard : graph.guards)
    text += in_columns(4, fmt::format("{}: {}", guard.words, guard.source));
  text += "\n" + kernels_text(graph);
  text += fmt::format("\n  memory: {} at the peak, {} of it for results\n",
                      readable_bytes(graph.peak_bytes_of_all), readable_bytes(graph.result_bytes));
  text += weights_text(graph.packed_weights);
  text += decisions_text("not fused", graph.not_fused);
  text += decisions_text("decided", graph.decisions);
  return text;
}

void write_decisions(JsonWriter& json, std::string_view key, const std::vector<Explained::Decision>& list) {
  json.key(key).begin_array();
  for (const Explained::Decision& d : list) {
    json.begin_object().field("pass", d.pass).field("what", d.what).field("reason", d.reason);
    json.field("location", d.location).end_object();
  }
  json.end_array();
}

std::string_view word(Explained::Operand::From from) {
  switch (from) {
    case Explained::Operand::From::Input:
      return "input";
    case Explained::Operand::From::Constant:
      return "constant";
    case Explained::Operand::From::Number:
      return "number";
    default:
      return "kernel";
  }
}

void write_operands(JsonWriter& json, std::string_view key, const std::vector<Explained::Operand>& list) {
  json.key(key).begin_array();
  for (const Explained::Operand& o : list) {
    json.begin_object().field("name", o.name).field("type", o.type).field("bytes", o.bytes);
    json.field("from", word(o.from)).field("number", o.number).field("output", o.output);
    if (!o.parts.empty()) {
      json.key("parts").begin_array();
      for (const Explained::Operand::Part& part : o.parts)
        json.begin_object().field("kernel", part.kernel).field("output", part.output).end_object();
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

void write_kernel(JsonWriter& json, const Explained::Kernel& kernel) {
  json.begin_object().field("name", kernel.name);
  json.field("bytes_read", kernel.bytes_read).field("bytes_written", kernel.bytes_written);
  json.field("reason", kernel.reason);
  json.key("calls").begin_array();
  for (const Explained::Call& call : kernel.calls)
    json.begin_object().field("text", call.text).field("location", call.location).end_object();
  json.end_array().key("saved").begin_array();
  for (const Explained::Value& value : kernel.saved) {
    json.begin_object().field("name", value.name).field("type", value.type);
    json.field("formula", value.formula).field("bytes", value.bytes).end_object();
  }
  json.end_array();
  write_operands(json, "reads", kernel.reads);
  write_operands(json, "writes", kernel.writes);
  json.field("predicted_ns", kernel.predicted_ns).field("measured_ns", kernel.measured_ns);
  json.key("threads").begin_object();
  json.field("count", kernel.threads.count).field("count_if_awake", kernel.threads.count_if_awake);
  json.field("work_ns", kernel.threads.work_ns).field("loops", kernel.threads.loops);
  json.field("pieces", kernel.threads.pieces).field("reason", kernel.threads.reason).end_object();
  json.end_object();
}

void write_graph(JsonWriter& json, const Explained::Graph& graph) {
  json.begin_object();
  json.key("inputs").begin_array();
  for (const Explained::Input& input : graph.inputs) {
    json.begin_object().field("type", input.type).field("forecast", input.forecast);
    json.key("axes").begin_array();
    for (const Explained::Axis& axis : input.axes) {
      json.begin_object().field("size", axis.size).key("guards").begin_array();
      for (const std::size_t guard : axis.guards) json.value(guard);
      json.end_array().end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("symbols").begin_array();
  for (const Explained::Symbol& s : graph.symbols)
    json.begin_object().field("name", s.name).field("words", s.words).field("value", s.value).end_object();
  json.end_array().key("guards").begin_array();
  for (const Explained::Guard& guard : graph.guards) {
    json.begin_object().field("condition", guard.condition).field("words", guard.words);
    json.field("source", guard.source).end_object();
  }
  json.end_array().key("kernels").begin_array();
  for (const Explained::Kernel& kernel : graph.kernels) write_kernel(json, kernel);
  json.end_array();
  json.field("thread_count", graph.thread_count);
  json.field("arena_bytes", graph.arena_bytes).field("result_bytes", graph.result_bytes);
  json.field("peak_bytes", graph.peak_bytes).field("peak_bytes_of_all", graph.peak_bytes_of_all);
  json.key("packed_weights").begin_array();
  for (const Explained::PackedWeight& weight : graph.packed_weights) {
    json.begin_object().field("name", weight.name).field("type", weight.type).field("bytes", weight.bytes);
    json.field("since_call", weight.since_call).field("reason", weight.reason).end_object();
  }
  json.end_array();
  write_decisions(json, "decisions", graph.decisions);
  write_decisions(json, "not_fused", graph.not_fused);
  write_operands(json, "results", graph.results);
  json.field("measured_calls", graph.measured_calls).field("not_measured", graph.not_measured);
  json.end_object();
}

}  // namespace

std::string CompileExplanation::text() const {
  std::string text;
  for (const Graph& graph : graphs) text += (text.empty() ? "" : "\n") + graph_text(graph);
  return text;
}

std::string CompileExplanation::json() const {
  JsonWriter json("pellucid.compile/1");
  json.key("graphs").begin_array();
  for (const Graph& graph : graphs) write_graph(json, graph);
  return json.end_array().finish();
}

std::ostream& operator<<(std::ostream& out, const CompileExplanation& explanation) {
  return out << explanation.text();
}

}  // namespace pel
