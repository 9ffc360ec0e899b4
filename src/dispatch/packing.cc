#include "dispatch/packing.h"

#include <deque>
#include <list>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/environment.h"
#include "tensor/make.h"

namespace pel {

namespace detail {
constinit std::atomic<std::int64_t> packed_count{0};
constinit std::atomic<std::int64_t> packing_cache_most{0};
}  // namespace detail

namespace {

Packer the_packer = nullptr;

MatrixView view_of(const Tensor& matrix) {
  return {matrix.raw_data(), matrix.sizes()[0].value(), matrix.sizes()[1].value(),
          matrix.strides()[0].value(), matrix.strides()[1].value()};
}

// All forms that are alive, by the address of their source, which they hold.
class Forms {
 public:
  static Forms& instance() {
    static auto* const forms = new Forms;
    return *forms;
  }
  std::shared_ptr<const PackedForm> add(PackedForm form) {
    const void* const address = form.source.raw_data();
    std::shared_ptr<const PackedForm> shared(new PackedForm(std::move(form)), [](const PackedForm* gone) {
      instance().remove(gone->source.raw_data());
      delete gone;
    });
    const std::unique_lock lock(mutex_);
    by_address_.emplace(address, shared);
    detail::packed_count.fetch_add(1, std::memory_order_relaxed);
    return shared;
  }
  std::shared_ptr<const PackedForm> find(const MatrixView& view, DType dtype) {
    std::vector<std::shared_ptr<const PackedForm>> met;  // let go after the lock: the last holder removes it
    const std::shared_lock lock(mutex_);
    const auto [first, last] = by_address_.equal_range(view.data);
    for (auto i = first; i != last; ++i) {
      met.push_back(i->second.lock());
      const PackedForm* form = met.back().get();
      if (form != nullptr && form->is_current() && form->source.dtype() == dtype &&
          view_of(form->source) == view)
        return met.back();
    }
    return nullptr;
  }

 private:
  void remove(const void* address) {
    const std::unique_lock lock(mutex_);
    const auto [first, last] = by_address_.equal_range(address);
    for (auto i = first; i != last;) {
      if (i->second.expired()) {
        i = by_address_.erase(i);
        detail::packed_count.fetch_sub(1, std::memory_order_relaxed);
      } else {
        ++i;
      }
    }
  }

  std::shared_mutex mutex_;
  std::unordered_multimap<const void*, std::weak_ptr<const PackedForm>> by_address_;
};

std::shared_ptr<const PackedForm> packed(const Tensor& matrix) {
  // A view of its own, so that the count of references tells whether anyone else looks at the memory.
  return Forms::instance().add(the_packer(make_view(matrix, matrix.sizes(), matrix.strides())));
}

// Matrices that products have met twice. What was used last stands first.
class Cache {
 public:
  static Cache& instance() {
    static auto* const cache = new Cache;
    return *cache;
  }
  void offer(const Tensor& matrix) {
    const std::lock_guard lock(mutex_);
    const MatrixView view = view_of(matrix);
    forget_unused(matrix);
    for (auto i = kept_.begin(); i != kept_.end(); ++i) {
      if (view_of((*i)->source) == view && (*i)->source.dtype() == matrix.dtype()) {
        kept_.splice(kept_.begin(), kept_, i);
        return;
      }
    }
    const Seen now{view, matrix.version()};
    for (const Seen& seen : seen_) {
      if (seen == now) return keep(matrix);
    }
    if (seen_.size() == kMostSeen) seen_.pop_front();
    seen_.push_back(now);
  }
  void limit(std::int64_t most) {
    const std::lock_guard lock(mutex_);
    detail::packing_cache_most.store(most, std::memory_order_relaxed);
    shrink_to(most);
    if (most == 0) seen_.clear();
  }
  std::int64_t size_bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  static constexpr std::size_t kMostSeen = 256;
  struct Seen {
    MatrixView view;
    std::uint32_t version;
    bool operator==(const Seen&) const = default;
  };

  void keep(const Tensor& matrix) {
    std::shared_ptr<const PackedForm> form = packed(matrix);
    const std::int64_t size = form->panels.numel().value();
    const std::int64_t most = detail::packing_cache_most.load(std::memory_order_relaxed);
    if (size > most) return;
    shrink_to(most - size);
    bytes_ += size;
    kept_.push_front(std::move(form));
  }
  void shrink_to(std::int64_t most) {
    while (bytes_ > most) drop(std::prev(kept_.end()));
  }
  // Those that were written to, and those that nothing but this cache refers to. The one asked for is
  // referred to by its caller.
  void forget_unused(const Tensor& asked) {
    for (auto i = kept_.begin(); i != kept_.end();) {
      const auto next = std::next(i);
      const Tensor& source = (*i)->source;
      const auto refs = source.header()->storage->refs.load(std::memory_order_relaxed);
      if (!(*i)->is_current() || (refs == 1 && !source.shares_storage(asked))) drop(i);
      i = next;
    }
  }
  void drop(std::list<std::shared_ptr<const PackedForm>>::iterator i) {
    bytes_ -= (*i)->panels.numel().value();
    kept_.erase(i);
  }

  std::mutex mutex_;
  std::list<std::shared_ptr<const PackedForm>> kept_;
  std::deque<Seen> seen_;
  std::int64_t bytes_ = 0;
};

}  // namespace

void set_packer(Packer packer) {
  the_packer = packer;
  if (const auto bytes = environment_bytes("PELLUCID_PACK_CACHE")) Cache::instance().limit(*bytes);
}

namespace detail {
std::shared_ptr<const PackedForm> find_packed_slow(const MatrixView& view, DType dtype) {
  return Forms::instance().find(view, dtype);
}
void offer_to_cache_slow(const Tensor& matrix) {
  if (matrix.has_data()) Cache::instance().offer(matrix);
}
}  // namespace detail

std::int64_t PackedMatrix::size_bytes() const { return form_ ? form_->panels.numel().value() : 0; }
bool PackedMatrix::is_current() const { return form_ && form_->is_current(); }

PackedMatrix pack(const Tensor& matrix, Site site) {
  return as_call("pack", site, [&] {
    PEL_CHECK(matrix.dim() == 2, ShapeError, "a matrix has two axes; {} has {}", describe(matrix),
              matrix.dim());
    PEL_CHECK(matrix.device() == kCpu && matrix.has_data(), DeviceError,
              "{} has no data on cpu that could be packed", describe(matrix));
    return PackedMatrix(packed(matrix));
  });
}

void set_packing_cache(std::int64_t max_bytes, Site site) {
  as_call("set_packing_cache", site, [&] {
    PEL_CHECK(max_bytes >= 0, ValueError, "a cache has 0 bytes or more, not {}", max_bytes);
    Cache::instance().limit(max_bytes);
  });
}
std::int64_t packing_cache_bytes() { return Cache::instance().size_bytes(); }

}  // namespace pel
