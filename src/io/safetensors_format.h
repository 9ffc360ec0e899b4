// Shared by reading and writing safetensors: the format's limit, its dtypes, and which of them are supported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pellucid/dtype.h"

namespace pel::io {

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format's own library
inline constexpr std::string_view kIndexEnd = ".index.json";   // of the name of an index of several files

struct SafetensorsDType {
  std::string_view name;
  std::uint64_t bits;
  std::optional<DType> ours{};
};
inline constexpr SafetensorsDType kSafetensorsDTypes[] = {
    {"F64", 64, kF64}, {"F32", 32, kF32}, {"F16", 16, kF16}, {"BF16", 16, kBF16}, {"I64", 64, kI64},
    {"I32", 32, kI32}, {"I16", 16, kI16}, {"I8", 8, kI8},    {"U8", 8, kU8},      {"BOOL", 8, kBool},
    {"U64", 64},       {"U32", 32},       {"U16", 16},       {"C64", 64},         {"F8_E4M3", 8},
    {"F8_E5M2", 8},    {"F8_E8M0", 8},    {"F6_E2M3", 6},    {"F6_E3M2", 6},      {"F4", 4},
};

// Returns null for a name that the format did not have when this was written.
inline const SafetensorsDType* find_safetensors_dtype(std::string_view name) {
  for (const SafetensorsDType& each : kSafetensorsDTypes) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

inline std::string readable_safetensors_dtypes() {  // "F64, F32, …"
  std::string names;
  for (const SafetensorsDType& each : kSafetensorsDTypes) {
    if (each.ours) names.append(names.empty() ? "" : ", ").append(each.name);
  }
  return names;
}

}  // namespace pel::io
