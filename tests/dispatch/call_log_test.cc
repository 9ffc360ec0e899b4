// PELLUCID_LOG=dispatch: the lines that calls are logged with.
#include <regex>

#include <gtest/gtest.h>

#include "pellucid/extend/keys.h"
#include "pellucid/pellucid.h"

namespace pel {
namespace {

// The log of `f`, with lines of the library's files as N.
template <class F>
std::string log_of(const F& f) {
  sum(ones({2}));  // wires the runtime
  detail::process_keys.fetch_or(detail::kLogged);
  testing::internal::CaptureStderr();
  f();
  detail::process_keys.fetch_and(static_cast<std::uint16_t>(~detail::kLogged));
  const std::string text = testing::internal::GetCapturedStderr();
  return std::regex_replace(text, std::regex("from ([a-z_]+[.]cc):[0-9]+"), "from $1:N");
}
std::string line(const Site& site) { return "call_log_test.cc:" + std::to_string(site.line()); }

TEST(CallLog, ANestedCallCitesTheUsersLineFirst) {
  const Tensor x = ones({3, 4}).t();
  Site here;
  const std::string log = log_of([&] { here = Site::current(), x.contiguous(); });
  const std::string at = "at " + line(here);
  EXPECT_NE(log.find("[dispatch] contiguous(self=f32[4, 3]) keys Backend -> composite  " + at + "\n"),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("kernel cpu_copy_strided  " + at + " contiguous > clone, from contiguous.cc:N\n"),
            std::string::npos)
      << log;
}

TEST(CallLog, ACallOfBackwardCitesBothLines) {
  const Tensor x = ones({2}).requires_grad_();
  const Site forward = Site::current();
  const Tensor loss = sum(exp(x));
  Site here;
  const std::string log = log_of([&] { here = Site::current(), loss.backward(); });
  EXPECT_NE(log.find("at " + line(here) + " backward > mul, gradient of exp at call_log_test.cc:" +
                     std::to_string(forward.line() + 1) + ", from exp.cc:N\n"),
            std::string::npos)
      << log;
}

TEST(CallLog, ACallInAModuleNamesIt) {
  const NoGrad no_grad;
  const nn::GEGLU mlp(4, 8);
  const Tensor x = ones({3, 4});
  Site here;
  const std::string log = log_of([&] { here = Site::current(), mlp(x); });
  EXPECT_NE(log.find("at " + line(here) + " linear > matmul > mm, in up, from matmul.cc:N\n"),
            std::string::npos)
      << log;
}

}  // namespace
}  // namespace pel
