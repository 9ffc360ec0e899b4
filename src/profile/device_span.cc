#include "profile/device_span.h"

#include "pellucid/extend/op.h"

#include "base/thread_object.h"
#include "profile/deferred_record.h"

namespace pel::profile {
namespace {

constinit std::atomic<std::uint64_t> last_correlation{0};

std::uint64_t current_op_id() { return thread_state.op_span == nullptr ? 0 : thread_state.op_span->id(); }

// Fills what all of them have.
void fill_device_record(DeviceRecord& record, std::uint64_t begin, std::uint64_t end, const char* name,
                        const Site& site, std::uint64_t op_id, const DeviceSpot& spot, std::uint64_t amount) {
  record.begin = begin;
  record.end = end;
  record.name = name;
  record.site = site;
  record.op_id = op_id;
  record.spot = spot;
  record.amount = amount;
}

// Writes one; `refusals` words follow.
void write_device_record(ProfileEvent::Kind kind, std::uint32_t session, std::uint64_t begin,
                         std::uint64_t end, const char* name, const Site& site, std::uint64_t op_id,
                         const DeviceSpot& spot, std::uint64_t amount) {
  std::uint64_t* const to = take(session);
  if (to == nullptr) return;
  std::uint64_t* next = to + kWordsOf<DeviceRecord>;
  const std::uint32_t refusals = kind == ProfileEvent::Kind::Launch ? thread_state.refusal_count : 0;
  for (std::uint32_t i = 0; i < refusals; ++i, next += 2)
    new (next) ProfileEvent::Refusal(thread_object<Refusals>()[i]);
  auto& record = new_record<DeviceRecord>(to, next, kind);
  record.header.refusals = static_cast<std::uint8_t>(refusals);
  fill_device_record(record, begin, end, name, site, op_id, spot, amount);
  commit(next);
}

}  // namespace

DeviceSpot spot_of(Device device, int stream, const LaunchOrigin& origin) {
  return {origin.correlation,
          origin.thread,
          static_cast<std::uint8_t>(device.type),
          device.index,
          static_cast<std::int8_t>(stream),
          0};
}

void LaunchSpan::begin(Device device, int stream, const char* name) {
  span_.start(settings());
  if (span_.session == 0) {  // it has ended meanwhile
    --thread_state.depth;
    return;
  }
  device_ = device;
  stream_ = stream;
  name_ = name;
  origin_ = {span_.session, thread_number(), last_correlation.fetch_add(1, std::memory_order_relaxed) + 1,
             current_op_id()};
  thread_state.launch = &origin_;
}

void LaunchSpan::end() {
  thread_state.launch = nullptr;
  if (!span_.finish() || end_ == 0) return;
  write_device_record(ProfileEvent::Kind::Launch, span_.session, span_.begin, end_, name_, thread_state.site,
                      origin_.op_id, spot_of(device_, stream_, origin_), queued_);
}

WaitSpan::WaitSpan(Device device, int stream, std::string_view why, const Site& site, std::uint64_t queued) {
  const Settings now = settings();
  if (now.session() == 0) [[likely]]
    return;
  device_ = device;
  stream_ = stream;
  why_ = interned(why);
  site_ = site;
  queued_ = queued;
  span_.start(now);
}

WaitSpan::~WaitSpan() {
  if (span_.session == 0) [[likely]]
    return;
  const std::uint64_t end = ticks();
  if (!span_.finish()) return;
  write_device_record(ProfileEvent::Kind::Sync, span_.session, span_.begin, end, why_, site_, current_op_id(),
                      spot_of(device_, stream_, {span_.session, thread_number(), 0, 0}), queued_);
}

void write_copy(Stream stream, const char* name, std::int64_t bytes, std::uint64_t begin,
                const LaunchOrigin& origin, const Site& site) {
  const std::uint64_t end = ticks();
  const std::uint32_t session = settings().session();
  if (session == 0) return;
  const LaunchOrigin known = origin.session == session ? origin : LaunchOrigin{};
  write_device_record(ProfileEvent::Kind::Copy, session, begin, end, name, site, known.op_id,
                      spot_of(stream.device(), stream.index(), known), static_cast<std::uint64_t>(bytes));
}

DeferredRecord deferred_copy(Stream stream, const char* name, std::int64_t bytes, const LaunchOrigin& origin,
                             const Site& site) {
  DeferredRecord made{settings().session(), std::vector<std::uint64_t>(kWordsOf<DeviceRecord>)};
  const LaunchOrigin known = origin.session == made.session ? origin : LaunchOrigin{};
  auto& record = new_record<DeviceRecord>(made.words.data(), made.words.data() + made.words.size(),
                                          ProfileEvent::Kind::Copy);
  record.header.depth = 0;
  fill_device_record(record, 0, 0, name, site, known.op_id, spot_of(stream.device(), stream.index(), known),
                     static_cast<std::uint64_t>(bytes));
  return made;
}

void write_deferred(DeferredRecord& deferred, std::uint64_t begin, std::uint64_t end) {
  if (settings().session() != deferred.session) return;
  std::uint64_t* const to = take(deferred.session);
  if (to == nullptr) return;
  std::memcpy(to, deferred.words.data(), deferred.words.size() * sizeof(std::uint64_t));
  if (static_cast<ProfileEvent::Kind>(reinterpret_cast<const Header*>(to)->kind) ==
      ProfileEvent::Kind::Kernel) {
    auto& record = *reinterpret_cast<KernelRecord*>(to);
    record.begin = begin;
    record.end = end;
  } else {
    auto& record = *reinterpret_cast<DeviceRecord*>(to);
    record.begin = begin;
    record.end = end;
  }
  commit(to + deferred.words.size());
}

}  // namespace pel::profile
