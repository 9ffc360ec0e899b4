// The roofline of this machine, stored in a file after it was measured.
#include "pellucid/machine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "pellucid/threads.h"

#include "base/check.h"
#include "base/environment.h"
#include "profile/machine_file.h"

namespace pel {
namespace {

constexpr std::string_view kFirstLine = "pellucid machine 1";

std::optional<DType> dtype_named(std::string_view text) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    if (name(dtype) == text) return dtype;
  return std::nullopt;
}

}  // namespace

namespace profile {

Machine empty_machine() {
  Machine machine;
  machine.isa = environment_text("PELLUCID_ISA");
  machine.threads = thread_count();
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; machine.cpu.empty() && std::getline(info, line);)
    if (line.starts_with("model name")) machine.cpu = line.substr(std::min(line.size(), line.find(':') + 2));
  return machine;
}

// One fact a line: "level L2 2097152 61.5", "peak f32 160.2 by vfmadd of 512 bits", "wake 15000 900".
std::string machine_text(const Machine& machine) {
  std::string text =
      fmt::format("{}\ncpu {}\nisa {}\nthreads {}\n", kFirstLine, machine.cpu, machine.isa, machine.threads);
  for (const MemoryLevel& level : machine.levels)
    text += fmt::format("level {} {} {}\n", level.name, level.bytes, level.gb_per_s);
  for (const ComputePeak& peak : machine.peaks)
    text += fmt::format("peak {} {} {}\n", name(peak.dtype), peak.gflop_per_s, peak.by);
  if (machine.threads > 1) text += fmt::format("wake {} {}\n", machine.wake_ns, machine.join_ns);
  return text;
}

std::optional<Machine> parse_machine(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kFirstLine) return std::nullopt;
  Machine machine;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    const auto rest = [&] {
      std::string tail;
      words.get();  // the space
      std::getline(words, tail);
      return tail;
    };
    if (what == "cpu") {
      machine.cpu = rest();
      words.clear();
    } else if (what == "isa") {
      machine.isa = rest();
      words.clear();
    } else if (what == "threads") {
      words >> machine.threads;
    } else if (what == "level") {
      MemoryLevel& level = machine.levels.emplace_back();
      words >> level.name >> level.bytes >> level.gb_per_s;
      if (!(level.gb_per_s > 0)) return std::nullopt;
    } else if (what == "peak") {
      ComputePeak& peak = machine.peaks.emplace_back();
      std::string dtype;
      words >> dtype >> peak.gflop_per_s;
      peak.by = rest();
      words.clear();
      const std::optional<DType> known = dtype_named(dtype);
      if (!known || !(peak.gflop_per_s > 0)) return std::nullopt;
      peak.dtype = *known;
    } else if (what == "wake") {
      words >> machine.wake_ns >> machine.join_ns;
      if (!(machine.wake_ns > 0 && machine.join_ns > 0)) return std::nullopt;
    } else {
      return std::nullopt;
    }
    if (words.fail()) return std::nullopt;
  }
  const bool has_f32 = std::any_of(machine.peaks.begin(), machine.peaks.end(),
                                   [](const ComputePeak& p) { return p.dtype == DType::F32; });
  if (machine.levels.empty() || !has_f32 || (machine.wake_ns > 0) != (machine.threads > 1))
    return std::nullopt;
  return machine;
}

// Written under another name and renamed: a reader sees the whole file or none. A directory that cannot be
// written to is not an error: the next process measures again.
void keep_machine(const Machine& machine) {
  namespace fs = std::filesystem;
  const fs::path path = Machine::path();
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  fs::path temporary = path;
  temporary += fmt::format(".{}", reinterpret_cast<std::uintptr_t>(&machine));
  if (std::ofstream file(temporary); !(file << machine_text(machine)).flush()) return;
  fs::rename(temporary, path, ignored);
  if (ignored) fs::remove(temporary, ignored);
}

}  // namespace profile

std::string Machine::path() {
  if (std::string own = environment_text("PELLUCID_MACHINE"); !own.empty()) return own;
  return user_cache_folder() + "/machine.txt";
}

std::optional<Machine> Machine::known() {
  const std::ifstream file(path());
  std::ostringstream text;
  text << file.rdbuf();
  std::optional<Machine> machine = profile::parse_machine(text.str());
  const Machine here = profile::empty_machine();
  if (!machine || machine->cpu != here.cpu || machine->isa != here.isa || machine->threads != here.threads)
    return std::nullopt;
  return machine;
}

const MemoryLevel& Machine::level_of(std::uint64_t bytes) const {
  PEL_CHECK(!levels.empty(), ValueError,
            "this Machine has no memory levels; use Machine::known() or Machine::measure()");
  for (const MemoryLevel& level : levels)
    if (level.bytes != 0 && bytes <= static_cast<std::uint64_t>(level.bytes)) return level;
  return levels.back();
}

double Machine::gflop_per_s(DType dtype) const {
  double f32 = 0;
  for (const ComputePeak& peak : peaks) {
    if (peak.dtype == dtype) return peak.gflop_per_s;
    if (peak.dtype == DType::F32) f32 = peak.gflop_per_s;
  }
  return f32;
}

double Machine::roof_ns(std::uint64_t bytes, std::uint64_t flops, DType dtype) const {
  const double moving = static_cast<double>(bytes) / level_of(bytes).gb_per_s;
  const double peak = gflop_per_s(dtype);
  return peak > 0 ? std::max(moving, static_cast<double>(flops) / peak) : moving;
}

}  // namespace pel
