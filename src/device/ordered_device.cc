#include "device/ordered_device.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "base/check.h"
#include "base/environment.h"
#include "base/sort_stably.h"
#include "base/source_location.h"
#include "device/registry.h"
#include "device/sync.h"
#include "profile/device_span.h"

namespace pel {

using detail::StorageHeader;

OrderedDevice::OrderedDevice(Device device, std::unique_ptr<AsyncDevice> backend)
    : device_(device), backend_(std::move(backend)), blocks_(*backend_), staging_(*backend_) {}

OrderedDevice::StreamState& OrderedDevice::stream(std::uint8_t index) {
  StreamState& state = streams_[index];
  if (!state.exists) [[unlikely]] {
    state.handle = backend_->make_stream(index);
    state.exists = true;
  }
  return state;
}

// ---- Memory

bool OrderedDevice::is_ordered(const DeviceBlock& block, std::uint8_t index) const {
  bool all = true;
  block.each_use([&](const StreamUse& use) {
    all = all && (use.stream == index || is_past(streams_[index], use.stream, use.last()));
  });
  return all;
}

void OrderedDevice::refuse_over_limit(std::int64_t bytes) const {
  PEL_CHECK(limit_bytes_ == 0 || data_bytes_ + bytes <= limit_bytes_, MemoryError,
            "an allocation of {} bytes on {} would exceed the limit of {} bytes: {} are in use "
            "(set_memory_limit raises it)",
            bytes, to_string(device_), limit_bytes_, data_bytes_);
}

DeviceBlock* OrderedDevice::take_block(std::int64_t bytes, std::uint8_t index,
                                       std::unique_lock<std::mutex>& lock) {
  const auto ordered = [](const void* self, const DeviceBlock& block, std::uint8_t stream) {
    return static_cast<const OrderedDevice*>(self)->is_ordered(block, stream);
  };
  if (DeviceBlock* const block = blocks_.take(bytes, index, ordered, this)) return block;
  // Commands that use free blocks may still be queued: their segments can be given back after them. Other
  // threads may queue more meanwhile.
  DeviceBlock* block = nullptr;
  constexpr int kMaxTries = 8;
  for (int tries = 0; block == nullptr && tries < kMaxTries; ++tries) {
    lock.unlock();
    wait_for(kAllStreams, {"to give back memory before an allocation", waiting_site()});
    lock.lock();
    if (!is_idle()) continue;
    blocks_.release_free_segments();
    block = blocks_.take(bytes, index, ordered, this);
    break;
  }
  PEL_CHECK(
      block != nullptr, MemoryError,
      "the system could not allocate {} bytes for {}: {} are in use by tensors, and segments of {} bytes "
      "are held for them; free tensors, or pass smaller ones",
      bytes, to_string(device_), data_bytes_, blocks_.reserved_bytes());
  return block;
}

void OrderedDevice::allocate(StorageHeader& storage, std::int64_t bytes) {
  storage.flags |= StorageHeader::kOnDevice;
  storage.size_bytes = bytes;
  if (bytes == 0) return;
  const std::uint8_t index = current_stream_index(device_);
  std::unique_lock lock(mutex_);
  PEL_CHECK(bytes <= facts().max_segment_bytes, MemoryError,
            "cannot allocate {} bytes on {}: one allocation has {} bytes at most", bytes, to_string(device_),
            facts().max_segment_bytes);
  refuse_over_limit(bytes);
  DeviceBlock* const block = take_block(bytes, index, lock);
  data_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, data_bytes_);
  storage.data = block->address;
  storage.context = block;
  storage.release = [](StorageHeader& gone) noexcept { find_device(gone.device)->free_block(gone); };
}

void OrderedDevice::free_block(const StorageHeader& storage) noexcept {
  const std::lock_guard lock(mutex_);
  data_bytes_ -= storage.size_bytes;
  blocks_.give(block_of(storage));
}

