// A diagnosis that nobody wants any more ends, wherever it is.
#include "doctor/readers/stop.h"

#include <string>

#include <gtest/gtest.h>

#include "doctor/diagnosis/diagnose.h"
#include "doctor/diagnosis/examination.h"
#include "doctor/readers/kineto.h"
#include "doctor/tests/made_trace.h"
#include "doctor/tests/sources.h"

namespace pel::doctor {
namespace {

// A head, and then the same text for ever.
class EndlessSource : public ByteSource {
 public:
  EndlessSource(std::string head, std::string again) : text_(std::move(head)), again_(std::move(again)) {}
  std::size_t read(char* to, std::size_t most) override {
    if (text_.empty()) text_ = again_;
    const std::size_t count = std::min(most, text_.size());
    std::memcpy(to, text_.data(), count);
    text_.erase(0, count);
    return count;
  }
  const std::string& name() const override { return name_; }

 private:
  std::string text_, again_, name_ = "endless";
};

const std::string kEvent =
    R"({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1},)";

TEST(Stop, EndsReadingOnEitherThread) {
  for (const Parsing parsing : {Parsing::Ahead, Parsing::OnCallersThread}) {
    EndlessSource source("{\"traceEvents\": [", kEvent);
    StopFlag stop;
    ReadOptions options;
    options.parsing = parsing;
    options.stop = &stop;
    int events = 0;
    const auto visit = [&](const TraceEvent&) {
      if (++events == 10'000) stop.request();
    };
    EXPECT_THROW(read_kineto(source, visit, options), Stopped);
    EXPECT_GE(events, 10'000);
    EXPECT_LT(events, 100'000);  // those that were read ahead
  }
}

TEST(Stop, EndsReadingOfATextWithoutEvents) {
  for (const Parsing parsing : {Parsing::Ahead, Parsing::OnCallersThread}) {
    EndlessSource source("{\"traceEvents\": [", "{{}},[\n");
    StopFlag stop;
    stop.request();
    ReadOptions options;
    options.parsing = parsing;
    options.reading = Reading::Lenient;
    options.stop = &stop;
    EXPECT_THROW(read_kineto(source, [](const TraceEvent&) {}, options), Stopped);
  }
}

TEST(Stop, EndsADiagnosis) {
  StopFlag stop;
  ReadOptions options;
  options.stop = &stop;
  test::TextSource source(test::made_trace({}), 1 << 20);
  const Examination examination(source, options);
  EXPECT_FALSE(diagnose(examination).findings.empty());
  stop.request();
  EXPECT_THROW(diagnose(examination), Stopped);
}

}  // namespace
}  // namespace pel::doctor
