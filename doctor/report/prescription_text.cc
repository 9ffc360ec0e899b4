#include "doctor/report/prescription_text.h"

#include <fmt/format.h>

#include "doctor/report/readable_value.h"

namespace pel::doctor {
namespace {

std::string text_in(const Table& table, std::size_t row, std::string_view key) {
  const Value value = cell(table, row, key);
  const auto* const text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

}  // namespace

const Finding* find_finding(std::span<const Finding> findings, std::string_view key) {
  for (const Finding& finding : findings) {
    if (finding.key == key) return &finding;
  }
  return nullptr;
}

std::optional<ShownPrescriptions> shown_prescriptions(std::span<const Finding> findings) {
  const Finding* const finding = find_finding(findings, kPrescriptions);
  if (finding == nullptr || finding->tables.empty()) return std::nullopt;
  const Table& table = finding->tables.front();
  ShownPrescriptions shown;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    ShownPrescription& p = shown.list.emplace_back();
    p.gain = text_in(table, row, "gain");
    p.action = text_in(table, row, "action");
    p.how = text_in(table, row, "how");
    const double count = number_of(cell(table, row, "count"));
    if (const std::string where = text_in(table, row, "where"); !where.empty())
      p.where = fmt::format(
          "at {}{}", where,
          count > 1 ? fmt::format(", {} times", readable(cell(table, row, "count"), Unit::Count)) : "");
    if (const std::string needs = text_in(table, row, "needs"); !needs.empty()) p.needs = "if " + needs;
  }
  if (!finding->sentences.empty()) shown.together = finding->sentences.front();
  return shown;
}

}  // namespace pel::doctor