void OrderedDevice::set_limit(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_bytes_ = std::max<std::int64_t>(bytes, 0);
}
void OrderedDevice::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_bytes_ = data_bytes_;
}

MemoryStats OrderedDevice::memory() {
  const std::lock_guard lock(mutex_);
  MemoryStats stats{};
  stats.data_bytes = data_bytes_;
  stats.peak_data_bytes = peak_bytes_;
  stats.cached_bytes = blocks_.reserved_bytes() - blocks_.used_bytes();
  stats.large_allocations = blocks_.asked();
  stats.large_reused = blocks_.reused();
  stats.limit_bytes = limit_bytes_;
  stats.cache_limit_bytes = -1;
  return stats;
}

void OrderedDevice::empty_cache(const Site& site) {
  wait_for(kAllStreams, {"to give back free memory", site});
  const std::lock_guard lock(mutex_);
  // Before the lock other threads may have queued commands that use blocks which are free now.
  if (is_idle()) blocks_.release_free_segments();
}

bool OrderedDevice::is_idle() const {
  return std::ranges::none_of(
      streams_, [&](const StreamState& each) { return each.exists && backend_->queued(each.handle) != 0; });
}

// ---- Commands

void OrderedDevice::order(std::uint8_t index, ArrayView<BlockUse> uses) {
  StreamState& mine = streams_[index];
  for (const BlockUse& use : uses) {
    use.block->each_use([&](const StreamUse& earlier) {
      if (earlier.stream == index) return;
      const std::uint64_t point = use.access == Access::Write ? earlier.last() : earlier.written;
      if (is_past(mine, earlier.stream, point)) return;
      const StreamState& other = streams_[earlier.stream];
      const EventHandle event = backend_->record(other.handle);
      backend_->wait(mine.handle, event);
      backend_->drop(event);
      mine.waited[earlier.stream] = other.queued;
      ++stats_.stream_waits;
    });
  }
}

template <class Add>
void OrderedDevice::queue(std::uint8_t index, ArrayView<BlockUse> uses, const Add& add) {
  StreamState& mine = stream(index);
  order(index, uses);
  while (!add(mine.handle)) [[unlikely]] {
    const std::uint64_t queued = backend_->queued(mine.handle);
    const WaitReason reason{"for space in the queue", waiting_site()};
    const profile::WaitSpan span(device_, index, reason.why, reason.site, queued);
    const auto began = std::chrono::steady_clock::now();
    backend_->wait_for_space(mine.handle);
    const std::chrono::nanoseconds lost = std::chrono::steady_clock::now() - began;
    note_wait(reason, static_cast<std::uint64_t>(lost.count()), queued);
  }
  ++mine.queued;
  for (const BlockUse& use : uses) {
    StreamUse& mark = use.block->use_by(index);
    (use.access == Access::Write ? mark.written : mark.read) = mine.queued;
  }
}

void OrderedDevice::launch(const DeviceLaunch& launch, ArrayView<BlockUse> uses) {
  const std::uint8_t index = current_stream_index(device_);
  profile::LaunchSpan span(device_, index, profile::kLaunchName);
  const std::lock_guard lock(mutex_);
  queue(index, uses, [&](StreamHandle stream) { return backend_->launch(stream, launch); });
  ++stats_.launches;
  if (span.is_recorded()) [[unlikely]]
    span.ready(backend_->queued(streams_[index].handle));
}

// A copy of a few bytes may end before the call that queues it. Its launch ends before it in a profile, so
// that it does not look like one that the call waited for.
void OrderedDevice::end_before_copy(profile::LaunchSpan& span, StreamHandle stream) {
  if (span.is_recorded()) [[unlikely]]
    span.ready(backend_->queued(stream) + 1);
}

