#include "device/sync.h"

#include "base/check.h"
#include "base/source_location.h"
#include "base/thread_object.h"
#include "device/registry.h"
#include "profile/recorder.h"

namespace pel {

DeviceThread& device_thread() { return thread_object<DeviceThread>(); }

Site waiting_site(const Site& site) {
  const Site& of_call = profile::thread_state.site;
  return of_call.line() != 0 ? of_call : site;
}

void check_may_wait(Device device, const WaitReason& reason) {
  const Site& forbidding = device_thread().forbids_waits;
  PEL_CHECK(
      forbidding.line() == 0, SyncError,
      "the call waits for {} {}, which ForbidSync at {} forbids; move the call out of its scope, or avoid "
      "the wait",
      to_string(device), reason.why, short_location(forbidding));
}

ForbidSync::ForbidSync(Site site) : before_(device_thread().forbids_waits) {
  device_thread().forbids_waits = site.line() != 0 ? site : Site::current();
}
ForbidSync::~ForbidSync() { device_thread().forbids_waits = before_; }

Stream current_stream(Device device) { return Stream(device, current_stream_index(device)); }

StreamScope::StreamScope(Stream stream, Site site) : before_(current_stream(stream.device())) {
  as_call("StreamScope", site, [&] {
    const int count = is_asynchronous(stream.device()) ? kMaxStreams : 1;
    if (count > 1) static_cast<void>(device_of(stream.device()));  // throws if it cannot be used
    PEL_CHECK(stream.index() < count, ValueError, "{} has streams 0 to {}, not {}",
              to_string(stream.device()), count - 1, stream.index());
  });
  device_thread().current_stream[static_cast<int>(stream.device().type)] =
      static_cast<std::uint8_t>(stream.index());
}
StreamScope::~StreamScope() {
  device_thread().current_stream[static_cast<int>(before_.device().type)] =
      static_cast<std::uint8_t>(before_.index());
}

void synchronize(Device device, Site site) {
  if (!is_asynchronous(device)) return;
  as_call("synchronize", site,
          [&] { device_of(device).wait_for(kAllStreams, {"in synchronize", waiting_site(site)}); });
}

void synchronize(Stream stream, Site site) {
  if (!is_asynchronous(stream.device())) return;
  as_call("synchronize", site, [&] {
    device_of(stream.device())
        .wait_for(StreamMask{1} << stream.index(), {"in synchronize", waiting_site(site)});
  });
}

}  // namespace pel
