#include "distributed/group.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pellucid/profile.h"

#include "base/check.h"
#include "base/file_name.h"
#include "distributed/environment.h"
#include "distributed/shared_memory.h"
#include "profile/rank_identity.h"

namespace pel::dist {
namespace {

using State = Group::State;

// All groups, for as long as the process lives. Engines end with it, and tell the other ranks so.
struct Groups {
  std::mutex mutex;
  std::vector<std::unique_ptr<State>> all;  // the world first
  std::string job;
  double timeout = 120;
  int local_rank = 0;
};
Groups& groups() {
  static Groups instance;
  return instance;
}

void open_engine(Groups& in, State& group) {
  group.interned_name = interned(group.name);
  group.sent.resize(static_cast<std::size_t>(group.size));
  group.received.resize(static_cast<std::size_t>(group.size));
  if (group.size == 1 || group.rank < 0) return;
  try {
    group.engine = make_shared_memory_engine(fmt::format("{}#{}", in.job, group.number), group.rank,
                                             group.size, in.timeout);
  } catch (const LostRanks& lost) {
    throw CommunicationError(
        lost.why == LostRanks::Why::Died
            ? fmt::format("rank 0 of group {} died while the ranks started", group.name)
            : fmt::format(
                  "rank{} {} of group {} did not come within {} s (PELLUCID_COMM_TIMEOUT): is {} started "
                  "on this machine?",
                  lost.ranks.size() == 1 ? "" : "s", fmt::join(lost.ranks, ", "), group.name, in.timeout,
                  lost.ranks.size() == 1 ? "it" : "each of them"));
  }
}

State& add_world(Groups& in, const LaunchedAs& launched) {
  auto made = std::make_unique<State>();
  made->name = "world";
  made->rank = launched.rank;
  made->size = launched.size;
  open_engine(in, *made);
  in.all.push_back(std::move(made));
  return *in.all.back();
}

State& joined_world(Groups& in) {
  if (!in.all.empty()) return *in.all[0];
  const LaunchedAs launched = launched_as();
  PEL_CHECK(
      launched.is_on_one_machine, CommunicationError,
      "{} has started the {} ranks of this job on several machines: shared memory, the only engine so far, "
      "joins the ranks of one machine",
      launched.launcher, launched.size);
  in.job = launched.job;
  in.timeout = timeout_seconds();
  in.local_rank = launched.local_rank;
  State& world = add_world(in, launched);
  if (launched.size > 1) profile::set_rank_identity({launched.rank, launched.size});
  return world;
}

// For ops and for world(), which do not wait for other processes unless init() was called.
State& known_world(Groups& in) {
  if (!in.all.empty()) return *in.all[0];
  const LaunchedAs launched = launched_as();
  PEL_CHECK(launched.size == 1, CommunicationError,
            "{} has started this process as rank {} of {}: call pel::dist::init() before collectives",
            launched.launcher, launched.rank, launched.size);
  return joined_world(in);
}

State& find(Groups& in, std::string_view name) {
  if (name == "world") return known_world(in);
  const auto found =
      std::ranges::find(in.all, name, [](const auto& group) -> std::string_view { return group->name; });
  PEL_CHECK(found != in.all.end(), ValueError, "there is no group {}: make it by pel::dist::new_group", name);
  return **found;
}

}  // namespace

std::string PastCall::line() const {
  return site.line() == 0 ? "an unknown line"
                          : fmt::format("{}:{}", file_name(site.file_name()), site.line());
}

std::vector<std::string> State::recent_lines() const {
  std::vector<std::string> lines;
  for (std::uint64_t i = noted - std::min<std::uint64_t>(noted, kRecent); i < noted; ++i) {
    const PastCall& past = recent[i % kRecent];
    lines.push_back(fmt::format("{} {} at {}{}{}", past.number, past.call(), past.line(),
                                past.lines_differ ? ", from other lines on other ranks" : "",
                                past.end_ns == 0
                                    ? ", did not end"
                                    : fmt::format(", {} us", (past.end_ns - past.begin_ns + 500) / 1000)));
  }
  return lines;
}

State& group_named(std::string_view name) {
  Groups& in = groups();
  const std::lock_guard lock(in.mutex);
  State& group = find(in, name);
  PEL_CHECK(group.rank >= 0, ValueError, "this process is not in the group {}", name);
  return group;
}
State& group_numbered(std::int64_t number) {
  Groups& in = groups();
  const std::lock_guard lock(in.mutex);
  if (number == 0) return known_world(in);
  PEL_CHECK(number > 0 && number < static_cast<std::int64_t>(in.all.size()), ValueError,
            "there is no group number {} in this process", number);
  return *in.all[static_cast<std::size_t>(number)];
}

const std::string& Group::name() const { return state_->name; }
int Group::rank() const { return state_->rank; }
int Group::size() const { return state_->size; }
std::string_view Group::engine() const { return state_->engine ? state_->engine->name() : "none"; }
std::vector<std::string> Group::recent() const {
  const std::lock_guard lock(state_->mutex);
  return state_->recent_lines();
}

Group init(Site site) {
  return as_call("dist::init", site, [] {
    Groups& in = groups();
    const std::lock_guard lock(in.mutex);
    return Group(joined_world(in));
  });
}

Group world(Site site) {
  return as_call("dist::world", site, [] {
    Groups& in = groups();
    const std::lock_guard lock(in.mutex);
    return Group(known_world(in));
  });
}

int local_rank() {
  Groups& in = groups();
  const std::lock_guard lock(in.mutex);
  known_world(in);
  return in.local_rank;
}

Group new_group(std::string_view name, ArrayView<int> ranks, Site site) {
  return as_call("dist::new_group", site, [&] {
    Groups& in = groups();
    const std::lock_guard lock(in.mutex);
    const State& world = known_world(in);
    PEL_CHECK(!name.empty() && std::ranges::none_of(in.all, [&](const auto& g) { return g->name == name; }),
              ValueError, "a group needs a name that no other has; got \"{}\"", name);
    PEL_CHECK(!ranks.empty() && std::ranges::adjacent_find(ranks, std::greater_equal<>()) == ranks.end() &&
                  *ranks.begin() >= 0 && *(ranks.end() - 1) < world.size,
              ValueError, "the ranks of a group are given in ascending order, from 0 to {}; got [{}]",
              world.size - 1, fmt::join(ranks, ", "));
    auto made = std::make_unique<State>();
    made->name = name;
    made->number = static_cast<int>(in.all.size());
    made->size = static_cast<int>(ranks.size());
    const auto own = std::ranges::find(ranks, world.rank);
    made->rank = own == ranks.end() ? -1 : static_cast<int>(own - ranks.begin());
    open_engine(in, *made);
    in.all.push_back(std::move(made));
    return Group(*in.all.back());
  });
}

}  // namespace pel::dist
