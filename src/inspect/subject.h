// The calls that an anatomy takes apart, with the calls that they are made of.
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
enum class Recorded : bool { No, Yes };  // whether what is trained requires a gradient

struct Subject {
  struct Part {
    std::string op;
    Loop loop;
  };
  std::string arguments;  // x f32[4, 64], …
  Loop loop;
  std::vector<Part>
      parts;  // the ops inside it, on the same arguments; of an op with a body of its own, itself
};

std::vector<std::string_view> subject_names();
// Throws a ValueError that lists the names where there is none of this one.
Subject make_subject(std::string_view op, const SubjectSizes& sizes, Recorded recorded);

}  // namespace pel::inspect
