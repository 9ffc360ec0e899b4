// The file with the largest errors over all f32 numbers: exhaustive_test writes it, numerics_test reads it.
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <fmt/format.h>

namespace pel::exhaustive {

inline constexpr const char* kMeasuredFile = PELLUCID_SOURCE_DIR "/tests/exhaustive/measured_f32.txt";

struct Measured {
  double error = 0;  // in ULP
  float x = 0;       // the argument
};
using MeasuredByOp = std::map<std::string, Measured>;  // by "gelu:tanh"

inline MeasuredByOp read_measured() {
  MeasuredByOp all;
  std::ifstream file(kMeasuredFile);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string op, error, x;
    words >> op >> error >> x;
    all[op] = {std::stod(error), std::strtof(x.c_str(), nullptr)};  // stof throws at denormals
  }
  return all;
}

inline void write_measured(const MeasuredByOp& all) {
  std::ofstream file(kMeasuredFile);
  file << "# Written by ./dev test exhaustive: op, largest error over all 2^32 f32 numbers in ULP, and its\n"
          "# argument.\n";
  for (const auto& [op, measured] : all) file << fmt::format("{} {} {}\n", op, measured.error, measured.x);
}

}  // namespace pel::exhaustive
