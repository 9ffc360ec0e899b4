#include "doctor/readers/xla.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <simdjson.h>

#include "doctor/readers/decimal_time.h"

namespace pel::doctor {
namespace {

constexpr std::string_view kXlaHost = "/host:", kXlaGpu = "/device:GPU:", kXlaTpu = "/device:TPU:";
constexpr std::string_view kXlaStream = "Stream #";  // "Stream #17(Compute,MemcpyD2H)"
constexpr std::string_view kTpuOps = "XLA Ops";      // the row of a TPU on which its ops run
constexpr std::size_t kMaxXlaProcesses = 4096,
                      kMaxXlaRows = 65536;  // of a process; real traces have hundreds

// The number that the text begins with.
std::optional<std::int64_t> leading_number(std::string_view text) {
  const auto end = std::ranges::find_if(text, [](unsigned char c) { return std::isdigit(c) == 0; });
  return parse_integer(text.substr(0, static_cast<std::size_t>(end - text.begin())));
}

// Of "regs:32 static_shared:0 grid:8,1,1", the text after "grid:".
std::string_view detail_of(std::string_view details, std::string_view key) {
  for (std::size_t at = 0; at < details.size();) {
    const std::size_t end = std::min(details.find(' ', at), details.size());
    const std::string_view word = details.substr(at, end - at);
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == ':')
      return word.substr(key.size() + 1);
    at = end + 1;
  }
  return {};
}

bool read_sizes(std::string_view text, std::array<std::int64_t, 3>& to) {
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = leading_number(text);
    if (!number) return false;
    to[i] = *number;
    const std::size_t comma = text.find(',');
    if ((comma == std::string_view::npos) != (i == 2)) return false;
    if (i != 2) text.remove_prefix(comma + 1);
  }
  return true;
}

// CUDA's and HIP's: cuLaunchKernel, cudaMemcpyAsync, hipModuleLaunchKernel.
bool is_call_name(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "cu", "hip"}) {
    if (name.size() > prefix.size() && name.starts_with(prefix) &&
        std::isupper(static_cast<unsigned char>(name[prefix.size()])) != 0)
      return true;
  }
  return false;
}

// Marks that the thread pools of XLA leave, which last no time, and the ends of asynchronous thunks.
bool is_mark(std::string_view name) {
  return name.starts_with("ThreadpoolListener::") || name.starts_with("end: ");
}

// A memcpy as PyTorch's profiler names it: "Memcpy DtoH (Device -> Pageable)".
std::string memcpy_name(std::string_view name, std::string_view details) {
  const auto memory = [&](std::string_view key) {
    std::string kind(detail_of(details, key));
    if (!kind.empty()) kind[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(kind[0])));
    return kind;
  };
  const std::string from = memory("kind_src"), to = memory("kind_dst");
  const auto letter = [](std::string_view kind) {
    return kind == "Pageable" || kind == "Pinned" ? 'H' : 'D';
  };
  if (!from.empty() && !to.empty())
    return fmt::format("Memcpy {}to{} ({} -> {})", letter(from), letter(to), from, to);
  for (const auto& [own, usual] :
       {std::pair("MemcpyH2D", "Memcpy HtoD"), std::pair("MemcpyD2H", "Memcpy DtoH"),
        std::pair("MemcpyD2D", "Memcpy DtoD"), std::pair("MemcpyP2P", "Memcpy PtoP")})
    if (name.starts_with(own)) return usual;
  return std::string(name);
}

}  // namespace

// The arguments of one event. Old versions write numbers, newer ones all as text.
struct XlaEvents::Args {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  bool is_there = false;

  void parse(std::string_view event_json) {
    is_there = false;
    simdjson::dom::element event;
    if (parser.parse(event_json.data(), event_json.size()).get(event) == simdjson::SUCCESS)
      is_there = event["args"].get(object) == simdjson::SUCCESS;
  }
  bool has(std::string_view key) const {
    simdjson::dom::element found;
    return is_there && object.at_key(key).get(found) == simdjson::SUCCESS;
  }
  std::string_view text(std::string_view key) const {
    std::string_view found;
    return is_there && object.at_key(key).get(found) == simdjson::SUCCESS ? found : std::string_view();
  }
  std::optional<std::int64_t> number(std::string_view key) const {
    std::int64_t found = 0;
    if (is_there && object.at_key(key).get(found) == simdjson::SUCCESS) return found;
    return parse_integer(text(key));
  }
};

XlaEvents::XlaEvents() = default;
XlaEvents::~XlaEvents() = default;

