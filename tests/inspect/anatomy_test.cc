// An anatomy's rows add up, and its parts are the ops that run.
#include "inspect/anatomy.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

namespace pel::inspect {
namespace {

Anatomy quick(const std::string& op) {
  AnatomyOptions options;
  options.op = op;
  options.turns = 3;
  options.burst_ns = 10'000;
  return Anatomy::measure(options);
}

TEST(Anatomy, PartsAreTheOpsThatRun) {
  for (const std::string_view op : subject_names()) {
    for (const Recorded recorded : {Recorded::No, Recorded::Yes}) {
      const Subject subject = make_subject(op, {}, recorded);
      std::vector<std::string> wanted, ran;
      for (const Subject::Part& part : subject.parts) wanted.push_back(part.op);
      Profile profile;
      subject.loop(1);
      profile.stop();
      profile.each([&](const ProfileEvent& e) {
        if (e.kind == ProfileEvent::Kind::Op && (!e.is_outermost || wanted.front() == op))
          ran.emplace_back(e.name);
      });
      EXPECT_EQ(ran, wanted) << op;
    }
  }
}

TEST(Anatomy, RowsAddUpToTheTotal) {
  for (const std::string_view op : subject_names()) {
    const Anatomy anatomy = quick(std::string(op));
    double sum = 0, grad_sum = 0;
    for (const Anatomy::Row& row : anatomy.rows) {
      EXPECT_GE(row.ns, 0) << op << ' ' << row.layer;
      EXPECT_GE(row.grad_ns, 0) << op << ' ' << row.layer;
      sum += row.ns;
      grad_sum += row.grad_ns;
    }
    EXPECT_NEAR(sum, anatomy.total_ns, 2) << op;
    EXPECT_NEAR(grad_sum, anatomy.total_grad_ns, 2) << op;
    EXPECT_EQ(anatomy.kernels.size(), op == "t" ? 0u : 1u) << op;
    EXPECT_FALSE(anatomy.text({}).empty());
  }
}

TEST(Anatomy, AnUnknownOpIsAnErrorThatListsTheSupportedOnes) {
  try {
    static_cast<void>(quick("conv2d"));
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_NE(error.message().find("linear"), std::string::npos);
  }
}

}  // namespace
}  // namespace pel::inspect
