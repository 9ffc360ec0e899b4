// sort, topk and kthvalue. Indices accompany the values: of equal values the lowest index is
// first.
#include <array>
#include <utility>

#include "backends/cpu/grains.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/sorting/dense_rows.h"
#include "backends/cpu/sorting/sort_entries.h"

namespace pel::cpu {
namespace {

constexpr std::int64_t kSortGrain = 1 << 9;  // elements; to select takes less than to sort

// Calls f(type of the elements, type of the entries).
template <class F>
void with_entries(const Operand& src, std::int64_t length, F&& f) {
  with_type(static_cast<DType>(src.dtype), [&]<class T>(std::type_identity<T> type) {
    if (sizeof(T) <= 4 && length <= std::int64_t{UINT32_MAX}) {
      f(type, std::type_identity<NarrowEntry>());
    } else {
      f(type, std::type_identity<WideEntry>());
    }
  });
}

template <class T, class Entry>
void write_first(const Entry* entries, std::int64_t count, char* values, char* indices, const char* src) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = entries[i].index();
    // Copied by bytes: bool memory is copied unchanged.
    std::memcpy(values + i * static_cast<std::int64_t>(sizeof(T)),
                src + at * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    store_as(indices + i * 8, at);
  }
}

template <class T, class Entry>
class RowSorter {
 public:
  RowSorter(std::int64_t length, std::int64_t requested, Order order)
      : length_(length),
        requested_(requested),
        order_(order),
        entries_(2 * static_cast<std::size_t>(length)) {}

  void operator()(char* values, char* indices, const char* src) {
    for (std::int64_t i = 0; i < length_; ++i) {
      const T value = load_as<T>(src + i * static_cast<std::int64_t>(sizeof(T)));
      entries_[static_cast<std::size_t>(i)] = Entry(ordered_key(value, order_), i);
    }
    const Entry* sorted = sort_entries(entries_.data(), entries_.data() + length_, length_, 8 * sizeof(T));
    write_first<T>(sorted, requested_, values, indices, src);
  }

 private:
  std::int64_t length_, requested_;
  Order order_;
  std::vector<Entry> entries_;
};

template <class T, class Entry>
class RowSelector {
 public:
  RowSelector(std::int64_t length, std::int64_t requested, Order order)
      : length_(length), requested_(requested), order_(order) {}

  void operator()(char* values, char* indices, const char* src) {
    select_first<T>(entries_, src, length_, requested_, order_);
    write_first<T>(entries_.data(), requested_, values, indices, src);
  }

 private:
  std::int64_t length_, requested_;
  Order order_;
  std::vector<Entry> entries_;
};

// Scalars: axis, descending. The outputs hold the first elements of each sorted row: all of them, or k.
template <template <class, class> class Worker>
void run_rows(const KernelArgs& args, std::int64_t unit) {
  const AxisRows rows(args, args.scalars[0].as_int);
  const auto order = static_cast<Order>(args.scalars[1].as_int != 0);
  const std::int64_t length = rows.length(2), requested = rows.length(0);
  with_entries(input(args, 0), length, [&]<class T, class E>(std::type_identity<T>, std::type_identity<E>) {
    for_dense_rows(rows, unit, [&] { return Worker<T, E>(length, requested, order); });
  });
}

// A selection has a buffer of twice k entries and prunes it repeatedly: not efficient for most of a row.
Support supports_selection(const KernelArgs& args) {
  const auto axis = args.scalars[0].as_int;
  const bool few = output(args, 0).sizes[axis] * 8 <= input(args, 0).sizes[axis];
  return few ? Support::yes() : Support::no("k is more than an eighth of the row");
}

void run_sort(Stream&, const KernelArgs& args) { run_rows<RowSorter>(args, kSortGrain); }
void run_select(Stream&, const KernelArgs& args) { run_rows<RowSelector>(args, kGrainElements); }

// Selects one element of the sorted row; with `nan_wins`, the first NaN if there is one.
template <class T, class Entry>
class RowNth {
 public:
  RowNth(std::int64_t length, std::int64_t nth, bool nan_wins)
      : nth_(nth), nan_wins_(nan_wins), entries_(static_cast<std::size_t>(length)) {}

  void operator()(char* value, char* index, const char* src) {
    std::int64_t i = 0;
    bool found_nan = false;
    for (Entry& entry : entries_) {
      const T x = load_as<T>(src + i * static_cast<std::int64_t>(sizeof(T)));
      entry = Entry(key_of(x), i++);
      if constexpr (!std::is_integral_v<T>) {
        // Only NaN has the largest key.
        found_nan = found_nan || entry.key() == static_cast<UnsignedOf<sizeof(T)>>(~UnsignedOf<sizeof(T)>(0));
        if (found_nan && nan_wins_) return write_first<T>(&entry, 1, value, index, src);
      }
    }
    std::nth_element(entries_.begin(), entries_.begin() + nth_, entries_.end());
    write_first<T>(&entries_[static_cast<std::size_t>(nth_)], 1, value, index, src);
  }

 private:
  std::int64_t nth_;
  bool nan_wins_;
  std::vector<Entry> entries_;
};

// Scalars: axis, rank from 0, whether NaN wins.
void run_nth(Stream&, const KernelArgs& args) {
  const AxisRows rows(args, args.scalars[0].as_int);
  const std::int64_t length = rows.length(2), nth = args.scalars[1].as_int;
  const bool nan_wins = args.scalars[2].as_int != 0;
  with_entries(input(args, 0), length, [&]<class T, class E>(std::type_identity<T>, std::type_identity<E>) {
    for_dense_rows(rows, kSortGrain, [&] { return RowNth<T, E>(length, nth, nan_wins); });
  });
}

}  // namespace

KernelLists sort_kernels() {
  static const auto kSort = std::to_array<Kernel>({{"cpu_sort_radix", supports_any, run_sort}});
  static const auto kTopk = std::to_array<Kernel>(
      {{"cpu_topk_select", supports_selection, run_select}, {"cpu_topk_sort", supports_any, run_sort}});
  static const auto kNth = std::to_array<Kernel>({{"cpu_nth_element", supports_any, run_nth}});
  static const auto kLists = std::to_array<BackendKernels>(
      {{"sort", kSort}, {"topk", kTopk}, {"kthvalue", kNth}, {"median_dim", kNth}});
  return kLists;
}

}  // namespace pel::cpu
