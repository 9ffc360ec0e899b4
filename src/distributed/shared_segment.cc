#include "distributed/shared_segment.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/checksum.h"
#include "distributed/engine.h"

namespace pel::dist {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kPage = 4096;
constexpr auto kRetry = std::chrono::milliseconds(2);  // while ranks start

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

SharedSegment::SharedSegment(std::string_view job, int rank, int size, double timeout_seconds)
    : name_(fmt::format("/pellucid_{}_{:016x}", getuid(), checksum(job))), rank_(rank), size_(size) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(timeout_seconds));
  while (!(rank_ == 0 ? create() : open())) {
    if (Clock::now() > deadline) throw LostRanks(LostRanks::Why::Late, {0});
    std::this_thread::sleep_for(kRetry);
  }
  try {
    map();
    if (rank_ == 0) {
      header().ready_for.store(static_cast<std::uint32_t>(size_), std::memory_order_release);
    } else {
      while (header().ready_for.load(std::memory_order_acquire) == 0) {
        if (Clock::now() > deadline || !is_alive(0)) throw LostRanks(LostRanks::Why::Late, {0});
        std::this_thread::sleep_for(kRetry);
      }
    }
    PEL_CHECK(header().ready_for.load() == static_cast<std::uint32_t>(size_), CommunicationError,
              "rank {} was started as one of {} ranks, and rank 0 as one of {}", rank_, size_,
              header().ready_for.load());
    arrived(rank_).value.store(1, std::memory_order_release);
    for (std::vector<int> late = missing(); !late.empty(); late = missing()) {
      if (Clock::now() > deadline) throw LostRanks(LostRanks::Why::Late, late);
      if (rank_ != 0 && !is_alive(0)) throw LostRanks(LostRanks::Why::Died, {0});
      std::this_thread::sleep_for(kRetry);
    }
  } catch (...) {
    if (base_ != nullptr) munmap(base_, bytes_);
    if (rank_ == 0) shm_unlink(name_.c_str());
    close(file_);
    throw;
  }
  if (rank_ == 0) shm_unlink(name_.c_str());
}

SharedSegment::~SharedSegment() {
  left(rank_).store(1, std::memory_order_release);
  munmap(base_, bytes_);
  close(file_);  // and drops the lock
}

std::vector<int> SharedSegment::missing() {
  std::vector<int> late;
  for (int r = 0; r < size_; ++r)
    if (arrived(r).value.load(std::memory_order_acquire) == 0) late.push_back(r);
  return late;
}

// A segment whose rank 0 is gone is of an earlier start of the job: it is replaced.
bool SharedSegment::create() {
  file_ = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ >= 0) {
    PEL_CHECK(lock_own(0), CommunicationError, "rank 0 could not lock its shared memory {}: {}", name_,
              std::strerror(errno));
    return true;
  }
  PEL_CHECK(errno == EEXIST, CommunicationError, "shared memory {} could not be created: {}", name_,
            std::strerror(errno));
  const int old = shm_open(name_.c_str(), O_RDWR | O_CLOEXEC, 0600);
  if (old < 0) return false;
  file_ = old;
  const bool is_in_use = holds(0);
  close(old);
  file_ = -1;
  PEL_CHECK(!is_in_use, CommunicationError,
            "another process is rank 0 of this job: give each rank its own number, and each job that runs at "
            "the same time its own MASTER_PORT");
  shm_unlink(name_.c_str());
  return false;
}

bool SharedSegment::open() {
  file_ = shm_open(name_.c_str(), O_RDWR | O_CLOEXEC, 0600);
  if (file_ < 0) {
    PEL_CHECK(errno == ENOENT, CommunicationError, "shared memory {} could not be opened: {}", name_,
              std::strerror(errno));
    return false;
  }
  if (!holds(0)) {  // left by an earlier start of the job, or rank 0 has not locked it yet
    close(file_);
    file_ = -1;
    return false;
  }
  if (!lock_own(rank_)) {
    close(file_);
    throw CommunicationError(fmt::format(
        "another process is rank {} of this job: give each rank its own number, and each job that runs at "
        "the same time its own MASTER_PORT",
        rank_));
  }
  return true;
}

void SharedSegment::map() {
  const auto ranks = static_cast<std::size_t>(size_);
  const std::size_t counters = whole_pages(sizeof(Header));
  const std::size_t announcements = counters + whole_pages(2 * ranks * sizeof(SharedCounter));
  const std::size_t mailboxes = announcements + whole_pages(2 * ranks * sizeof(Announcement));
  const std::size_t slots = mailboxes + whole_pages(ranks * ranks * sizeof(Mailbox));
  const std::size_t pieces = slots + 2 * ranks * kSlotBytes;
  bytes_ = pieces + 2 * ranks * ranks * kPieceBytes;
  // New pages are zero, as counters begin.
  PEL_CHECK(ftruncate(file_, static_cast<off_t>(bytes_)) == 0, CommunicationError,
            "shared memory of {} bytes could not be made: {}", bytes_, std::strerror(errno));
  void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  PEL_CHECK(memory != MAP_FAILED, CommunicationError, "shared memory of {} bytes could not be mapped: {}",
            bytes_, std::strerror(errno));
  base_ = static_cast<std::byte*>(memory);
  counters_ = reinterpret_cast<SharedCounter*>(base_ + counters);
  announcements_ = reinterpret_cast<Announcement*>(base_ + announcements);
  mailboxes_ = reinterpret_cast<Mailbox*>(base_ + mailboxes);
  slots_ = base_ + slots;
  pieces_ = base_ + pieces;
  if (rank_ == 0) reserve(0, pieces);
}

void SharedSegment::reserve_pieces(int from, int to) {
  reserve(static_cast<std::size_t>(piece(from, to, 0) - base_), 2 * kPieceBytes);
}

// A page that is first touched when the file system is full ends the process by SIGBUS; this returns an
// error.
void SharedSegment::reserve(std::size_t offset, std::size_t bytes) {
  int error = EINTR;
  while (error == EINTR)
    error = posix_fallocate(file_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  PEL_CHECK(
      error != ENOSPC, CommunicationError,
      "{} bytes of memory for rank {} do not fit into /dev/shm; make it larger (containers: --shm-size), or "
      "remove files from it",
      bytes, rank_);
  PEL_CHECK(error == 0, CommunicationError, "{} bytes of shared memory could not be reserved: {}", bytes,
            std::strerror(error));
}

namespace {

struct flock lock_of(int byte, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool SharedSegment::holds(int byte) const {
  struct flock lock = lock_of(byte, F_WRLCK);
  return fcntl(file_, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
bool SharedSegment::lock_own(int byte) {
  struct flock lock = lock_of(byte, F_WRLCK);
  return fcntl(file_, F_SETLK, &lock) == 0;
}
bool SharedSegment::is_alive(int rank) const { return holds(rank); }

}  // namespace pel::dist
