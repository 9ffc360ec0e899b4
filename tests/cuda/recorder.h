// A device that records the CUDA texts of the kernels that calls need, and runs nothing: results are zeros.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "pellucid/cuda.h"

#include "backends/grid/kernels.h"
#include "base/sort_stably.h"
#include "device/registry.h"

namespace pel::test {

struct KernelText {
  std::string name, text;
};

class Recorder final : public AsyncDevice {
 public:
  Recorder() {
    facts_.name = "recorder of CUDA texts";
    facts_.kernels = DeviceType::Cuda;
    facts_.memory_bytes = facts_.max_segment_bytes = std::int64_t{1} << 32;
    facts_.is_cpu = false;
  }
  const DeviceFacts& facts() const override { return facts_; }
  std::byte* reserve(std::int64_t bytes) override {
    return with_bit(
        segments_.emplace_back(static_cast<std::byte*>(std::calloc(1, static_cast<std::size_t>(bytes)))));
  }
  void release(std::byte* segment, std::int64_t) noexcept override { std::free(plain(segment)); }
  void* host_address(std::byte*) const override { return nullptr; }
  void* pin(std::int64_t bytes) override { return std::malloc(static_cast<std::size_t>(bytes)); }
  void unpin(void* memory, std::int64_t) noexcept override { std::free(memory); }

  StreamHandle make_stream(int index) override { return StreamHandle(static_cast<std::uint64_t>(index)); }
  EventHandle record(StreamHandle) override { return EventHandle{}; }
  void wait(StreamHandle, EventHandle) override {}
  bool has_passed(EventHandle) override { return true; }
  void wait(EventHandle) override {}
  void drop(EventHandle) noexcept override {}
  std::uint64_t queued(StreamHandle) override { return 0; }

  bool launch(StreamHandle stream, const DeviceLaunch& launch) override {
    run(stream, *launch.kernel, *launch.args);
    return true;
  }
  // Builds what the kernel needs for a call.
  void run(StreamHandle stream, const Kernel& kernel, const KernelArgs& args) {
    launch_target() = {this, stream};
    Stream of_kernel(kCuda, static_cast<int>(stream));
    try {
      kernel.run(of_kernel, args);
    } catch (...) {
      launch_target() = {};
      throw;
    }
    launch_target() = {};
  }
  bool copy_in(StreamHandle, std::byte* dst, const void* pinned, std::int64_t bytes) override {
    std::memcpy(plain(dst), pinned, static_cast<std::size_t>(bytes));
    return true;
  }
  bool copy_out(StreamHandle, void* pinned, const std::byte* src, std::int64_t bytes) override {
    std::memcpy(pinned, plain(src), static_cast<std::size_t>(bytes));
    return true;
  }
  void wait_for_space(StreamHandle) override {}
  std::optional<LateError> take_error(StreamHandle) override { return std::nullopt; }

  ModuleHandle build(const DeviceSource& source) override {
    last_ = &texts_.try_emplace(source.text).first->second;
    return ModuleHandle{1};
  }
  // Of the text that was built last.
  FunctionHandle function(ModuleHandle, const char* name) override {
    *last_ = name;
    return FunctionHandle{1};
  }
  void launch(StreamHandle, FunctionHandle, const LaunchShape&, const LaunchArgs&) override {}

  // Each different text once, in the order of their names.
  std::vector<KernelText> texts() const {
    std::vector<KernelText> list;
    for (const auto& [text, name] : texts_) list.push_back({name, text});
    sort_stably(list, [](const KernelText& a, const KernelText& b) { return a.name < b.name; });
    return list;
  }

 private:
  static std::byte* with_bit(std::byte* address) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) | kAddressBit);
  }
  static std::byte* plain(const std::byte* address) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) & ~kAddressBit);
  }
  DeviceFacts facts_;
  std::map<std::string, std::string> texts_;  // with the name of their function
  std::string* last_ = nullptr;
  std::vector<std::byte*> segments_;  // without the bit, for checkers of leaks
};

}  // namespace pel::test
