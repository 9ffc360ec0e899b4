// Verdict, totals and findings for the page.
#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "doctor/report/page_data.h"

namespace pel::doctor {
namespace {

// As page/format.js knows them.
std::string_view page_unit(Unit unit) {
  switch (unit) {
    case Unit::Nanoseconds:
      return "ns";
    case Unit::Bytes:
      return "bytes";
    case Unit::BytesPerSecond:
      return "bytes_per_second";
    case Unit::Flops:
      return "flops";
    case Unit::FlopsPerSecond:
      return "flops_per_second";
    case Unit::Percent:
      return "percent";
    case Unit::Count:
      return "count";
    case Unit::None:
      break;
  }
  return "";
}

void write_page_value(PageJson& json, const Value& value) {
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          json.null();
        } else if constexpr (std::is_same_v<T, bool>) {
          json.fact(v);
        } else if constexpr (std::is_same_v<T, std::string>) {
          json.text(v);
        } else {
          json.number(v);
        }
      },
      value);
}

void write_page_table(PageJson& json, const Table& table, std::size_t max_rows) {
  // A table without labels is drawn as a picture, which has all of its few points.
  const bool is_shown =
      std::ranges::any_of(table.columns, [](const Column& column) { return !column.label.empty(); });
  const std::size_t rows = is_shown ? std::min(max_rows, table.rows.size()) : table.rows.size();
  json.begin_object().key("key").text(table.key).key("title").text(table.title);
  json.key("count").number(static_cast<std::int64_t>(table.rows.size())).key("columns").begin_array();
  for (const Column& column : table.columns) {
    json.begin_array()
        .text(column.key)
        .text(column.label)
        .text(page_unit(column.unit))
        .fact(column.is_wide)
        .end_array();
  }
  json.end_array().key("rows").begin_array();
  for (std::size_t r = 0; r < rows; ++r) {
    json.begin_array();
    for (const Value& value : table.rows[r]) write_page_value(json, value);
    json.end_array();
  }
  json.end_array().end_object();
}

void write_page_finding(PageJson& json, const Finding& finding, std::size_t max_rows) {
  json.begin_object()
      .key("key")
      .text(finding.key)
      .key("title")
      .text(finding.title)
      .key("sentences")
      .begin_array();
  for (const std::string& sentence : finding.sentences) json.text(sentence);
  json.end_array().key("facts").begin_array();
  for (const Fact& fact : finding.facts) {
    if (fact.label.empty()) continue;
    json.begin_array().text(fact.label);
    write_page_value(json, fact.value);
    json.text(page_unit(fact.unit)).end_array();
  }
  json.end_array().key("tables").begin_array();
  for (const Table& table : finding.tables) write_page_table(json, table, max_rows);
  json.end_array().end_object();
}

// Where the time of the devices went: label, nanoseconds, and whether it is idle time.
void write_page_shares(PageJson& json, const TimeShares& shares) {
  const auto share = [&](std::string_view label, std::int64_t ns, bool is_idle) {
    if (ns > 0) json.begin_array().text(label).number(ns).fact(is_idle).end_array();
  };
  json.begin_array();
  share("busy", shares.busy_ns - shares.communication_ns, false);
  share("exposed collectives", shares.communication_ns, false);
  for (std::size_t cause = 0; cause < kIdleCauseCount; ++cause)
    share(name(static_cast<IdleCause>(cause)), shares.idle_ns[cause], true);
  json.end_array();
}

}  // namespace

std::string page_diagnosis(const Diagnosis& diagnosis, const Examined& examined, std::size_t max_rows) {
  const TraceSummary& summary = diagnosis.summary;
  PageJson json;
  json.begin_object()
      .key("path")
      .text(diagnosis.path)
      .key("before")
      .text(diagnosis.before)
      .key("bound")
      .text(name(diagnosis.verdict.bound));
  json.key("sentence").text(diagnosis.verdict.sentence).key("reasons").begin_array();
  for (const std::string& reason : diagnosis.verdict.reasons) json.text(reason);
  json.end_array().key("notes").begin_array();
  if (summary.is_truncated) json.text("The trace is truncated: the findings are about its first part.");
  if (summary.skipped_count != 0)
    json.text(fmt::format("{} pieces of the trace, {} bytes, could not be read and were skipped.",
                          summary.skipped_count, summary.skipped_bytes));
  json.end_array().key("totals").begin_array();
  const auto total = [&](std::string_view label, std::int64_t value, std::string_view unit) {
    json.begin_array().text(label).number(value).text(unit).end_array();
  };
  if (!examined.model.activities().empty()) total("device time", examined.time.all().total(), "ns");
  total("kernels", static_cast<std::int64_t>(diagnosis.counts.totals.kernels), "count");
  total("memcpys", static_cast<std::int64_t>(diagnosis.counts.totals.memcpy), "count");
  total("memsets", static_cast<std::int64_t>(diagnosis.counts.totals.memset), "count");
  total("graph launches", static_cast<std::int64_t>(diagnosis.counts.totals.graph_launches), "count");
  total("sync calls", static_cast<std::int64_t>(diagnosis.counts.totals.syncs), "count");
  if (examined.model.has_marked_steps())
    total("steps", static_cast<std::int64_t>(examined.model.steps().size()), "count");
  total("events", static_cast<std::int64_t>(summary.events), "count");
  json.end_array().key("devices").begin_array();
  for (const std::int32_t id : examined.model.active_devices()) {
    if (const DeviceProperties* device = examined.model.device(id);
        device != nullptr && !device->name.empty())
      json.text(device->name);
  }
  json.end_array().key("shares");
  write_page_shares(json, examined.time.all());
  json.key("findings").begin_array();
  for (const Finding& finding : diagnosis.findings) write_page_finding(json, finding, max_rows);
  json.end_array().end_object();
  return json.str();
}

// A diagnosis without a verdict, as page_diagnosis writes it.
std::string page_findings(const std::vector<Finding>& findings, const PageOverview& overview,
                          std::size_t max_rows) {
  PageJson json;
  json.begin_object().key("path").text(overview.title).key("before").text("").key("bound").text("");
  json.key("sentence").text(overview.sentence);
  for (const std::string_view none : {"reasons", "notes", "devices"})
    json.key(none).begin_array().end_array();
  json.key("totals").begin_array();
  for (const Fact& fact : overview.totals) {
    json.begin_array().text(fact.label);
    write_page_value(json, fact.value);
    json.text(page_unit(fact.unit)).end_array();
  }
  json.end_array().key("shares");
  write_page_shares(json, overview.shares);
  json.key("findings").begin_array();
  for (const Finding& finding : findings) write_page_finding(json, finding, max_rows);
  json.end_array().end_object();
  return json.str();
}

}  // namespace pel::doctor
