// Counts the events of a trace for its summary.
#pragma once

#include <string>

#include "doctor/readers/kineto.h"

namespace pel::doctor {

class EventCounts {
 public:
  void note(const TraceEvent& event) {
    ++counted_.events;
    ++counted_.counts[static_cast<std::size_t>(event.phase)][static_cast<std::size_t>(event.category)];
    if (event.category == Category::Other) [[unlikely]]
      note_other(event);
    // Today's names are in lower case, all but Trace, which both have.
    const bool is_upper = !event.category_text.empty() && event.category_text[0] < 'a';
    if (is_upper && event.category != Category::TraceSpan && event.category != Category::Other)
      counted_.has_old_categories = true;
  }
  std::uint64_t events() const { return counted_.events; }
  // Returns the summary with what was counted.
  TraceSummary added_to(TraceSummary summary) {
    summary.events = counted_.events;
    summary.counts = counted_.counts;
    summary.other_categories = std::move(counted_.other_categories);
    summary.has_old_categories = counted_.has_old_categories;
    return summary;
  }

 private:
  void note_other(const TraceEvent& event) {
    constexpr std::size_t kMaxOtherCategories = 100;
    auto& all = counted_.other_categories;
    const std::string name(event.category_text);
    if (all.size() < kMaxOtherCategories || all.contains(name)) ++all[name];
  }
  TraceSummary counted_;
};

}  // namespace pel::doctor
