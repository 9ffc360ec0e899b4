#include "profile/piece_span.h"

#include "profile/recorder.h"

namespace pel::profile {
namespace {

const void* loop_caller() {
  thread_state.loop_session = settings().session();
  thread_number();  // so that it has one
  return &thread_state;
}

// On any thread. The caller waits for the piece, so its state can be read: it writes none of these fields
// before the loop has ended.
void write_piece(const void* caller_state, std::uint64_t began, std::int64_t begin, std::int64_t end) {
  const auto& caller = *static_cast<const ThreadState*>(caller_state);
  const std::uint32_t session = caller.loop_session;
  if (session == 0 || settings().session() != session) return;
  const std::uint64_t now = ticks();
  if (&caller != &thread_state) thread_state.has_small_chunks = true;
  std::uint64_t* const to = take(session);
  if (to == nullptr) return;
  std::uint64_t* const after = to + kWordsOf<PieceRecord>;
  auto& record = new_record<PieceRecord>(to, after, ProfileEvent::Kind::Piece);
  record.begin = began;
  record.end = now;
  record.name = caller.kernel == nullptr ? "loop" : caller.kernel;
  record.site = caller.site;
  record.first_element = begin;
  record.end_element = end;
  record.caller_thread = caller.number_plus_one - 1;
  commit(after);
}

}  // namespace

constinit const pel::detail::PieceTracer kPieceTracer = {loop_caller, ticks, write_piece};

}  // namespace pel::profile
