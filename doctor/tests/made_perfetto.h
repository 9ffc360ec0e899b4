// Traces of Perfetto, made by the published schema; no real file is among them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/tests/same_run.h"

namespace pel::test {

class ProtoText {
 public:
  ProtoText& number(std::uint32_t field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  ProtoText& bytes(std::uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  ProtoText& message(std::uint32_t field, const ProtoText& value) { return bytes(field, value.text_); }
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

enum class PerfettoStyle : std::uint8_t {
  Kineto,   // categories and annotations as in JSON, names in each event, absolute times
  Rocprof,  // names interned, times as differences of an own clock, categories of rocprofv3
};

inline std::string perfetto_of(const std::vector<RunEvent>& events, PerfettoStyle style) {
  constexpr std::uint64_t kSequence = 3, kProcess = 1, kIncremental = 64;
  const bool is_rocprof = style == PerfettoStyle::Rocprof;
  ProtoText trace;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> tracks;
  std::map<std::string, std::uint64_t> names;
  std::int64_t last_ns = 500;
  const auto packet = [&](ProtoText content) { trace.message(1, content.number(10, kSequence)); };
  packet(ProtoText().number(13, 1).message(59, ProtoText().number(58, is_rocprof ? kIncremental : 6)));
  if (is_rocprof)
    packet(ProtoText().message(
        6, ProtoText()
               .message(1, ProtoText().number(1, 6).number(2, 500))
               .message(1, ProtoText().number(1, kIncremental).number(2, 77).number(3, 1).number(4, 1))));
  packet(ProtoText().message(60, ProtoText().number(1, 1).message(3, ProtoText().number(1, kProcess))));
  const auto track_of = [&](const RunEvent& e) {
    const auto [at, is_new] = tracks.try_emplace({e.is_device() ? 0 : 1, e.thread}, tracks.size() + 2);
    if (is_new) {
      ProtoText track;
      track.number(1, at->second).number(5, 1);
      if (e.is_device()) {
        track.bytes(2, "COMPUTE AGENT [0] QUEUE [" + std::to_string(e.thread) + "] (GPU)");
      } else {
        track.message(4, ProtoText().number(1, kProcess).number(2, static_cast<std::uint64_t>(e.thread)));
      }
      packet(ProtoText().message(60, track));
    }
    return at->second;
  };
  // A slice's times, in the clock of the style. Slices are written one after the other, so differences may be
  // negative.
  const auto timed = [&](std::int64_t time_ns) {
    const std::int64_t difference = time_ns - std::exchange(last_ns, time_ns);
    return ProtoText().number(8, static_cast<std::uint64_t>(is_rocprof ? difference : time_ns));
  };
  for (const RunEvent& e : events) {
    const std::uint64_t track = track_of(e);
    ProtoText begin, interned;
    begin.number(9, 1).number(11, track);
    std::string name = e.is_step() && is_rocprof ? "step " + e.step_number() : e.name;
    if (is_rocprof && e.category == doctor::Category::Memcpy)
      name = name.find("DtoH") != std::string::npos ? "MEMORY_COPY_DEVICE_TO_HOST"
                                                    : "MEMORY_COPY_HOST_TO_DEVICE";
    std::string category(doctor::name(e.category));
    if (is_rocprof) {
      if (e.category == doctor::Category::Kernel) category = "kernel_dispatch";
      if (e.category == doctor::Category::Memcpy) category = "memory_copy";
      if (e.category == doctor::Category::Runtime) category = "hip_api";
      if (e.category == doctor::Category::UserAnnotation || e.category == doctor::Category::CpuOp)
        category = "marker_api";
    }
    const auto intern = [&](std::uint32_t field, const std::string& text) {
      const auto [at, is_new] = names.try_emplace(std::to_string(field) + text, names.size() + 1);
      if (is_new) interned.message(field, ProtoText().number(1, at->second).bytes(2, text));
      return at->second;
    };
    const auto annotate = [&](const char* own, const char* usual, std::int64_t value) {
      ProtoText annotation;
      if (is_rocprof) {
        annotation.number(1, intern(3, own));
      } else {
        annotation.bytes(10, usual);
      }
      begin.message(4, annotation.number(4, static_cast<std::uint64_t>(value)));
    };
    if (is_rocprof) {
      begin.number(3, intern(1, category)).number(10, intern(2, name));
    } else {
      begin.bytes(22, category).bytes(23, name);
    }
    if (e.correlation >= 0) annotate("corr_id", "correlation", e.correlation);
    if (e.bytes >= 0) annotate("copy_bytes", "bytes", e.bytes);
    if (e.is_device()) {
      annotate("agent", "device", 0);
      annotate("stream_id", "stream", e.thread);
    }
    if (e.has_grid && is_rocprof) {
      const std::int64_t block = e.block[0] * e.block[1] * e.block[2];
      annotate("workgroup_size", "", block);
      annotate("grid_size", "", e.grid[0] * e.grid[1] * e.grid[2] * block);
    } else if (e.has_grid) {
      for (const auto& [key, sizes] : {std::pair("grid", e.grid), std::pair("block", e.block)}) {
        ProtoText annotation;
        annotation.bytes(10, key);
        for (const std::int64_t size : sizes)
          annotation.message(12, ProtoText().number(4, static_cast<std::uint64_t>(size)));
        begin.message(4, annotation);
      }
    }
    ProtoText content = timed(e.begin_ns).message(11, begin);
    if (!interned.text().empty()) content.message(12, interned);
    packet(content);
    packet(timed(e.end_ns()).message(11, ProtoText().number(9, 2).number(11, track)));
  }
  return trace.text();
}

}  // namespace pel::test
