// A diagnosis as one self-contained HTML page: findings, timeline, and what-if in the browser.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "doctor/analyses/analysis.h"
#include "doctor/diagnosis/diagnosis.h"

namespace pel::doctor {

struct HtmlOptions {
  // What would make the page longer is left out, the shortest spans first; the page says what.
  std::size_t max_bytes = 3'000'000;
  std::size_t max_edges = 200'000;  // of the graph for what-if; beyond, or where it takes much of the page,
                                    // answers are computed beforehand
};

std::string html_report(const Diagnosis& diagnosis, const Examined& examined,
                        const HtmlOptions& options = {});
// What a page without a trace begins with.
struct PageOverview {
  std::string title, sentence;
  std::vector<Fact> totals{};
  TimeShares shares{};  // none: there is no bar
};
// Findings of many traces, without a timeline.
std::string html_of_findings(const std::vector<Finding>& findings, const PageOverview& overview,
                             const HtmlOptions& options = {});
// Of so many ranks of one run: what is found of all of them together.
std::string html_of_ranks(const std::vector<Finding>& together, std::size_t ranks,
                          const HtmlOptions& options = {});

}  // namespace pel::doctor
