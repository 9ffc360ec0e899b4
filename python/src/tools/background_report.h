// A report that is made on a thread of its own, while Python runs: it shows progress, and Ctrl-C ends the
// wait at once.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "doctor/report/make_report.h"

namespace pel::python {

struct Problem {
  int code = 0;  // of an Error; 0: another exception, which is a bug or a lack of memory
  std::string message;
};

class BackgroundReport {
 public:
  explicit BackgroundReport(doctor::ReportRequest request);  // starts
  ~BackgroundReport();                                       // stops, and does not wait
  BackgroundReport(const BackgroundReport&) = delete;
  BackgroundReport& operator=(const BackgroundReport&) = delete;

  bool wait(std::chrono::nanoseconds most);  // true: it is made, or there is a problem
  void stop();
  struct Progress {
    std::string what;
    double share = 0;
  };
  Progress progress() const;

  // After wait() returned true.
  const std::optional<Problem>& problem() const;
  doctor::MadeReport take();

 private:
  struct State;
  std::shared_ptr<State> state_;  // the thread has it, too: it may end after this object
};

// Stops all and waits until their threads have ended, or so long: for the end of the process.
bool end_background_reports(std::chrono::nanoseconds most);

}  // namespace pel::python
