#include "doctor/readers/trace_event.h"

#include <utility>

namespace pel::doctor {
namespace {

// The first name of a category is the one of today.
constexpr std::pair<std::string_view, Category> kCategories[] = {
    {"", Category::None},
    {"cpu_op", Category::CpuOp},
    {"user_annotation", Category::UserAnnotation},
    {"python_function", Category::PythonFunction},
    {"cuda_runtime", Category::Runtime},
    {"cuda_driver", Category::Driver},
    {"kernel", Category::Kernel},
    {"gpu_memcpy", Category::Memcpy},
    {"gpu_memset", Category::Memset},
    {"cuda_sync", Category::Sync},
    {"cuda_event", Category::DeviceEvent},
    {"gpu_user_annotation", Category::DeviceAnnotation},
    {"overhead", Category::Overhead},
    {"piece", Category::Piece},
    {"cpu_instant_event", Category::CpuInstant},
    {"ac2g", Category::LaunchFlow},
    {"fwdbwd", Category::BackwardFlow},
    {"Trace", Category::TraceSpan},
    {"hardware_counters", Category::Counters},
    // other devices
    {"xpu_runtime", Category::Runtime},
    {"mtia_runtime", Category::Runtime},
    {"glow_runtime", Category::Runtime},
    {"privateuse1_runtime", Category::Runtime},
    {"xpu_driver", Category::Driver},
    {"privateuse1_driver", Category::Driver},
    {"xpu_sync", Category::Sync},
    {"mtia_ccp_events", Category::Kernel},
    {"hpu_op", Category::Kernel},
    {"mtia_counters", Category::Counters},
    {"xpu_scope_profiler", Category::Counters},
    // torch 1.8 to 1.12
    {"Operator", Category::CpuOp},
    {"Runtime", Category::Runtime},
    {"Kernel", Category::Kernel},
    {"Memcpy", Category::Memcpy},
    {"Memset", Category::Memset},
    {"async", Category::LaunchFlow},
    {"async_gpu", Category::LaunchFlow},
    {"async_cpu_to_gpu", Category::LaunchFlow},
};

constexpr std::pair<char, Phase> kPhases[] = {
    {'X', Phase::Span},    {'B', Phase::Begin},    {'E', Phase::End},       {'i', Phase::Instant},
    {'I', Phase::Instant}, {'M', Phase::Metadata}, {'s', Phase::FlowStart}, {'t', Phase::FlowStep},
    {'f', Phase::FlowEnd}, {'C', Phase::Counter},
};

}  // namespace

std::string_view name(Category category) {
  for (const auto& [text, of] : kCategories) {
    if (of == category) return text;
  }
  return "other";
}

Category category_of(std::string_view text) {
  for (const auto& [name, category] : kCategories) {
    if (name == text) return category;
  }
  return Category::Other;
}

std::string_view name(Phase phase) {
  for (const auto& [letter, of] : kPhases) {
    if (of == phase) return {&letter, 1};
  }
  return "other";
}

Phase phase_of(std::string_view text) {
  for (const auto& [letter, phase] : kPhases) {
    if (text.size() == 1 && text[0] == letter) return phase;
  }
  return Phase::Other;
}

}  // namespace pel::doctor
