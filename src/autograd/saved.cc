#include "autograd/saved.h"

#include <deque>
#include <mutex>
#include <unordered_map>

#include "pellucid/extend/op.h"

#include "base/check.h"
#include "packing/packing.h"
#include "tensor/make.h"

namespace pel {
namespace {

// Writes to memory that a node has saved. An error names the first write after the value was saved. A few
// entries are enough, because few writes follow before backward finds out.
struct Write {
  std::uint32_t version;  // that it left
  std::string_view op;
  Site site;
};
constexpr std::size_t kMaxWrites = 16;

struct Writes {
  std::mutex mutex;
  std::unordered_map<const detail::StorageHeader*, std::deque<Write>> by_storage;
};
Writes& writes() {
  static Writes* const instance = new Writes;
  return *instance;
}

void watch(const Tensor& t) { t.header()->storage->is_watched.store(true, std::memory_order_relaxed); }

// "add_ at model.cc:12"; empty if the write is not known.
std::string writer_of(const Tensor& t, std::uint32_t version) {
  const std::lock_guard lock(writes().mutex);
  const auto found = writes().by_storage.find(t.header()->storage);
  if (found == writes().by_storage.end()) return "";
  for (const Write& write : found->second) {
    if (write.version > version)
      return fmt::format("{} at {}:{}", write.op, write.site.file_name(), write.site.line());
  }
  return "";
}

}  // namespace

void detail::note_write(const Tensor& written, const Op& op, const Site& site) {
  const std::lock_guard lock(writes().mutex);
  std::deque<Write>& list = writes().by_storage[written.header()->storage];
  const std::uint32_t version = written.version();
  // A composite op notes again what its parts have noted: the outermost line is the user's.
  while (!list.empty() && list.back().version >= version) list.pop_back();
  list.push_back({version, op.name(), site});
  if (list.size() > kMaxWrites) list.pop_front();
}

void detail::forget_writes(const StorageHeader* storage) noexcept {
  forget_packed(storage);
  const std::lock_guard lock(writes().mutex);
  writes().by_storage.erase(storage);
}

namespace autograd {

SaveHook*& thread_save_hook() {
  static constinit thread_local SaveHook* hook = nullptr;
  return hook;
}

bool SavedValue::offer_to_hook(const Tensor& t) {
  SaveHook* const hook = thread_save_hook();
  if (hook == nullptr) return false;
  auto [recompute, number] = hook->put(t);
  if (!recompute) return false;
  rare_ = std::make_unique<Rare>();
  rare_->recompute = std::move(recompute);
  rare_->number = number;
  return true;
}

SavedValue SavedValue::argument(Value value) {
  SavedValue saved;
  if (const Tensor* t = std::get_if<Tensor>(&value)) {
    if (saved.offer_to_hook(*t)) {
      if (const History* history = current_history(*t)) saved.rare_->edge = history->edge;
      return saved;
    }
    saved.version_ = t->version();
    watch(*t);
  } else if (const auto* list = std::get_if<std::vector<Tensor>>(&value)) {
    saved.rare_ = std::make_unique<Rare>();
    for (const Tensor& each : *list) {
      saved.rare_->versions.push_back(each.version());
      watch(each);
    }
  }
  saved.value_ = std::move(value);
  return saved;
}

SavedValue SavedValue::copy(const Tensor& value) {
  Tensor copied;
  {
    const KeyScope below({}, Key::Autograd);
    copied = value.clone();
  }
  SavedValue saved = argument(copied);
  if (!saved.rare_) saved.rare_ = std::make_unique<Rare>();
  if (const History* history = current_history(value)) saved.rare_->edge = history->edge;
  return saved;
}

SavedValue SavedValue::result(const Tensor& value, std::uint32_t number) {
  SavedValue saved;
  saved.result_ = static_cast<std::int32_t>(number);
  if (saved.offer_to_hook(value)) return saved;
  saved.value_ = make_view(value, value.sizes(), value.strides());
  saved.version_ = value.version();
  watch(value);
  return saved;
}

Tensor SavedValue::checked(const Tensor& t, std::uint32_t version, Node& node, std::string_view what) const {
  if (t.version() == version) return t;
  const std::string writer = writer_of(t, version);
  throw VersionError(fmt::format(
      "the gradient of {}, called at {}:{}, needs its {} {} at version {}, but {} and it is now at "
      "version {}; write to a clone, or after backward",
      node.name(), node.site().file_name(), node.site().line(), what, describe(t), version,
      writer.empty() ? "it was written to" : writer + " wrote to it", t.version()));
}

Value SavedValue::get(Node& node, std::string_view what) const {
  if (const auto* list = std::get_if<std::vector<Tensor>>(&value_)) {
    for (std::size_t i = 0; i < list->size(); ++i) checked((*list)[i], rare_->versions[i], node, what);
    return value_;
  }
  const Tensor* stored = std::get_if<Tensor>(&value_);
  const bool again = is_computed_again();
  if (!again && stored == nullptr) return value_;
  const Tensor t = again ? rare_->recompute->get(rare_->number) : checked(*stored, version_, node, what);
  if (result_ < 0 && !rare_) return t;
  // Restores its history, so that a gradient of the gradient finds it.
  const Edge edge = result_ < 0 ? rare_->edge : node.edge_to(static_cast<std::uint32_t>(result_));
  Tensor whole = make_view(t, t.sizes(), t.strides());
  if (edge.node && is_floating(whole.dtype())) set_edge(whole, edge);
  return whole;
}

}  // namespace autograd
}  // namespace pel
