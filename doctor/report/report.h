// The findings of one or several traces, as text and JSON show them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor/diagnosis/diagnosis.h"
#include "doctor/report/expect.h"

namespace pel::doctor {

struct Report {
  struct Trace {
    Diagnosis diagnosis;
    std::vector<Checked> expectations{};  // empty: none were launched
  };
  struct Unread {
    std::string path, reason;
  };
  std::vector<Trace> traces;
  std::vector<Unread> unread{};
  std::vector<Finding> together{};  // of several traces, compared with each other

  bool all_hold() const;
  bool is_whole() const;  // nothing was left out, of any trace
};

bool is_whole(const TraceSummary& summary);

// Leaves out findings with other keys. A ValueError names a key that is none of `known`.
void keep_only(Report& report, const std::vector<std::string>& keys,
               const std::vector<std::string_view>& known);
void show_rows(Report& report, std::size_t rows);  // of each table

}  // namespace pel::doctor
