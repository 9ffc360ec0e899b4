// Results of a device that builds kernels from text, compared with the CPU's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "device/op_calls.h"
#include "dispatch/op_table.h"
#include "support/bytes.h"

namespace pel::test {

// Whether two elements are equal, bit by bit; all NaN are.
inline bool is_equal_element(DType dtype, const char* a, const char* b) {
  if (std::memcmp(a, b, static_cast<std::size_t>(size_bytes(dtype))) == 0) return true;
  if (!is_floating(dtype)) return false;
  const auto is_nan = [&](const char* from) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, static_cast<std::size_t>(size_bytes(dtype)));
    const std::uint64_t infinity = dtype == kF64   ? 0x7ff0000000000000u
                                   : dtype == kF32 ? 0x7f800000u
                                   : dtype == kF16 ? 0x7c00u
                                                   : 0x7f80u;
    return (bits & ((std::uint64_t{1} << (8 * size_bytes(dtype) - 1)) - 1)) > infinity;
  };
  return is_nan(a) && is_nan(b);
}

// What differs between a tensor on the CPU and one on the device, or nothing.
inline std::string difference_on(Device device, const Tensor& wanted, const Tensor& given) {
  if (given.device() != device) return "is on " + to_string(given.device());
  if (given.dtype() != wanted.dtype()) return "has another dtype";
  if (to_string(given.sizes()) != to_string(wanted.sizes())) return "has other sizes";
  const std::vector<char> a = bytes_of(wanted), b = bytes_of(given);
  const auto width = static_cast<std::size_t>(size_bytes(wanted.dtype()));
  std::size_t differing = 0, first = 0;
  for (std::size_t i = 0; i < a.size(); i += width) {
    if (is_equal_element(wanted.dtype(), a.data() + i, b.data() + i)) continue;
    if (differing++ == 0) first = i / width;
  }
  if (differing == 0) return "";
  return fmt::format("{} of {} elements have other bits, the first at {}", differing, a.size() / width,
                     first);
}

// Calls of every op on a device and on the CPU: results and written arguments are compared.
struct OpsWalked {
  std::int64_t own = 0, with_fallback = 0;  // ops that ran by kernels of the device alone, and others
  std::string fallbacks;                    // names of the others
  double seconds = 0;
  bool is_whole = false;  // no op was left out
};
// One op in `share`, or the one that PELLUCID_CASE names. `suite`: of the command that repeats a failure.
inline OpsWalked walk_every_op(Device device, std::int64_t share, const char* suite) {
  const NoGrad no_grad;
  const auto began = std::chrono::steady_clock::now();
  const auto fallback_count = [&] {
    std::uint64_t count = 0;
    for (const DeviceFallback& each : device_fallbacks(device)) count += each.count;
    return count;
  };
  const char* const only = std::getenv("PELLUCID_CASE");
  std::int64_t number = 0;
  std::set<std::string> own, with_fallback;
  for (const Op* op : all_ops()) {
    if (!op->record().is_builtin || (only != nullptr && op->name() != only)) continue;
    if (only == nullptr && number++ % share != 0) continue;
    const auto op_began = std::chrono::steady_clock::now();
    for (const std::vector<Value>& call : calls_of(*op)) {
      SCOPED_TRACE(text_of(*op, call) +
                   fmt::format("\nrepro: PELLUCID_CASE={} ./dev test {}", op->name(), suite));
      std::vector<Value> on_cpu = arguments_on(kCpu, *op, call), on_device = arguments_on(device, *op, call);
      const std::uint64_t before = fallback_count();
      try {
        manual_seed(5);
        std::vector<Value> wanted = call_boxed(*op, on_cpu);
        manual_seed(5);
        std::vector<Value> given = call_boxed(*op, on_device);
        if (op->name() == "to_device") continue;  // its sample names another device
        synchronize(device);
        (fallback_count() == before ? own : with_fallback).emplace(op->name());
        std::vector<Tensor> wanted_tensors = tensors_of(wanted), given_tensors = tensors_of(given);
        EXPECT_EQ(wanted_tensors.size(), given_tensors.size());
        if (wanted_tensors.size() != given_tensors.size()) continue;
        const std::size_t results = wanted_tensors.size();
        each_tensor(on_cpu, [&](Tensor& t) { wanted_tensors.push_back(t); });
        each_tensor(on_device, [&](Tensor& t) { given_tensors.push_back(t); });
        for (std::size_t i = 0; i < wanted_tensors.size(); ++i) {
          if (!wanted_tensors[i].defined() || wanted_tensors[i].header()->is_number) continue;
          const bool is_undefined = op->name().starts_with("empty") && i < results;
          if (is_undefined) continue;
          EXPECT_EQ(difference_on(device, on_host(wanted_tensors[i]), given_tensors[i]), "")
              << (i < results ? "result " : "argument ") << (i < results ? i : i - results);
        }
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
    if (std::getenv("PELLUCID_TEST_TIMES") != nullptr)
      fmt::print("{:8.3f} s {}\n",
                 std::chrono::duration<double>(std::chrono::steady_clock::now() - op_began).count(),
                 op->name());
  }
  OpsWalked walked;
  for (const std::string& name : with_fallback) {
    own.erase(name);
    walked.fallbacks += " " + name;
  }
  const auto records = [](const std::set<std::string>& names) {  // without add_, add.out
    return std::ranges::count_if(names, [](const std::string& name) { return !is_further_form(name); });
  };
  walked.own = records(own);
  walked.with_fallback = records(with_fallback);
  walked.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  walked.is_whole = only == nullptr && share == 1;
  return walked;
}

}  // namespace pel::test
