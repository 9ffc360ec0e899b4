#include "packing/packing_cache.h"

#include <algorithm>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include <unistd.h>

#include "pellucid/error.h"
#include "pellucid/memory.h"

#include "base/check.h"
#include "base/environment.h"
#include "packing/forms.h"
#include "tensor/make.h"

namespace pel {

namespace detail {
constinit std::atomic<std::int64_t> packing_cache_limit{0};
}  // namespace detail

constinit std::atomic<PackingPolicy> packing_policy{PackingPolicy::WhereItPays};

namespace {

constinit std::atomic<std::uint64_t> moments{0};

std::int64_t compiled_default() {
  return std::min(kCompiledPackingBytes, sysconf(_SC_PHYS_PAGES) / 16 * sysconf(_SC_PAGESIZE));
}

class PackingCache {
 public:
  static PackingCache& instance() {
    static auto* const cache = new PackingCache;
    return *cache;
  }

  PackingCache() {
    if (chosen_) detail::packing_cache_limit.store(*chosen_, std::memory_order_relaxed);
  }

  void offer(const Tensor& tensor) {
    WantedMatrix matrix{view_of(tensor), tensor.dtype(), tensor.device().type, tensor.header()->storage};
    if (may_change_unseen(*matrix.storage)) return;
    const std::uint64_t now = next_moment();
    {
      const std::lock_guard lock(mutex_);
      if (const Kept* kept = kept_form(matrix)) {
        kept->form->last_use.store(now, std::memory_order_relaxed);
        return;
      }
      const Seen seen{matrix.view, version_of(matrix), now};
      const auto before = std::ranges::find_if(seen_, [&](const Seen& s) { return s.is_same(seen); });
      if (before == seen_.end()) {
        if (seen_.size() == kMaxSeen) seen_.pop_front();
        seen_.push_back(seen);
        return;
      }
      matrix.previous_use = std::exchange(before->moment, now);
    }
    keep(this, matrix);
  }

  Packing keep(const void* owner, const WantedMatrix& matrix) {
    const std::int64_t size = packer_of(matrix.device)->panels_bytes(matrix.view, matrix.dtype);
    const std::uint64_t now = next_moment();
    {
      const std::lock_guard lock(mutex_);
      if (Kept* const kept = kept_form(matrix)) return shared(*kept, owner, now);
      drop_stale();
      const std::int64_t max_bytes = bound();
      if (max_bytes == 0) return {nullptr, refusal_without_bound()};
      if (size > max_bytes) return {nullptr, "its packed form is larger than the bound of set_packing_cache"};
      for (const auto& place : places_for(size, matrix.previous_use)) drop(place);
      if (bytes_ + size > max_bytes)
        return {nullptr, "other packed matrices in use fill the bound; set_packing_cache(bytes) raises it"};
      bytes_ += size;  // before the lock is released
    }
    matrix.storage->is_watched.store(true, std::memory_order_relaxed);  // so that forget() is called
    std::shared_ptr<const PackedForm> form;
    try {
      form = make_form(matrix.view, matrix.dtype, matrix.device, matrix.storage);
    } catch (const MemoryError&) {
      const std::lock_guard lock(mutex_);
      bytes_ -= size;
      return {nullptr, "there is no memory for its packed form"};
    }
    const std::lock_guard lock(mutex_);
    if (Kept* const kept = kept_form(matrix)) {  // another owner was faster
      bytes_ -= size;
      return shared(*kept, owner, now);
    }
    if (bytes_ > bound()) {  // which was lowered since
      bytes_ -= size;
      return {nullptr, refusal_without_bound()};
    }
    form->last_use.store(now, std::memory_order_relaxed);
    forms_.push_front({form, {owner}});
    return {form};
  }

