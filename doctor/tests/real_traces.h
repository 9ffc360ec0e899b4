// Real traces: PELLUCID_TRACES names their folder. Tests that need them are skipped, and say so, where they
// are not there.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace pel::test {

// The path of a file or folder among them, or of all of them; empty: it is not there.
inline std::string real_trace(const std::string& name = "") {
  const char* folder = std::getenv("PELLUCID_TRACES");
  if (folder == nullptr) return {};
  const std::string path = name.empty() ? std::string(folder) : std::string(folder) + "/" + name;
  return std::filesystem::exists(path) ? path : std::string();
}

}  // namespace pel::test

#define PEL_SKIP_WITHOUT_TRACE(name) \
  if (::pel::test::real_trace(name).empty()) GTEST_SKIP() << "PELLUCID_TRACES names no folder with " << (name)
