// Lessons about where time goes, run on this machine: a hypothesis, the run, the launches, the verdict.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/terminal.h"
#include "inspect/interleaved.h"

namespace pel::inspect {

enum class Pace : bool { Whole, Quick };  // quick: smaller sizes and fewer repeats, for tests

struct Launch {
  std::string op, kernel;
  std::uint64_t bytes = 0;
  double ns = 0;
};

// A piece of the run, and what a Profile recorded.
struct Evidence {
  std::string what;
  std::vector<Launch> launches{};
  int syncs = 0;
  std::uint64_t bytes() const;
  double kernel_ns() const;
};

struct Finding {
  std::vector<Evidence> evidence;
  std::vector<std::string> figures;  // lines of a small table, if the lesson has one
  bool holds = false;
  std::string verdict;  // with numbers
};

struct TourStep {
  std::string_view name, title, hypothesis, run;
  Finding (*find)(Pace pace);
};
const std::vector<TourStep>& tour_steps();
const TourStep* find_step(std::string_view name_or_number);  // null: not found

std::string step_list(const Terminal& terminal);
std::string heading(const TourStep& step, const Terminal& terminal);  // up to the hypothesis and the run
std::string text(const Finding& finding, const Terminal& terminal);
struct TakenStep {
  const TourStep* step;
  Finding finding;
};
std::string summary(const std::vector<TakenStep>& taken, const Terminal& terminal);
std::string json(const std::vector<TakenStep>& taken);

}  // namespace pel::inspect