void OrderedDevice::copy_in(std::byte* dst, DeviceBlock* block, const std::byte* src, std::int64_t bytes) {
  const std::lock_guard staging_lock(staging_mutex_);
  const std::uint8_t index = current_stream_index(device_);
  const BlockUse use{block, Access::Write};
  for (std::int64_t done = 0; done < bytes;) {
    const std::int64_t now = std::min(bytes - done, StagingRing::kMaxPiece);
    std::byte* pinned = nullptr;
    for (;;) {
      StagingRing::Oldest oldest{};
      {
        const std::lock_guard lock(mutex_);
        pinned = staging_.take(now);
        if (pinned != nullptr) break;
        oldest = staging_.oldest();
      }
      const WaitReason reason{"for staging memory of earlier copies", waiting_site()};
      const std::uint64_t queued = [&] {
        const std::lock_guard lock(mutex_);
        return backend_->queued(oldest.stream);
      }();
      const profile::WaitSpan span(device_, -1, reason.why, reason.site, queued);
      const auto began = std::chrono::steady_clock::now();
      backend_->wait(oldest.event);
      const std::chrono::nanoseconds lost = std::chrono::steady_clock::now() - began;
      const std::lock_guard lock(mutex_);
      note_wait(reason, static_cast<std::uint64_t>(lost.count()), queued);
    }
    std::memcpy(pinned, src + done, static_cast<std::size_t>(now));
    profile::LaunchSpan span(device_, index, profile::kCopyInName);
    const std::lock_guard lock(mutex_);
    queue(index, {use}, [&](StreamHandle stream) {
      end_before_copy(span, stream);
      return backend_->copy_in(stream, dst + done, pinned, now);
    });
    const StreamHandle stream = streams_[index].handle;
    staging_.use_until(stream, backend_->record(stream));
    ++stats_.copies_in;
    stats_.copied_in_bytes += static_cast<std::uint64_t>(now);
    done += now;
  }
}

void OrderedDevice::copy_out(std::byte* dst, const std::byte* src, DeviceBlock* block, std::int64_t bytes,
                             const WaitReason& reason) {
  check_may_wait(device_, reason);
  const std::lock_guard staging_lock(staging_mutex_);
  const std::uint8_t index = current_stream_index(device_);
  const BlockUse use{block, Access::Read};
  for (std::int64_t done = 0; done < bytes;) {
    const std::int64_t now = std::min(bytes - done, StagingRing::kMaxPiece);
    std::byte* pinned = nullptr;
    {
      const std::lock_guard lock(mutex_);
      pinned = staging_.take(now);
      if (pinned != nullptr) {
        profile::LaunchSpan span(device_, index, profile::kCopyOutName);
        queue(index, {use}, [&](StreamHandle stream) {
          end_before_copy(span, stream);
          return backend_->copy_out(stream, pinned, src + done, now);
        });
        const StreamHandle stream = streams_[index].handle;
        staging_.use_until(stream, backend_->record(stream));
        ++stats_.copies_out;
        stats_.copied_out_bytes += static_cast<std::uint64_t>(now);
      }
    }
    wait_for(pinned == nullptr ? kAllStreams : StreamMask{1} << index, reason);
    if (pinned == nullptr) continue;  // copies of other streams used the ring
    std::memcpy(dst + done, pinned, static_cast<std::size_t>(now));
    done += now;
  }
}

bool OrderedDevice::has_passed(const Events& events) {
  for (std::uint8_t i = 0; i < kMaxStreams; ++i)
    if ((events.streams >> i & 1) != 0 && !backend_->has_passed(events.handles[i])) return false;
  return true;
}

