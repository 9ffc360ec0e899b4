// A function eager, compiled and by tuned kernels, measured side by side.
//
//   fmt::print("{}", compare([](const Tensor& a, const Tensor& b) { return gelu(a) * b; }, a, b).text());
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pellucid/api.h"
#include "pellucid/array_view.h"
#include "pellucid/compile.h"
#include "pellucid/tensor.h"

namespace pel {

struct Comparison {
  struct Way {
    std::string name;  // eager, compiled, tuned
    // Of the last call.
    std::uint64_t kernels = 0, bytes_read = 0, bytes_written = 0;
    double call_ns = 0;             // the median of some turns, in which the ways alternate
    double first_call_ns = 0;       // with what it compiles; kernels that are kept on disk are not compiled
    std::size_t compiles = 0;       // for all calls
    bool has_bits_of_eager = true;  // in all calls
  };
  std::vector<Way> ways;
  std::size_t calls = 0;  // lists of arguments

  PEL_API std::string text() const;
  PEL_API std::string json() const;
};

using TensorListFunction = std::function<std::vector<Tensor>(ArrayView<Tensor>)>;

// Calls `f` with each of these lists of arguments, which may have other sizes, and times calls with the last
// one. `tuned` is the same function by tuned kernels, such as geglu; none is left out.
PEL_API Comparison compare_calls(const TensorListFunction& f, ArrayView<std::vector<Tensor>> calls,
                                 const TensorListFunction& tuned = {});

// A function that takes these tensors, and returns a Tensor or a vector, array, pair or tuple of them.
template <class F, class... T>
Comparison compare(const F& f, const T&... inputs) {
  const auto by_list = [&f](ArrayView<Tensor> list) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return detail::TensorResult<decltype(f(list[I]...))>::pack(f(list[I]...));
    }(std::index_sequence_for<T...>());
  };
  const std::vector<std::vector<Tensor>> calls{{inputs...}};
  return compare_calls(by_list, calls);
}

}  // namespace pel
