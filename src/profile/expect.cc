// Expectations about the kernels that run.
#include "pellucid/expect.h"

#include <algorithm>

#include <fmt/format.h>

#include "pellucid/profile.h"

#include "base/check.h"
#include "base/expectation.h"
#include "base/source_location.h"
#include "profile/recorder.h"

namespace pel {
namespace {

const std::vector<std::string_view> kQuantities = {
    "kernels", "gemm",  "convolution", "attention", "pointwise", "reduction", "copy",
    "random",  "other", "copies",      "syncs",     "bytes",     "flops"};

struct Launch {
  std::string name;
  std::string_view family;
  const char* op;
  Site site;
  std::uint64_t bytes, flops;
};

struct Seen {
  std::vector<Launch> launches;
  std::vector<std::string> syncs;  // the op, and where
};

Seen watch(const std::function<void()>& f) {
  PEL_CHECK(!is_profiling(), ValueError,
            "an expectation records a Profile of its own, and another is recording; stop it first");
  Profile recorded;
  f();
  const std::uint32_t here = profile::thread_number();
  Seen seen;
  recorded.each([&](const ProfileEvent& e) {
    if (e.thread != here) return;
    if (e.kind == ProfileEvent::Kind::Kernel) {
      const Op* op = find_op(e.op);
      seen.launches.push_back({e.name, op == nullptr ? "other" : family(*op), e.op, e.site,
                               e.bytes_read + e.bytes_written, e.flops});
    } else if (e.is_sync) {
      seen.syncs.push_back(fmt::format("{} at {}:{}", e.name, e.site.file_name(), e.site.line()));
    }
  });
  PEL_CHECK(recorded.dropped() == 0, ValueError,
            "{} events did not fit into the profile of this expectation; run less at once",
            recorded.dropped());
  return seen;
}

double amount(const Seen& seen, const Condition& condition) {
  const auto count = [&](auto&& is_meant) {
    return static_cast<double>(std::ranges::count_if(seen.launches, is_meant));
  };
  const std::string& what = condition.quantity;
  if (condition.is_quoted) {
    return count([&](const Launch& l) {
      return l.name.find(what) != std::string::npos || std::string_view(l.op).find(what) != std::string::npos;
    });
  }
  if (what == "kernels") return static_cast<double>(seen.launches.size());
  if (what == "syncs") return static_cast<double>(seen.syncs.size());
  if (what == "bytes" || what == "flops") {
    double sum = 0;
    for (const Launch& l : seen.launches) sum += static_cast<double>(what == "bytes" ? l.bytes : l.flops);
    return sum;
  }
  const std::string_view wanted = what == "copies" ? "copy" : std::string_view(what);
  return count([&](const Launch& l) { return l.family == wanted; });
}

// Two columns: conditions with the amounts found; launches.
std::string side_by_side(const std::vector<Condition>& conditions, const Seen& seen) {
  std::vector<std::string> left, right;
  left.push_back(fmt::format("{:<22} {:>9}", "expected", "seen"));
  for (const Condition& c : conditions) {
    const double found = amount(seen, c);
    left.push_back(fmt::format("{:<22} {:>9} {}", c.text, found, c.holds(found) ? "" : "✗"));
  }
  right.emplace_back("launched");
  constexpr std::size_t kMaxLines = 40;
  for (std::size_t i = 0; i < seen.launches.size(); ++i) {
    const Launch& l = seen.launches[i];
    if (i == kMaxLines) {
      right.push_back(fmt::format("    and {} more", seen.launches.size() - i));
      break;
    }
    right.push_back(
        fmt::format("{:>3} {:<11} {:<12} {}  {}", i + 1, l.family, l.op, short_location(l.site), l.name));
  }
  for (const std::string& sync : seen.syncs) right.push_back("    read back: " + sync);
  std::string text;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string_view mark = i < left.size() && left[i].ends_with("✗") ? "✗" : " ";
    std::string first = i < left.size() ? left[i].substr(0, 32) : "";
    first.resize(32, ' ');
    text += fmt::format("\n  {} {} │ {}", first, mark, i < right.size() ? right[i] : "");
  }
  return text + "\n ";
}

}  // namespace

void expect(std::string_view conditions, const std::function<void()>& f, Site site) {
  try {
    const std::vector<Condition> wanted = parse_conditions(conditions);
    check_quantities(wanted, kQuantities);
    const Seen seen = watch(f);
    const auto failed =
        std::ranges::count_if(wanted, [&](const Condition& c) { return !c.holds(amount(seen, c)); });
    if (failed == 0) return;
    throw ExpectationError(fmt::format("{} of {} conditions {} not hold{}", failed, wanted.size(),
                                       failed == 1 ? "does" : "do", side_by_side(wanted, seen)));
  } catch (Error& error) {
    if (error.site().line() == 0) error.leave_call("expect", site);
    throw;
  }
}

void expect_kernels(int count, const std::function<void()>& f, Site site) {
  expect(fmt::format("kernels == {}", count), f, site);
}

}  // namespace pel
