#include "doctor/report/prescription_text.h"

#include <fmt/format.h>

#include "base/readable.h"
#include "doctor/report/readable_value.h"

namespace pel::doctor {
namespace {

std::int64_t whole_number(const Value& value) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  return number == nullptr ? 0 : *number;
}

std::int64_t fact_of(const Finding& finding, std::string_view key) {
  for (const Fact& fact : finding.facts) {
    if (fact.key == key) return whole_number(fact.value);
  }
  return 0;
}

std::string text_in(const Table& table, std::size_t row, std::string_view key) {
  const Value value = cell(table, row, key);
  const auto* const text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

}  // namespace

const Finding* find_finding(const Diagnosis& diagnosis, std::string_view key) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.key == key) return &finding;
  }
  return nullptr;
}

std::optional<ShownPrescriptions> shown_prescriptions(const Diagnosis& diagnosis) {
  const Finding* const finding = find_finding(diagnosis, "prescriptions");
  if (finding == nullptr || finding->tables.empty()) return std::nullopt;
  const Table& table = finding->tables.front();
  const std::int64_t total = fact_of(*finding, "time_ns"),
                     steps = std::max<std::int64_t>(1, fact_of(*finding, "steps"));
  const auto of_step = [&](std::int64_t ns) {
    return fmt::format("{} of {}{}", readable_ns(ns / steps), readable_ns(total / steps),
                       steps == 1 ? "" : " a step");
  };
  ShownPrescriptions shown;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    ShownPrescription& p = shown.list.emplace_back();
    p.gain = fmt::format("saves {}: {}", readable(cell(table, row, "saved"), Unit::Percent),
                         of_step(whole_number(cell(table, row, "saved_ns"))));
    p.action = text_in(table, row, "action");
    p.how = text_in(table, row, "how");
    const std::int64_t count = whole_number(cell(table, row, "count"));
    if (const std::string where = text_in(table, row, "where"); !where.empty())
      p.where = fmt::format("at {}{}", where, count > 1 ? fmt::format(", {} times", grouped(count)) : "");
    if (const std::string needs = text_in(table, row, "needs"); !needs.empty()) p.needs = "if " + needs;
  }
  if (const std::int64_t together = fact_of(*finding, "together"); together > 1) {
    const std::int64_t saved = fact_of(*finding, "together_saved_ns");
    shown.together = fmt::format(
        "The first {} together save {:.1f} %: {}.", together,
        total == 0 ? 0.0 : 100.0 * static_cast<double>(saved) / static_cast<double>(total), of_step(saved));
  }
  return shown;
}

}  // namespace pel::doctor
