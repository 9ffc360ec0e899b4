#include "compile/packed_weights.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "profile/recorder.h"

namespace pel::compiler {
namespace {

// A form that served fewer calls than this before its matrix was written to has not paid off: the next one
// waits for twice as many calls.
constexpr std::uint64_t kPaysOff = 4, kMaxWanted = 64;

std::uint32_t version_of(const WantedMatrix& matrix) {
  return matrix.storage->version.load(std::memory_order_relaxed);
}

}  // namespace

bool PackedWeights::Slot::has(const WantedMatrix& matrix) const {
  return storage == matrix.storage && version == version_of(matrix) && view == matrix.view;
}

// A refusal is asked for again when the number of calls has doubled.
bool PackedWeights::Slot::is_due() const {
  return calls >= wanted && std::has_single_bit(calls) && form.expired();
}

std::shared_ptr<const PackedForm> PackedWeights::Slot::see(const WantedMatrix& matrix, std::uint64_t now) {
  std::shared_ptr<const PackedForm> gone;
  if (!has(matrix) || (packed_at != 0 && may_change_unseen(*matrix.storage))) {
    gone = form.lock();
    const bool was_early = packed_at != 0 && calls - packed_at < kPaysOff;
    *this = {.view = matrix.view,
             .storage = matrix.storage,
             .version = version_of(matrix),
             .wanted = was_early ? std::min(2 * wanted, kMaxWanted) : wanted};
  } else if (const std::shared_ptr<const PackedForm> used = form.lock()) {
    used->last_use.store(now, std::memory_order_relaxed);
  }
  ++calls;
  last_use = now;
  return gone;
}

std::uint32_t PackedWeights::slot_of(ValueId value) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(values_, value);
  const auto slot = static_cast<std::uint32_t>(found - values_.begin());
  if (found == values_.end()) {
    values_.push_back(value);
    slots_.emplace_back();
  }
  return slot;
}

void PackedWeights::before_run(ArrayView<Weight> weights) {
  const std::uint64_t now = next_moment();
  struct Due {
    std::size_t weight;
    std::uint64_t previous_use;
  };
  SmallVector<Due, 16> due;
  std::int64_t call = 0;
  {
    const std::lock_guard lock(mutex_);
    call = ++calls_;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      Slot& slot = slots_[weights[i].slot];
      const std::uint64_t previous_use = slot.last_use;
      if (const auto gone = slot.see(weights[i].matrix, now)) release_packed(this, *gone);
      if (slot.is_due()) due.push_back({i, previous_use});
    }
  }
  if (due.empty()) return;
  const profile::CompileSpan span("pack weights");
  for (const auto& [i, previous_use] : due) {
    WantedMatrix matrix = weights[i].matrix;
    matrix.previous_use = previous_use;
    Packing packing{nullptr, why_not_packed(matrix)};
    if (packing.refusal == nullptr) packing = keep_packed(this, matrix);
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[weights[i].slot];
    if (!slot.has(matrix)) {  // another thread has called with another matrix
      if (packing.form) release_packed(this, *packing.form);
      continue;
    }
    slot.refusal = packing.refusal;
    if (!packing.form) continue;
    slot.form = packing.form;
    slot.packed_at = slot.calls;
    slot.since_call = call;
  }
}

std::int64_t PackedWeights::forecast_bytes(ArrayView<Weight> weights) const {
  std::vector<WantedMatrix> due;
  {
    const std::lock_guard lock(mutex_);
    for (const Weight& weight : weights) {
      Slot slot = slots_[weight.slot];
      WantedMatrix matrix = weight.matrix;
      matrix.previous_use = slot.last_use;
      slot.see(matrix, slot.last_use);
      if (slot.is_due() && why_not_packed(matrix) == nullptr) due.push_back(matrix);
    }
  }
  return forecast_packing(due);
}

PackedWeights::State PackedWeights::state(const Weight& weight) const {
  const std::lock_guard lock(mutex_);
  const Slot& slot = slots_[weight.slot];
  if (const char* const objection = why_not_packed(weight.matrix)) return {0, 0, objection};
  if (slot.calls == 0) return {0, 0, "no call has used it yet"};
  if (!slot.has(weight.matrix)) return {0, 0, "it has changed since the last call"};
  if (const auto form = slot.form.lock()) return {form->bytes(), slot.since_call, ""};
  if (slot.packed_at != 0) return {0, 0, "its form has given way to those of other matrices"};
  if (slot.refusal != nullptr) return {0, 0, slot.refusal};
  return {0, 0, fmt::format("it waits for call {} that finds it unchanged; {} did", slot.wanted, slot.calls)};
}

}  // namespace pel::compiler
