#include "distributed/call.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/checksum.h"
#include "base/environment.h"
#include "distributed/environment.h"
#include "profile/collective_note.h"
#include "profile/recorder.h"

namespace pel::dist {
namespace {

using State = Group::State;

constexpr std::size_t kTextBytes = 512;  // of a call in words, with its line

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

bool is_between_two(Collective op) { return op == Collective::Send || op == Collective::Recv; }

Announcement announcement_of(const PastCall& past) {
  Announcement a;
  a.number = past.number;
  a.op = past.op;
  a.dtype = static_cast<std::uint8_t>(past.dtype);
  a.axes = static_cast<std::uint8_t>(past.sizes.size());
  a.elements = 1;
  for (const std::int64_t size : past.sizes) {
    a.elements *= static_cast<std::uint64_t>(size);
    a.sizes_hash = (a.sizes_hash ^ static_cast<std::uint64_t>(size)) * 0x9e3779b97f4a7c15u;
  }
  a.line_hash = past.site.line();
  for (const char* c = past.site.file_name(); *c != '\0'; ++c)
    a.line_hash = (a.line_hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3u;
  if (past.op == Collective::Broadcast) a.root = past.peer;
  return a;
}

// "all_reduce f32[2000], 17th of group world"
std::string numbered(const State& group, const PastCall& past) {
  return fmt::format("{}, {} {} group {}", past.call(), ordinal(past.number),
                     is_between_two(past.op) ? "between the two in" : "of", group.name);
}

std::string text_of(const LostRanks& lost, const State& group, const PastCall& past) {
  const std::string ranks =
      fmt::format("rank{} {}", lost.ranks.size() == 1 ? "" : "s", fmt::join(lost.ranks, ", "));
  const std::string call =
      fmt::format("{}, called at {} on rank {}", numbered(group, past), past.line(), group.rank);
  switch (lost.why) {
    case LostRanks::Why::Died:
      return fmt::format("{} {} died and did not come to {}", ranks, lost.ranks.size() == 1 ? "has" : "have",
                         call);
    case LostRanks::Why::Left:
      return fmt::format("{} ended without coming to {}", ranks, call);
    case LostRanks::Why::Late:
      break;
  }
  return fmt::format("{} did not come within {} s (PELLUCID_COMM_TIMEOUT) to {}", ranks, timeout_seconds(),
                     call);
}

void print_recent(const State& group) {
  const std::vector<std::string> lines = group.recent_lines();
  log_line("distributed", fmt::format("rank {} of group {}, its last {} calls, oldest first:", group.rank,
                                      group.name, lines.size()));
  for (const std::string& line : lines) log_line("distributed", line);
}

PastCall& note_call(State& group, Collective op, const Operand& operand, int peer) {
  PastCall& past = group.recent[group.noted++ % State::kRecent];
  past.op = op;
  past.dtype = static_cast<DType>(operand.dtype);
  past.sizes.assign(operand.sizes, operand.sizes + operand.rank);
  past.peer = peer;
  past.site = profile::thread_state.site;
  past.lines_differ = false;
  past.begin_ns = now_ns();
  past.end_ns = 0;
  const auto other = static_cast<std::size_t>(peer);
  past.number = op == Collective::Send   ? ++group.sent[other]
                : op == Collective::Recv ? ++group.received[other]
                                         : ++group.calls;
  const char* const op_name =
      dist::name(op).data();  // NOLINT(bugprone-suspicious-stringview-data-usage): a literal
  profile::note_collective(
      {op_name, group.interned_name, past.number, static_cast<std::uint64_t>(group.size)});
  return past;
}

}  // namespace

Call::Call(State& group, PastCall& past)
    : group_(group), engine_(*group.engine), past_(past), mine_(announcement_of(past)) {
  mine_.segment = ~std::uint64_t{0};  // the first one has the number 0
}

const Announcement& Call::next() {
  ++mine_.segment;
  return mine_;
}

ArrayView<Part> Call::checked(ArrayView<Part> parts) {
  for (const Part& part : parts) {
    if (!part.announcement->matches(mine_)) [[unlikely]]
      throw_mismatch();
    past_.lines_differ = past_.lines_differ || part.announcement->line_hash != mine_.line_hash;
  }
  return parts;
}

// Every rank has seen the same announcements, so all of them come here, exchange their calls in words, and
// find the same text.
void Call::throw_mismatch() {
  struct Words {
    Announcement announcement;
    char call[kTextBytes / 2], line[kTextBytes / 2];
  };
  Words mine{};
  mine.announcement = mine_;
  const auto copy = [](char(&to)[kTextBytes / 2], const std::string& from) {
    from.copy(to, std::min(from.size(), std::size(to) - 1));
  };
  copy(mine.call, past_.call());
  copy(mine.line, past_.line());
  std::memcpy(engine_.outgoing(), &mine, sizeof(mine));
  std::vector<Words> all;
  for (const Part& part : engine_.all_gather(mine_, sizeof(mine))) {
    Words& words = all.emplace_back();
    std::memcpy(&words, part.data, sizeof(words));
  }
  const auto other = std::ranges::find_if(
      all, [&](const Words& words) { return !words.announcement.matches(all[0].announcement); });
  PEL_ASSERT(other != all.end(), "some rank differs from rank 0");
  throw CommunicationError(fmt::format("{}, {} of group {}, called at {} on rank {}; rank 0 calls {}{} at {}",
                                       other->call, ordinal(other->announcement.number), group_.name,
                                       other->line, other - all.begin(), all[0].call,
                                       all[0].announcement.number == other->announcement.number
                                           ? ""
                                           : fmt::format(", {}", ordinal(all[0].announcement.number)),
                                       all[0].line));
}

// Only the receiver sees both announcements; the sender learns of an error by give_up.
const std::byte* Call::incoming() {
  const Announcement& wanted = next();
  const Part part = engine_.incoming(past_.peer);
  Announcement given = *part.announcement;
  given.op = wanted.op;
  PEL_CHECK(
      given.matches(wanted), CommunicationError,
      "{}, called at {} on rank {}: rank {} has sent {} elements of {}, with the number {}; both sides need "
      "the same dtype and sizes",
      numbered(group_, past_), past_.line(), group_.rank, past_.peer, given.elements,
      name(static_cast<DType>(given.dtype)), given.number);
  return part.data;
}

void note_alone(State& group, Collective op, const Operand& operand, int peer) {
  const std::lock_guard lock(group.mutex);
  PastCall& past = note_call(group, op, operand, peer);
  past.end_ns = past.begin_ns;
}

void run_call(State& group, Collective op, const Operand& operand, int peer,
              FunctionRef<void(Call& call)> body) {
  const std::lock_guard lock(group.mutex);
  PEL_CHECK(group.failure.empty(), CommunicationError, "the group {} has failed before: {}", group.name,
            group.failure);
  PastCall& past = note_call(group, op, operand, peer);
  const auto fail = [&](std::string text, bool tells_others) {
    group.failure = std::move(text);
    if (tells_others) group.engine->give_up(group.failure);
    print_recent(group);
    throw CommunicationError(group.failure);
  };
  try {
    Call call(group, past);
    body(call);
  } catch (const LostRanks& lost) {
    fail(text_of(lost, group, past), true);
  } catch (const GroupGivenUp& given_up) {
    fail(given_up.text, false);
  } catch (const CommunicationError& error) {
    fail(error.message(), true);
  }
  past.end_ns = now_ns();
}

}  // namespace pel::dist
