#include "doctor/report/json.h"

#include "base/json_writer.h"
#include "doctor/report/findings.h"

namespace pel::doctor {
namespace {

void write_value(JsonWriter& json, const Value& value) {
  std::visit(
      [&](const auto& known) {
        if constexpr (std::is_same_v<std::decay_t<decltype(known)>, std::monostate>) {
          json.null();
        } else if constexpr (std::is_same_v<std::decay_t<decltype(known)>, std::string>) {
          json.value(std::string_view(known));
        } else {
          json.value(known);
        }
      },
      value);
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key).begin_array();
  for (const std::string& text : texts) json.value(std::string_view(text));
  json.end_array();
}

void write_read(JsonWriter& json, const TraceSummary& summary) {
  json.key("read").begin_object();
  json.field("bytes", summary.bytes)
      .field("events", summary.events)
      .field("is_whole", is_whole(summary))
      .field("is_truncated", summary.is_truncated)
      .field("skipped_count", summary.skipped_count)
      .field("skipped_bytes", summary.skipped_bytes);
  json.key("skipped").begin_array();
  for (const Skipped& skipped : summary.skipped)
    json.begin_object()
        .field("offset", skipped.offset)
        .field("bytes", skipped.bytes)
        .field("reason", std::string_view(skipped.reason))
        .end_object();
  json.end_array().end_object();
}

void write_table(JsonWriter& json, const Table& table) {
  json.key(table.key).begin_array();
  for (const std::vector<Value>& row : table.rows) {
    json.begin_object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      json.key(table.columns[i].key);
      write_value(json, i < row.size() ? row[i] : Value{});
    }
    json.end_object();
  }
  json.end_array();
}

void write_finding(JsonWriter& json, const Finding& finding) {
  json.key(finding.key).begin_object();
  json.field("title", std::string_view(finding.title));
  write_texts(json, "sentences", finding.sentences);
  json.key("facts").begin_object();
  for (const Fact& fact : finding.facts) write_value(json.key(fact.key), fact.value);
  json.end_object().key("tables").begin_object();
  for (const Table& table : finding.tables) write_table(json, table);
  json.end_object().end_object();
}

void write_trace(JsonWriter& json, const Report::Trace& trace) {
  const Diagnosis& diagnosis = trace.diagnosis;
  json.field("file", std::string_view(diagnosis.path));
  write_read(json, diagnosis.summary);
  json.key("totals").begin_object();
  for (const auto& [name, count] : named(diagnosis.counts.totals)) json.field(name, count);
  json.end_object().key("quantities").begin_object();
  for (const auto& [name, amount] : diagnosis.counts.quantities) json.field(name, amount);
  json.end_object().key("verdict").begin_object();
  json.field("bound", name(diagnosis.verdict.bound))
      .field("sentence", std::string_view(diagnosis.verdict.sentence));
  write_texts(json, "reasons", diagnosis.verdict.reasons);
  json.end_object().key("findings").begin_object();
  for (const Finding& finding : diagnosis.findings) write_finding(json, finding);
  json.end_object();
  if (trace.expectations.empty()) return;
  json.key("expectations").begin_array();
  for (const Checked& checked : trace.expectations)
    json.begin_object()
        .field("condition", std::string_view(checked.condition))
        .field("seen", std::string_view(checked.seen))
        .field("holds", checked.holds)
        .end_object();
  json.end_array();
}

}  // namespace

std::string json_findings(std::string_view schema, std::string_view sentence,
                          const std::vector<Finding>& findings) {
  JsonWriter json(schema);
  json.field("sentence", sentence).key("findings").begin_object();
  for (const Finding& finding : findings) write_finding(json, finding);
  json.end_object();
  return json.finish();
}

std::string json_report(const Report& report) {
  JsonWriter json("pellucid.doctor/1");
  if (!report.together.empty()) {
    json.key("together").begin_object();
    for (const Finding& finding : report.together) write_finding(json, finding);
    json.end_object();
  }
  if (report.traces.size() == 1 && report.unread.empty()) {
    write_trace(json, report.traces[0]);
    return json.finish();
  }
  json.key("traces").begin_array();
  for (const Report::Trace& trace : report.traces) {
    json.begin_object();
    write_trace(json, trace);
    json.end_object();
  }
  json.end_array().key("unread").begin_array();
  for (const Report::Unread& unread : report.unread)
    json.begin_object()
        .field("file", std::string_view(unread.path))
        .field("reason", std::string_view(unread.reason))
        .end_object();
  json.end_array();
  return json.finish();
}

}  // namespace pel::doctor
