#include "choice/tuning.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include <fmt/format.h>

#include "base/environment.h"
#include "choice/choice.h"
#include "choice/fastest_run.h"

namespace pel {

// The file has a line with the version, then one line for each class: "DEVICE CLASS KERNEL NANOSECONDS".
struct Tuning::State {
  static constexpr std::string_view kHeader = "pellucid tuning 2";

  struct Entry {
    std::string kernel;
    double ns;
  };
  std::string path;
  std::mutex mutex;
  std::map<std::string, Entry> entries;  // by device and class

  static std::string key(std::string_view device, std::string_view shape_class) {
    return fmt::format("{} {}", device, shape_class);
  }
  void read() {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) return;
    if (line != kHeader) {
      log_line("tune",
               fmt::format("{} does not begin with '{}': it is measured and written again", path, kHeader));
      return;
    }
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string device, shape_class;
      Entry entry;
      if (words >> device >> shape_class >> entry.kernel >> entry.ns)
        entries[key(device, shape_class)] = entry;
    }
  }
  // Written under another name and renamed: another process never reads half a file.
  void write() const {
    const std::string next = path + ".new";
    {
      std::ofstream file(next);
      file << kHeader << "\n";
      for (const auto& [device_and_class, entry] : entries)
        file << fmt::format("{} {} {:.0f}\n", device_and_class, entry.kernel, entry.ns);
    }
    if (std::rename(next.c_str(), path.c_str()) != 0)
      log_line("tune", fmt::format("{} cannot be written: the measurements are lost at exit", path));
  }
};

Tuning::Tuning(std::string path) : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  state_->read();
}
Tuning::~Tuning() = default;

Tuning* Tuning::active() {
  static Tuning* const instance = [] {
    const char* path = std::getenv("PELLUCID_TUNE");
    return path == nullptr || *path == '\0' ? nullptr : new Tuning(path);
  }();
  return instance;
}

const Kernel* Tuning::choose(const Op& op, Device device, KernelArgs args, const Kernel* predicted,
                             const std::optional<Computation>& computation) {
  if (predicted->shape_class == nullptr) return predicted;
  const std::string key = State::key(to_string(device), predicted->shape_class(args));
  const std::lock_guard lock(state_->mutex);
  auto found = state_->entries.find(key);
  if (found == state_->entries.end()) {
    State::Entry entry{predicted->name, 0};
    Stream stream(device);
    for (const Kernel& kernel : op.kernels(device.type)) {
      args.context = kernel.context;
      if (!is_candidate(kernel, computation) || !takes(kernel, args)) continue;
      const double ns = fastest_run_ns([&] { kernel.run(stream, args); });
      if (entry.ns == 0 || ns < entry.ns) entry = {kernel.name, ns};
    }
    found = state_->entries.emplace(key, entry).first;
    state_->write();
  }
  for (const Kernel& kernel : op.kernels(device.type)) {
    args.context = kernel.context;
    if (kernel.name == found->second.kernel && takes(kernel, args)) return &kernel;
  }
  return predicted;  // the class is wider than the calls that the winner takes
}

}  // namespace pel