void XlaEvents::note_row(const TraceEvent& event) {
  if (!event.process.text.empty()) return;
  if (event.name == "process_name") {
    const std::string_view label = event.label;
    Process process;
    process.is_host = label.starts_with(kXlaHost);
    process.is_gpu = label.starts_with(kXlaGpu);
    if (!process.is_host && !process.is_gpu && !label.starts_with(kXlaTpu)) return;
    if (!process.is_host) process.device = leading_number(label.substr(kXlaGpu.size())).value_or(0);
    if (processes_.size() < kMaxXlaProcesses)
      processes_.try_emplace(event.process.number, std::move(process));
  } else if (event.name == "thread_name") {
    const auto at = processes_.find(event.process.number);
    if (at != processes_.end() && !at->second.is_host && at->second.rows.size() < kMaxXlaRows)
      at->second.rows.insert_or_assign(event.thread.number, std::string(event.label));
  }
}

const TraceEvent& XlaEvents::read_span(const TraceEvent& event) {
  const auto at = event.process.text.empty() ? processes_.find(event.process.number) : processes_.end();
  if (at == processes_.end()) return event;
  if (!args_) args_ = std::make_unique<Args>();
  args_->parse(event.json);
  event_ = event;
  if (at->second.is_host) {
    read_host(*args_);
  } else {
    read_device(at->second, *args_);
  }
  return event_;
}

void XlaEvents::read_host(const Args& args) {
  const std::string_view name = event_.name;
  if (const auto correlation = args.number("correlation_id")) event_.set(Arg::Correlation, *correlation);
  if (is_mark(name)) {
    event_.category = Category::None;
  } else if (const auto step = args.number("step_num")) {
    event_.category = Category::UserAnnotation;
    name_ = fmt::format("ProfilerStep#{} ({})", *step, name);
    event_.name = name_;
  } else if (name.starts_with('$')) {
    event_.category = Category::PythonFunction;
    event_.name.remove_prefix(1);
  } else if (event_.has(Arg::Correlation) || is_call_name(name)) {
    event_.category = Category::Runtime;
  } else {
    event_.category = Category::CpuOp;
  }
}

void XlaEvents::read_device(const Process& process, const Args& args) {
  const auto row = process.rows.find(event_.thread.number);
  const std::string_view row_name = row == process.rows.end() ? std::string_view() : row->second;
  const bool is_stream = row_name.starts_with(kXlaStream);
  if (!is_stream && (process.is_gpu || row_name != kTpuOps)) {  // rows that XLA derives: Steps, XLA Modules
    event_.category = Category::DeviceAnnotation;
    return;
  }
  event_.set(Arg::Device, process.device);
  event_.set(Arg::Stream, is_stream ? leading_number(row_name.substr(kXlaStream.size())).value_or(0) : 0);
  if (const auto correlation = args.number("correlation_id")) event_.set(Arg::Correlation, *correlation);
  const std::string_view name = event_.name, copy = args.text("memcpy_details");
  if (!copy.empty() || name.starts_with("Memcpy")) {
    event_.category = Category::Memcpy;
    if (const auto bytes = leading_number(detail_of(copy, "size"))) event_.set(Arg::Bytes, *bytes);
    name_ = memcpy_name(name, copy);
    event_.name = name_;
  } else if (name.starts_with("Memset") || args.has("memset_details") || args.has("Memset_details")) {
    event_.category = Category::Memset;
    const std::string_view fill = args.text(args.has("memset_details") ? "memset_details" : "Memset_details");
    if (const auto bytes = leading_number(detail_of(fill, "num_bytes"))) event_.set(Arg::Bytes, *bytes);
  } else if (name.starts_with("MemoryAlloc") || name.starts_with("MemoryFree") ||
             name.starts_with("Overhead")) {
    event_.category = Category::DeviceAnnotation;
  } else {
    event_.category = Category::Kernel;
    const std::string_view details = args.text("kernel_details");
    event_.has_grid = read_sizes(detail_of(details, "grid"), event_.grid);
    event_.has_block = read_sizes(detail_of(details, "block"), event_.block);
    if (const auto registers = leading_number(detail_of(details, "regs")))
      event_.set(Arg::RegistersPerThread, *registers);
    const auto fixed = leading_number(detail_of(details, "static_shared")),
               dynamic = leading_number(detail_of(details, "dynamic_shared"));
    if (fixed && dynamic && *fixed < INT32_MAX && *dynamic < INT32_MAX)
      event_.set(Arg::SharedMemory, *fixed + *dynamic);
    if (const auto occupancy = parse_decimal(detail_of(details, "occ_pct")))
      event_.set(ArgDecimal::OccupancyPercent, *occupancy);
  }
}

}  // namespace pel::doctor