  std::int64_t forecast(ArrayView<WantedMatrix> matrices) {
    const std::lock_guard lock(mutex_);
    drop_stale();
    std::int64_t change = 0;
    std::vector<Place> gone;
    std::vector<const WantedMatrix*> added;
    for (const WantedMatrix& matrix : matrices) {
      const bool is_added = std::ranges::any_of(added, [&](const WantedMatrix* other) {
        return other->view == matrix.view && other->dtype == matrix.dtype;
      });
      if (is_added || kept_form(matrix) != nullptr) continue;
      const std::int64_t size = packer_of(matrix.device)->panels_bytes(matrix.view, matrix.dtype);
      if (size > bound()) continue;
      for (const Place place : places_for(size + change, matrix.previous_use)) {
        if (std::ranges::find(gone, place) != gone.end()) continue;
        change -= place->form->bytes();
        gone.push_back(place);
      }
      if (bytes_ + change + size > bound()) continue;
      change += size;
      added.push_back(&matrix);
    }
    return change;
  }

  void release(const void* owner, const PackedForm* form) {
    const std::lock_guard lock(mutex_);
    for (auto i = forms_.begin(); i != forms_.end();) {
      const auto next = std::next(i);
      if ((form == nullptr || i->form.get() == form) && std::erase(i->owners, owner) > 0 && i->owners.empty())
        drop(i);
      i = next;
    }
  }
  void forget(const detail::StorageHeader* storage) {
    const std::lock_guard lock(mutex_);
    for (auto i = forms_.begin(); i != forms_.end();) {
      const auto next = std::next(i);
      if (i->form->storage == storage) {
        forget_form(*i->form);  // someone may hold it a moment longer
        drop(i);
      }
      i = next;
    }
  }

  void limit(std::optional<std::int64_t> chosen) {
    const std::lock_guard lock(mutex_);
    chosen_ = chosen;
    detail::packing_cache_limit.store(chosen.value_or(0), std::memory_order_relaxed);
    const std::int64_t max_bytes = bound();
    std::vector<Place> places;
    for (Place i = forms_.begin(); i != forms_.end(); ++i) places.push_back(i);
    std::ranges::sort(places, {}, last_use);
    for (std::size_t i = 0; i < places.size() && bytes_ > max_bytes; ++i) drop(places[i]);
    if (chosen.value_or(0) == 0) seen_.clear();
  }
  std::int64_t size_bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  static constexpr std::size_t kMaxSeen = 256;
  struct Kept {
    std::shared_ptr<const PackedForm> form;
    std::vector<const void*> owners;
  };
  using Place = std::list<Kept>::iterator;
  struct Seen {
    MatrixView view;
    std::uint32_t version;
    std::uint64_t moment;
    bool is_same(const Seen& other) const { return view == other.view && version == other.version; }
  };

  static std::uint32_t version_of(const WantedMatrix& matrix) {
    return matrix.storage->version.load(std::memory_order_relaxed);
  }
  // The bytes that forms may take.
  std::int64_t bound() const {
    if (chosen_) return *chosen_;
    return memory_stats().limit_bytes != 0 ? 0 : compiled_default();
  }
  const char* refusal_without_bound() const {
    return chosen_ ? "packing is off (set_packing_cache or PELLUCID_PACK_CACHE)"
                   : "the memory of the process has a limit; set_packing_cache(bytes) packs below it";
  }

  // Drops forms of matrices that were written to.
  void drop_stale() {
    for (auto i = forms_.begin(); i != forms_.end();) {
      const auto next = std::next(i);
      if (!i->form->is_current()) drop(i);
      i = next;
    }
  }
  Kept* kept_form(const WantedMatrix& matrix) {
    const auto found = std::ranges::find_if(forms_, [&](const Kept& kept) {
      return kept.form->storage == matrix.storage && kept.form->view == matrix.view &&
             kept.form->dtype == matrix.dtype && kept.form->is_current();
    });
    return found == forms_.end() ? nullptr : &*found;
  }
  static Packing shared(Kept& kept, const void* owner, std::uint64_t now) {
    if (std::ranges::find(kept.owners, owner) == kept.owners.end()) kept.owners.push_back(owner);
    kept.form->last_use.store(now, std::memory_order_relaxed);
    return {kept.form};
  }

