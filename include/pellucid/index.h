// Indexing that returns views: x[0], x[{Slice(1, 3), kEllipsis, kNewAxis, -1}].
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "pellucid/api.h"
#include "pellucid/array_view.h"
#include "pellucid/dim.h"

namespace pel {

// Python's start:stop:step. An omitted bound is the end of the axis; negative bounds count from the end.
struct Slice {
  Slice() = default;
  Slice(std::optional<Dim> start_at, std::optional<Dim> stop_before = std::nullopt, Dim step_by = 1)
      : start(start_at), stop(stop_before), step(step_by) {}
  std::optional<Dim> start, stop;
  Dim step = 1;
};
struct Ellipsis {};
struct NewAxis {};
inline constexpr Ellipsis kEllipsis{};
inline constexpr NewAxis kNewAxis{};

class Index {
 public:
  enum class Kind : std::uint8_t { At, Slice, Ellipsis, NewAxis };
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Index(T at) : kind_(Kind::At), at_(at) {}
  Index(Dim at) : kind_(Kind::At), at_(at) {}
  Index(Slice slice) : kind_(Kind::Slice), slice_(slice) {}
  Index(Ellipsis) : kind_(Kind::Ellipsis) {}
  Index(NewAxis) : kind_(Kind::NewAxis) {}

  Kind kind() const { return kind_; }
  Dim at() const { return at_; }
  const Slice& slice() const { return slice_; }

 private:
  Kind kind_;
  Dim at_{};
  Slice slice_{};
};

// The indices between the brackets, with their source location.
struct IndexList {
  IndexList(std::initializer_list<Index> list, Site at = Site::current())
      : items(list.begin(), list.size()), site(at) {}
  IndexList(ArrayView<Index> list, Site at = Site::current()) : items(list), site(at) {}
  template <class T>
    requires(std::integral<T> && !std::same_as<T, bool>) || std::same_as<T, Dim> || std::same_as<T, Slice> ||
                std::same_as<T, Ellipsis> || std::same_as<T, NewAxis>
  IndexList(T one, Site at = Site::current()) : single(one), items(&single, 1), site(at) {}
  IndexList(const IndexList&) = delete;
  IndexList& operator=(const IndexList&) = delete;

  Index single = 0;
  ArrayView<Index> items;
  Site site;
};

}  // namespace pel
