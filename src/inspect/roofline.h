// Kernels compared with the machine's roofs: their traffic and FLOPs per second, and what bounds them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pellucid/machine.h"

#include "base/terminal.h"

namespace pel::inspect {

// The fastest launch of a kernel in one of the calls.
struct RooflinePoint {
  std::string call, kernel;
  DType dtype = DType::F32;
  std::uint64_t bytes = 0, flops = 0;  // flops 0: not counted, see Event
  double ns = 0, roof_ns = 0;
  std::string bound;  // "compute", or the level of memory

  double gb_per_s() const { return static_cast<double>(bytes) / ns; }
  double gflop_per_s() const { return static_cast<double>(flops) / ns; }
  double flops_per_byte() const { return static_cast<double>(flops) / static_cast<double>(bytes); }
  double share() const { return roof_ns / ns; }
};

struct Roofline {
  Machine machine;
  std::vector<RooflinePoint> points;

  std::string text(const Terminal& terminal) const;
  std::string json() const;
  std::string svg() const;
};

enum class Thoroughness : bool { Quick, Full };
// Runs typical calls of models. Reports the current one and the share that is done.
Roofline measure_roofline(const Machine& machine, Thoroughness thoroughness,
                          const std::function<void(const std::string& what, double done)>& progress = {});

// Returns the letter of a point, in the table and the plots.
inline char letter(std::size_t point) { return static_cast<char>('a' + point % 26); }

// Shared by the plots: both axes are logarithms to base 10.
struct RooflineAxes {
  double min_x, max_x, min_y, max_y;
};
RooflineAxes axes_of(const Roofline& roofline);
std::string plot(const Roofline& roofline, const Terminal& terminal);

}  // namespace pel::inspect