  // The forms that give way so that `size` bytes more are within the bound: those that were not used since
  // `previous_use`, the least recently used first. Empty if they do not suffice.
  std::vector<Place> places_for(std::int64_t size, std::uint64_t previous_use) {
    std::int64_t excess = bytes_ + size - bound();
    std::vector<Place> old, places;
    for (Place i = forms_.begin(); excess > 0 && i != forms_.end(); ++i)
      if (last_use(i) < previous_use) old.push_back(i);
    std::ranges::sort(old, {}, last_use);
    for (const Place i : old) {
      if (excess <= 0) break;
      excess -= i->form->bytes();
      places.push_back(i);
    }
    return excess <= 0 ? places : std::vector<Place>{};
  }
  static std::uint64_t last_use(Place i) { return i->form->last_use.load(std::memory_order_relaxed); }
  void drop(Place i) {
    bytes_ -= i->form->bytes();
    forms_.erase(i);
  }

  std::mutex mutex_;
  std::list<Kept> forms_;
  std::deque<Seen> seen_;
  std::int64_t bytes_ = 0;  // of the forms, and of those that are being packed
  std::optional<std::int64_t> chosen_ = environment_bytes("PELLUCID_PACK_CACHE");  // by the user
};

}  // namespace

void start_packing_cache() { PackingCache::instance(); }

std::uint64_t next_moment() { return moments.fetch_add(1, std::memory_order_relaxed) + 1; }

const char* why_not_packed(const WantedMatrix& matrix) {
  constexpr std::int64_t kMinBytes = 16 << 10;  // of less, finding the form takes as long as packing
  const Packer* const packer = packer_of(matrix.device);
  if (packer == nullptr) return "the backend of its device does not pack matrices";
  if (may_change_unseen(*matrix.storage))
    return "other code has its address and may write to it unseen; a clone is packed";
  const MatrixView& view = matrix.view;
  const std::int64_t bytes = view.k * view.n * size_bytes(matrix.dtype);
  if (bytes == 0) return "it is empty";
  if (packing_policy.load(std::memory_order_relaxed) == PackingPolicy::Always) return nullptr;
  if (bytes < kMinBytes) return "it has less than 16 KiB";
  if (packer->panels_bytes(view, matrix.dtype) > bytes + bytes / 4)
    return "its packed form would take more than 1.25 times its memory";
  return nullptr;
}

Packing keep_packed(const void* owner, const WantedMatrix& matrix) {
  return PackingCache::instance().keep(owner, matrix);
}
std::int64_t forecast_packing(ArrayView<WantedMatrix> matrices) {
  return PackingCache::instance().forecast(matrices);
}
void release_packed(const void* owner, const PackedForm& form) {
  PackingCache::instance().release(owner, &form);
}
void release_packed(const void* owner) { PackingCache::instance().release(owner, nullptr); }

void forget_packed(const detail::StorageHeader* storage) noexcept {
  if (detail::packed_count.load(std::memory_order_relaxed) == 0 || !has_forms(storage)) return;
  PackingCache::instance().forget(storage);
}

void reset_packing_cache() { PackingCache::instance().limit(std::nullopt); }

void detail::offer_to_cache_slow(const Tensor& matrix) {
  if (matrix.has_data() && packer_of(matrix.device().type) != nullptr) PackingCache::instance().offer(matrix);
}

void set_packing_cache(std::int64_t max_bytes, Site site) {
  as_call("set_packing_cache", site, [&] {
    PEL_CHECK(max_bytes >= 0, ValueError, "max_bytes is {}; it must be 0 or more", max_bytes);
    PackingCache::instance().limit(max_bytes);
  });
}
std::int64_t packing_cache_bytes() { return PackingCache::instance().size_bytes(); }

}  // namespace pel
