// A launch of a kernel from text: its addresses and numbers, in the order that codegen/c_like/loop_text.h
// says.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "pellucid/extend/kernel.h"

#include "base/small_vector.h"
#include "codegen/c_like/loop_text.h"
#include "device/async_device.h"
#include "device/prepared_kernel.h"
#include "tensor/convert.h"

namespace pel::grid {

using codegen::kMaxGridAxes;

// Functions that were built for one kernel, by the device's type and a key of the variant. A device calls
// kernels under its lock, so that each map has one user at a time.
struct Functions {
  // Of a compiled graph: its text is built once for all graphs that have the same, and for all layers of one.
  bool are_shared = false;
  std::array<std::unordered_map<std::uint64_t, FunctionHandle>, kDeviceTypeCount> by_device{};
};
inline std::size_t target_index() {
  return static_cast<std::size_t>(launch_target().device->facts().kernels);
}
// Builds a text for the device under way, or finds it. It has the function `name`; errors have `shown`.
FunctionHandle build_text(const Functions& functions, const std::string& name, const std::string& shown,
                          std::string text);
// Returns the function of the variant; `write` returns its text the first time.
template <class Write>
FunctionHandle built(Functions& functions, std::uint64_t key, const std::string& name, const Write& write,
                     const std::string& shown = {}) {
  auto& by_key = functions.by_device[target_index()];
  const auto found = by_key.find(key);
  if (found != by_key.end()) return found->second;
  const FunctionHandle made = build_text(functions, name, shown.empty() ? name : shown, write());
  by_key.emplace(key, made);
  return made;
}

class GridCall {
 public:
  // All addresses are added before the first number.
  void address(const void* data) { addresses_.push_back(static_cast<std::byte*>(const_cast<void*>(data))); }
  void number(std::int64_t value) {
    if (numbers_.empty()) {
      for (std::size_t i = 0; i <= addresses_.size(); ++i) numbers_.push_back(0);  // the device's own
    }
    numbers_.push_back(value);
  }
  // At least `items` items, in groups of this size.
  void launch(FunctionHandle function, std::int64_t items, std::uint32_t group, bool may_report = false) {
    const std::uint64_t groups = (static_cast<std::uint64_t>(items) + group - 1) / group;
    launch(function, LaunchShape{{groups * group, 1, 1}, {group, 1, 1}}, may_report);
  }
  void launch(FunctionHandle function, const LaunchShape& shape, bool may_report = false) {
    const LaunchTarget& target = launch_target();
    const LaunchArgs args{
        {addresses_.data(), addresses_.size()}, numbers_.data(), numbers_.size(), may_report, false};
    if (target.prepares != nullptr) [[unlikely]]
      return target.prepares->add(*target.device, function, shape, args);
    target.device->launch(target.stream, function, shape, args);
  }

 private:
  SmallVector<std::byte*, 8> addresses_;
  SmallVector<std::int64_t, 128> numbers_;
};

// Items of a group. A driver that compiles for each size of a group compiles each kernel once.
inline constexpr std::uint32_t kItems = 64, kVectorItems = 16, kRowItems = 1;

// The bits of a number as a value of a type, as kernels read them.
inline std::int64_t number_bits(const PelScalar& number, DType type) {
  std::int64_t bits = 0;
  with_type(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      bits = number.as_int != 0 ? 1 : 0;
    } else if constexpr (std::is_integral_v<T>) {
      bits = static_cast<T>(number.as_int);
    } else {
      store_as(&bits, convert<T>(number.as_float));
    }
  });
  return bits;
}
// The same of an element in host memory.
inline std::int64_t element_bits(const void* element, DType from, DType type) {
  std::int64_t bits = 0;
  with_type(type, [&]<class T>(std::type_identity<T>) {
    with_type(from, [&]<class F>(std::type_identity<F>) {
      const T value = convert<T>(load_as<F>(element));
      if constexpr (std::is_integral_v<T>) {
        bits = value;
      } else {
        store_as(&bits, value);
      }
    });
  });
  return bits;
}

inline DType dtype_of(const Operand& operand) { return static_cast<DType>(operand.dtype); }
inline bool is_number(const Operand& operand) { return !is_device_address(operand.data); }

// The axes of a loop over several operands: sizes, and steps in elements, the innermost first. Axes that are
// adjacent in all operands are joined.
template <int MaxOperands>
struct GridAxes {
  int rank = 0;
  std::int64_t size[kMaxGridAxes] = {};
  std::int64_t step[MaxOperands][kMaxGridAxes] = {};

  // Appends the axis, or joins it with the one inside it.
  void add(std::int64_t length, const std::int64_t* steps, int operands) {
    bool joins = rank > 0;
    for (int k = 0; joins && k < operands; ++k) joins = steps[k] == size[rank - 1] * step[k][rank - 1];
    if (joins) {
      size[rank - 1] *= length;
      return;
    }
    size[rank] = length;
    for (int k = 0; k < operands; ++k) step[k][rank] = steps[k];
    ++rank;
  }
  std::int64_t count() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= size[i];
    return product;
  }
  void add_sizes(GridCall& call, int axes = kMaxGridAxes) const {
    for (int i = 0; i < axes; ++i) call.number(i < rank ? size[i] : 1);
  }
  void add_steps(GridCall& call, int operand, int axes = kMaxGridAxes) const {
    for (int i = 0; i < axes; ++i) call.number(i < rank ? step[operand][i] : 0);
  }
};

}  // namespace pel::grid