void OrderedDevice::keep_until_passed(std::shared_ptr<const void> code) {
  std::vector<Kept> passed;  // freed without the lock
  const std::lock_guard lock(mutex_);
  Kept& added = kept_.emplace_back(Kept{std::move(code), {}});
  for (std::uint8_t i = 0; i < kMaxStreams; ++i) {
    if (!streams_[i].exists) continue;
    added.until.handles[i] = backend_->record(streams_[i].handle);
    added.until.streams |= StreamMask{1} << i;
  }
  for (Kept& kept : kept_) {
    if (!has_passed(kept.until)) continue;
    for (std::uint8_t i = 0; i < kMaxStreams; ++i)
      if ((kept.until.streams >> i & 1) != 0) backend_->drop(kept.until.handles[i]);
    passed.push_back(std::move(kept));
  }
  std::erase_if(kept_, [](const Kept& kept) { return kept.code == nullptr; });
}

void OrderedDevice::begin_run(ReplayRun& run) {
  run.stream = current_stream_index(device_);
  const std::lock_guard lock(mutex_);
  // The first run prepares the kernels.
  run.is_whole = ++run.replay->runs > 1 && run.replay->refusal.empty();
}

void OrderedDevice::end_run(ReplayRun& run) {
  const std::lock_guard lock(mutex_);
  backend_->end_run(stream(run.stream).handle, run);
}

void OrderedDevice::abandon_run(ReplayRun& run) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    run.is_whole = false;
    backend_->end_run(stream(run.stream).handle, run);
  } catch (...) {  // the error that abandons the run is thrown
  }
}

std::pair<std::string, std::string> OrderedDevice::explain(const PlanReplay& replay) {
  const std::lock_guard lock(mutex_);
  if (!replay.state.empty()) return {replay.state, "captured in an earlier run"};
  if (!replay.refusal.empty()) return {"its kernels are launched one by one", replay.refusal};
  return {"its kernels are launched one by one", "they are captured in a later run: the first prepares them"};
}

void OrderedDevice::drop(std::vector<PreparedKernel>& kernels, PlanReplay* replay) noexcept {
  const std::lock_guard lock(mutex_);
  if (replay != nullptr) backend_->drop(*replay);
  for (PreparedKernel& kernel : kernels) kernel.drop(*backend_);
}

// ---- Waits

StreamMask OrderedDevice::users_of(const DeviceBlock& block, Access access) {
  const std::lock_guard lock(mutex_);
  StreamMask mask = 0;
  block.each_use([&](const StreamUse& use) {
    const std::uint64_t point = access == Access::Write ? use.last() : use.written;
    if (point > streams_[use.stream].passed) mask |= StreamMask{1} << use.stream;
  });
  return mask;
}

void OrderedDevice::note_wait(const WaitReason& reason, std::uint64_t ns, std::uint64_t queued) {
  ++stats_.waits;
  stats_.waited_ns += ns;
  const char* const file = reason.site.line() == 0 ? "" : reason.site.file_name();
  WaitCount& count = waits_[{std::string(reason.why), file, reason.site.line()}];
  count.site = reason.site;
  ++count.count;
  count.ns += ns;
  count.queued += queued;
}

// Their results may depend on a kernel of a stream that they have waited for.
StreamMask OrderedDevice::with_those_waited_for(StreamMask streams) const {
  for (StreamMask before = 0; before != streams;) {
    before = streams;
    for (std::uint8_t i = 0; i < kMaxStreams; ++i) {
      for (std::uint8_t other = 0; other < kMaxStreams; ++other)
        if ((before >> i & 1) != 0 && streams_[i].waited[other] != 0) streams |= StreamMask{1} << other;
    }
  }
  return streams;
}

