#include "packing/packing.h"

#include <array>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "packing/forms.h"
#include "packing/packing_cache.h"
#include "tensor/make.h"

namespace pel {

namespace detail {
constinit std::atomic<std::int64_t> packed_count{0};
}  // namespace detail

namespace {

constinit std::array<std::atomic<const Packer*>, kDeviceTypeCount> packers{};

class Forms {
 public:
  static Forms& instance() {
    static auto* const forms = new Forms;
    return *forms;
  }
  void add(const std::shared_ptr<const PackedForm>& form) {
    const std::unique_lock lock(mutex_);
    by_address_.emplace(form->view.data, Entry{form.get(), form});
    ++in_storage_[form->storage];
    detail::packed_count.fetch_add(1, std::memory_order_relaxed);
  }
  void remove(const PackedForm& form) {
    const std::unique_lock lock(mutex_);
    const auto [first, last] = by_address_.equal_range(form.view.data);
    for (auto i = first; i != last; ++i) {
      if (i->second.form != &form) continue;
      by_address_.erase(i);
      if (const auto count = in_storage_.find(form.storage); --count->second == 0) in_storage_.erase(count);
      detail::packed_count.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
  }
  std::shared_ptr<const PackedForm> find(const MatrixView& view, DType dtype) {
    std::vector<std::shared_ptr<const PackedForm>>
        others;  // released after the lock: the last owner removes it
    const std::shared_lock lock(mutex_);
    const auto [first, last] = by_address_.equal_range(view.data);
    for (auto i = first; i != last; ++i) {
      std::shared_ptr<const PackedForm> form = i->second.owner.lock();
      if (form == nullptr) continue;
      if (form->dtype == dtype && form->view == view && form->is_current()) return form;
      others.push_back(std::move(form));
    }
    return nullptr;
  }
  bool has(const detail::StorageHeader* storage) {
    const std::shared_lock lock(mutex_);
    return in_storage_.contains(storage);
  }

 private:
  struct Entry {
    const PackedForm* form;
    std::weak_ptr<const PackedForm> owner;
  };
  std::shared_mutex mutex_;
  std::unordered_multimap<const void*, Entry> by_address_;
  std::unordered_map<const detail::StorageHeader*, int> in_storage_;  // how many
};

}  // namespace

MatrixView view_of(const Tensor& matrix) {
  return {matrix.raw_data(), matrix.sizes()[0].value(), matrix.sizes()[1].value(),
          matrix.strides()[0].value(), matrix.strides()[1].value()};
}

std::shared_ptr<const PackedForm> make_form(const MatrixView& view, DType dtype, DeviceType device,
                                            const detail::StorageHeader* storage, Tensor source) {
  const std::uint32_t version = storage->version.load(std::memory_order_relaxed);
  Tensor panels = packer_of(device)->pack(view, dtype);
  std::shared_ptr<const PackedForm> form(
      new PackedForm{view, dtype, storage, version, std::move(panels), std::move(source)},
      [](const PackedForm* gone) {
        forget_form(*gone);
        delete gone;
      });
  Forms::instance().add(form);
  return form;
}
void forget_form(const PackedForm& form) noexcept { Forms::instance().remove(form); }
bool has_forms(const detail::StorageHeader* storage) noexcept { return Forms::instance().has(storage); }

void set_packer(DeviceType device, const Packer* packer) {
  packers[static_cast<std::size_t>(device)].store(packer, std::memory_order_release);
  start_packing_cache();
}
const Packer* packer_of(DeviceType device) {
  return packers[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
}

std::shared_ptr<const PackedForm> detail::find_packed_slow(const MatrixView& view, DType dtype) {
  return Forms::instance().find(view, dtype);
}

std::int64_t PackedMatrix::size_bytes() const { return form_ ? form_->bytes() : 0; }
bool PackedMatrix::is_current() const { return form_ && form_->is_current(); }

PackedMatrix pack(const Tensor& matrix, Site site) {
  return as_call("pack", site, [&] {
    PEL_CHECK(matrix.dim() == 2, ShapeError, "expected a matrix with 2 axes; {} has {}", describe(matrix),
              matrix.dim());
    PEL_CHECK(matrix.has_data() && packer_of(matrix.device().type) != nullptr, DeviceError,
              "{} cannot be packed: {}", describe(matrix),
              matrix.has_data() ? "the backend of its device does not pack matrices" : "it has no data");
    return PackedMatrix(make_form(view_of(matrix), matrix.dtype(), matrix.device().type,
                                  matrix.header()->storage,
                                  make_view(matrix, matrix.sizes(), matrix.strides())));
  });
}

}  // namespace pel
