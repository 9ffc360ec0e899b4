// The calls that an anatomy measures, with the calls that they consist of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/interleaved.h"

namespace pel::inspect {

struct SubjectSizes {
  std::int64_t rows = 4, in = 64, out = 64;
};
enum class Recorded : bool { No, Yes };  // whether parameters require gradients

struct Subject {
  struct Part {
    std::string op;
    Loop loop;
  };
  std::string arguments;  // x f32[4, 64], …
  Loop loop;
  std::vector<Part> parts;  // the ops that it calls, on the same arguments; the op itself if it calls none
};

std::vector<std::string_view> subject_names();
// Throws a ValueError with the list of names if there is no such subject.
Subject make_subject(std::string_view op, const SubjectSizes& sizes, Recorded recorded);

}  // namespace pel::inspect