void OrderedDevice::wait_for(StreamMask streams, const WaitReason& reason, Forbiddable forbiddable) {
  if (forbiddable == Forbiddable::Yes) check_may_wait(device_, reason);
  Events events;
  std::uint64_t queued = 0;
  {
    const std::lock_guard lock(mutex_);
    for (std::uint8_t i = 0; i < kMaxStreams; ++i) {
      if ((streams >> i & 1) == 0 || !streams_[i].exists) continue;
      queued += backend_->queued(streams_[i].handle);
      events.handles[i] = backend_->record(streams_[i].handle);
      events.points[i] = streams_[i].queued;
      events.streams |= StreamMask{1} << i;
    }
  }
  const bool is_one_stream = std::has_single_bit(streams);
  std::optional<profile::WaitSpan> span;
  if (profile::settings().session() != 0) [[unlikely]]
    span.emplace(device_, is_one_stream ? std::countr_zero(streams) : -1, reason.why, reason.site, queued);
  const auto began = std::chrono::steady_clock::now();
  for (std::uint8_t i = 0; i < kMaxStreams; ++i)
    if ((events.streams >> i & 1) != 0) backend_->wait(events.handles[i]);
  const std::chrono::nanoseconds lost = std::chrono::steady_clock::now() - began;
  span.reset();
  std::optional<LateError> late;
  {
    const std::lock_guard lock(mutex_);
    note_wait(reason, static_cast<std::uint64_t>(lost.count()), queued);
    const StreamMask depended_on = with_those_waited_for(events.streams);
    for (std::uint8_t i = 0; i < kMaxStreams; ++i) {
      if ((events.streams >> i & 1) != 0) {
        backend_->drop(events.handles[i]);
        streams_[i].passed = std::max(streams_[i].passed, events.points[i]);
      }
      if ((depended_on >> i & 1) != 0 && !late) late = backend_->take_error(streams_[i].handle);
    }
    if (late) ++stats_.late_errors;
  }
  if (!late) return;
  try {
    std::rethrow_exception(late->error);
  } catch (Error& error) {
    error.make_late(late->op_name, late->site);
    throw;
  }
}

void OrderedDevice::drain() {
  if (!facts().refusal.empty()) return;
  Events events;
  {
    const std::lock_guard lock(mutex_);
    for (std::uint8_t i = 0; i < kMaxStreams; ++i) {
      if (!streams_[i].exists) continue;
      events.handles[i] = backend_->record(streams_[i].handle);
      events.streams |= StreamMask{1} << i;
    }
  }
  for (std::uint8_t i = 0; i < kMaxStreams; ++i)
    if ((events.streams >> i & 1) != 0) backend_->wait(events.handles[i]);
  const std::lock_guard lock(mutex_);
  for (std::uint8_t i = 0; i < kMaxStreams; ++i)
    if ((events.streams >> i & 1) != 0) backend_->drop(events.handles[i]);
  backend_->write_times();
}

DeviceStats OrderedDevice::stats() {
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::vector<DeviceWait> OrderedDevice::waits() {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceWait> rows;
  for (const auto& [key, count] : waits_)
    rows.push_back({std::get<0>(key), count.site, count.count, count.ns, count.queued});
  sort_stably(rows, [](const DeviceWait& a, const DeviceWait& b) { return a.waited_ns > b.waited_ns; });
  return rows;
}

void OrderedDevice::reset_stats() {
  const std::lock_guard lock(mutex_);
  stats_ = {};
  waits_.clear();
  fallbacks_.clear();
}

void OrderedDevice::note_fallback(std::string_view op_name, const Site& site, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  const char* const file = site.line() == 0 ? "" : site.file_name();
  DeviceFallback& fallback = fallbacks_[{std::string(op_name), file, site.line()}];
  if (fallback.count++ != 0) return;
  fallback.op = op_name;
  fallback.site = site;
  fallback.reason = reason;
  log_line(to_string(device_),
           fmt::format("{}{}{} runs on the CPU, with copies there and back: {}", op_name,
                       site.line() == 0 ? "" : " at ", site.line() == 0 ? "" : short_location(site), reason));
}

std::vector<DeviceFallback> OrderedDevice::fallbacks() {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceFallback> rows;
  for (const auto& [key, fallback] : fallbacks_) rows.push_back(fallback);
  sort_stably(rows, [](const DeviceFallback& a, const DeviceFallback& b) { return a.count > b.count; });
  return rows;
}

}  // namespace pel
