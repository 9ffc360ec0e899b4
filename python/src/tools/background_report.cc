#include "tools/background_report.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "pellucid/error.h"

namespace pel::python {
namespace {

using Flag = std::shared_ptr<doctor::StopFlag>;

// The flags of those whose threads run.
struct Running {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Flag> flags;
};
Running& running() {
  static Running* const all = new Running;  // is never destroyed: threads may end after static destructors
  return *all;
}

std::optional<Problem> problem_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return Problem{static_cast<int>(e.code()), e.what()};
  } catch (const std::exception& e) {
    return Problem{0, e.what()};
  }
}

}  // namespace

struct BackgroundReport::State {
  explicit State(doctor::ReportRequest asked) : request(std::move(asked)) {
    request.stop = stop.get();
    request.progress = [this](const std::string& what, double share) {
      const std::scoped_lock lock(mutex);
      progress = {what, share};
    };
  }

  void run() {
    doctor::MadeReport report;
    std::exception_ptr error;
    try {
      report = make_report(request);
    } catch (...) {
      error = std::current_exception();
    }
    const std::scoped_lock lock(mutex);
    made = std::move(report);
    if (error) problem = problem_of(error);
    is_done = true;
    changed.notify_all();
  }

  doctor::ReportRequest request;
  const Flag stop = std::make_shared<doctor::StopFlag>();
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  Progress progress;
  doctor::MadeReport made;
  std::optional<Problem> problem;
};

BackgroundReport::BackgroundReport(doctor::ReportRequest request)
    : state_(std::make_shared<State>(std::move(request))) {
  Running& all = running();
  const auto forget = [&all](const Flag& flag) {
    const std::scoped_lock lock(all.mutex);
    all.flags.erase(flag);
    all.changed.notify_all();
  };
  {
    const std::scoped_lock lock(all.mutex);
    all.flags.insert(state_->stop);
  }
  try {
    std::thread([state = state_, forget]() mutable {
      const Flag flag = state->stop;
      state->run();
      state.reset();
      forget(flag);
    }).detach();
  } catch (...) {
    forget(state_->stop);
    throw;
  }
}

BackgroundReport::~BackgroundReport() { stop(); }

bool BackgroundReport::wait(std::chrono::nanoseconds most) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, most, [this] { return state_->is_done; });
}

void BackgroundReport::stop() { state_->stop->request(); }

BackgroundReport::Progress BackgroundReport::progress() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->progress;
}

const std::optional<Problem>& BackgroundReport::problem() const { return state_->problem; }

doctor::MadeReport BackgroundReport::take() { return std::move(state_->made); }

bool end_background_reports(std::chrono::nanoseconds most) {
  Running& all = running();
  std::unique_lock lock(all.mutex);
  for (const Flag& flag : all.flags) flag->request();
  return all.changed.wait_for(lock, most, [&all] { return all.flags.empty(); });
}

}  // namespace pel::python
