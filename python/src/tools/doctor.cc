// The doctor. Python starts a report, waits for it in small steps, and takes it as text, JSON and a page;
// pellucid/_doctor.py makes objects of these.
#include <memory>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "base/terminal.h"
#include "doctor/report/html.h"
#include "doctor/report/json.h"
#include "doctor/report/text.h"
#include "tools/background_report.h"
#include "tools/bind.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pel::python {
namespace {

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }
nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

// With the trace that it is about, if that is one: the page shows its timeline.
class MadeReport {
 public:
  explicit MadeReport(doctor::MadeReport made) : made_(std::move(made)) {}

  std::string text() const {
    return text_report(
        made_.report, Terminal{}, doctor::Detail::Short,
        {.full = ".full()",
         .line = ".full() is every finding, .save(\"report.html\") writes a page with a timeline, "
                 ".json() is data."});
  }
  std::string full() const { return text_report(made_.report, Terminal{}, doctor::Detail::Full); }
  std::string json() const { return json_report(made_.report); }
  std::string page() const { return html_report(made_.report.traces[0].diagnosis, made_.trace->examined()); }
  bool has_page() const { return made_.trace != nullptr; }

 private:
  doctor::MadeReport made_;
};

// File names and messages are bytes: they need not be UTF-8.
std::unique_ptr<BackgroundReport> start_report(const std::vector<nb::bytes>& traces, const nb::bytes& before,
                                               std::vector<std::string> what_if, std::string expect,
                                               bool are_ranks, bool is_strict) {
  doctor::ReportRequest request;
  for (const nb::bytes& trace : traces) request.traces.push_back(text_of(trace));
  if (are_ranks) request.are = doctor::Traces::RanksOfOneRun;
  request.before = text_of(before);
  request.what_if = std::move(what_if);
  request.expect = std::move(expect);
  if (is_strict) request.reading = doctor::Reading::Strict;
  if (traces.size() == 1) request.keep_trace = doctor::KeepTrace::Yes;
  return std::make_unique<BackgroundReport>(std::move(request));
}

}  // namespace

void bind_doctor(nb::module_& m) {
  nb::class_<MadeReport>(m, "MadeReport")
      .def("text", [](const MadeReport& report) { return bytes_of(report.text()); })
      .def("full", [](const MadeReport& report) { return bytes_of(report.full()); })
      .def("json", [](const MadeReport& report) { return bytes_of(report.json()); })
      .def_prop_ro("has_page", &MadeReport::has_page)
      .def("page", [](const MadeReport& report) {
        std::string page;
        {
          const nb::gil_scoped_release release;
          page = report.page();
        }
        return bytes_of(page);
      });

  nb::class_<BackgroundReport>(m, "BackgroundReport")
      .def(
          "wait", [](BackgroundReport& report, double seconds) { return report.wait(nanoseconds(seconds)); },
          "seconds"_a, nb::call_guard<nb::gil_scoped_release>(), "Returns whether it is done.")
      .def("stop", &BackgroundReport::stop)
      .def_prop_ro("progress",
                   [](const BackgroundReport& report) {
                     const BackgroundReport::Progress progress = report.progress();
                     return nb::make_tuple(progress.what, progress.share);
                   })
      .def_prop_ro(
          "problem",
          [](const BackgroundReport& report) -> nb::object {
            const auto& problem = report.problem();
            if (!problem) return nb::none();
            return nb::make_tuple(problem->code, bytes_of(problem->message));
          },
          "None, or the number of an error's code, 0 if it has none, and its message.")
      .def("take", [](BackgroundReport& report) { return std::make_unique<MadeReport>(report.take()); });

  m.def("start_report", &start_report, "traces"_a, nb::kw_only(), "before"_a, "what_if"_a, "expect"_a,
        "are_ranks"_a, "is_strict"_a);
  m.def(
      "end_background_reports", [](double seconds) { return end_background_reports(nanoseconds(seconds)); },
      "seconds"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("bar", [](double share, int columns) { return bar(share, columns); }, "share"_a, "columns"_a);
}

}  // namespace pel::python
