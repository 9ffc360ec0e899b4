// Rows as pairs of a key and an index. The keys of a dtype are unsigned integers in the order of its values.
// With the index appended, entries are unique, so every sorting algorithm produces the same, stable order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "backends/cpu/lanes.h"
#include "base/thread_object.h"
#include "tensor/convert.h"

namespace pel::cpu {

// NaN is the largest, and all NaNs are equal; so are 0 and -0.
template <class T>
UnsignedOf<sizeof(T)> key_of(T value) {
  using Key = UnsignedOf<sizeof(T)>;
  constexpr int kBits = 8 * sizeof(Key);
  constexpr Key kSign = Key(Key(1) << (kBits - 1));
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::uint8_t>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<Key>(static_cast<Key>(value) ^ kSign);
  } else {
    constexpr Key kInfinity = std::is_same_v<T, Float16>    ? Key(0x7c00)
                              : std::is_same_v<T, BFloat16> ? Key(0x7f80)
                              : std::is_same_v<T, float>    ? Key(0x7f800000u)
                                                            : static_cast<Key>(0x7ff0000000000000u);
    const auto bits = std::bit_cast<Key>(value);
    const auto magnitude = static_cast<Key>(bits & static_cast<Key>(~kSign));
    if (magnitude > kInfinity) return static_cast<Key>(~Key(0));
    if (magnitude == 0) return kSign;
    return static_cast<Key>(bits & kSign ? static_cast<Key>(~bits) : static_cast<Key>(bits | kSign));
  }
}

// One word for keys of up to 32 bits in rows of less than 2^32 elements.
struct NarrowEntry {
  std::uint64_t word;
  NarrowEntry() = default;
  NarrowEntry(std::uint64_t key, std::int64_t index) : word(key << 32 | static_cast<std::uint64_t>(index)) {}
  std::uint64_t key() const { return word >> 32; }
  std::int64_t index() const { return static_cast<std::int64_t>(word & 0xffffffffu); }
  friend bool operator<(NarrowEntry a, NarrowEntry b) { return a.word < b.word; }
};
struct WideEntry {
  std::uint64_t word;
  std::int64_t at;
  WideEntry() = default;
  WideEntry(std::uint64_t key, std::int64_t index) : word(key), at(index) {}
  std::uint64_t key() const { return word; }
  std::int64_t index() const { return at; }
  friend bool operator<(const WideEntry& a, const WideEntry& b) {
    return a.word != b.word ? a.word < b.word : a.at < b.at;
  }
};

enum class Order : bool { Ascending, Descending };

// Returns the key that sorts entries in the requested order.
template <class T>
std::uint64_t ordered_key(T value, Order order) {
  const auto key = key_of(value);
  return order == Order::Ascending ? key : static_cast<decltype(key)>(~key);
}

// Sorts entries that are in the order of their indices, by keys of `bits` bits. Returns the array with the
// result: `entries` or `scratch`.
template <class Entry, int Digit>
Entry* radix_sort(Entry* entries, Entry* scratch, std::int64_t count, int bits) {
  constexpr std::size_t kBuckets = std::size_t{1} << Digit;
  constexpr int kMaxPasses = (64 + Digit - 1) / Digit;
  const int passes = (bits + Digit - 1) / Digit;
  auto& counts = thread_object<std::array<std::array<std::uint64_t, kBuckets>, kMaxPasses>>();
  for (int p = 0; p < passes; ++p) counts[static_cast<std::size_t>(p)].fill(0);
  const auto digit = [](const Entry& e, int pass) { return e.key() >> (Digit * pass) & (kBuckets - 1); };
  for (std::int64_t i = 0; i < count; ++i) {
    for (int p = 0; p < passes; ++p) ++counts[static_cast<std::size_t>(p)][digit(entries[i], p)];
  }
  for (int p = 0; p < passes; ++p) {
    auto& offsets = counts[static_cast<std::size_t>(p)];
    if (offsets[digit(entries[0], p)] == static_cast<std::uint64_t>(count))
      continue;  // all entries have the same digit
    std::uint64_t next = 0;
    for (std::uint64_t& offset : offsets) next += std::exchange(offset, next);
    for (std::int64_t i = 0; i < count; ++i) {
      const Entry e = entries[i];
      scratch[offsets[digit(e, p)]++] = e;
    }
    std::swap(entries, scratch);
  }
  return entries;
}

inline constexpr std::int64_t kSmallRow = 160;      // below this, counting digits costs more than comparing
inline constexpr std::int64_t kLargeRow = 1 << 14;  // from this size on, fewer passes justify more buckets

template <class Entry>
Entry* sort_entries(Entry* entries, Entry* scratch, std::int64_t count, int bits) {
  if (count < kSmallRow) {
    std::sort(entries, entries + count);
    return entries;
  }
  if (count < kLargeRow || bits <= 16) return radix_sort<Entry, 8>(entries, scratch, count, bits);
  return radix_sort<Entry, 11>(entries, scratch, count, bits);
}

// Returns a bit for each of the next 32 elements that may come before `last`: a fast rejection for most of a
// row. NaN counts as maybe.
template <class T>
std::uint32_t maybe_before(const char* src, T last, Order order) {
  if constexpr (std::is_same_v<T, float>) {
    const F32x4 bound{last, last, last, last};
    std::uint32_t bits = 0;
    for (int i = 0; i < 32; i += 4) {
      const auto x = load<F32x4>(src + i * std::int64_t{sizeof(float)});
      const I32x4 cannot = order == Order::Descending ? x <= bound : x >= bound;
      bits |= bits_of(~cannot) << i;
    }
    return bits;
  } else if constexpr (kIsHalf<T> || std::is_same_v<T, bool>) {
    return ~0u;
  } else {
    T values[32];
    std::memcpy(values, src, sizeof values);
    UnsignedOf<sizeof(T)> any = 0;
    if (order == Order::Descending) {
      for (T x : values) any = static_cast<decltype(any)>(any | static_cast<decltype(any)>(!(x <= last)));
    } else {
      for (T x : values) any = static_cast<decltype(any)>(any | static_cast<decltype(any)>(!(x >= last)));
    }
    return any != 0 ? ~0u : 0;
  }
}

// Moves the first `requested` entries of the row, sorted, to the front of `entries`.
template <class T, class Entry>
void select_first(std::vector<Entry>& entries, const char* src, std::int64_t count, std::int64_t requested,
                  Order order) {
  const std::int64_t capacity = std::min(count, 4 * requested + 64);
  entries.resize(static_cast<std::size_t>(capacity));
  const auto value = [&](std::int64_t i) {
    return load_as<T>(src + i * static_cast<std::int64_t>(sizeof(T)));
  };
  std::int64_t filled = 0;
  const auto prune = [&] {
    if (filled > requested)
      std::nth_element(entries.begin(), entries.begin() + requested - 1, entries.begin() + filled);
    filled = std::min(filled, requested);
  };
  for (; filled < capacity; ++filled)
    entries[static_cast<std::size_t>(filled)] = Entry(ordered_key(value(filled), order), filled);
  prune();
  // An entry found later has a larger index: with the same key as the last one, it does not come before it.
  const auto last = [&] { return entries[static_cast<std::size_t>(requested - 1)]; };
  std::uint64_t bound = last().key();
  T bound_value = value(last().index());
  const auto consider = [&](std::int64_t i) {
    const std::uint64_t key = ordered_key(value(i), order);
    if (key >= bound) return;
    entries[static_cast<std::size_t>(filled++)] = Entry(key, i);
    if (filled < capacity) return;
    prune();
    bound = last().key();
    bound_value = value(last().index());
  };
  std::int64_t i = capacity;
  for (; i + 32 <= count; i += 32) {
    std::uint32_t bits = maybe_before<T>(src + i * static_cast<std::int64_t>(sizeof(T)), bound_value, order);
    for (; bits != 0; bits &= bits - 1) consider(i + std::countr_zero(bits));
  }
  for (; i < count; ++i) consider(i);
  prune();
  std::sort(entries.begin(), entries.begin() + requested);
}

}  // namespace pel::cpu
