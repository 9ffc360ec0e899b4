// Expectations about the kernels that run, for your own tests.
//
//   expect_kernels(5, [&] { mlp(x); });
//   expect("kernels == 5; gemm == 3; copies == 0; syncs == 0; bytes <= 4.2M", [&] { mlp(x); });
#pragma once

#include <functional>
#include <string_view>

#include "pellucid/api.h"
#include "pellucid/error.h"
#include "pellucid/extend/op.h"

namespace pel {

// Runs `f` and throws an ExpectationError if a condition does not hold. The error lists the conditions and
// the launches side by side. Conditions are separated by semicolons: a quantity, one of == != < <= > >=, and
// a number, which may end with k, M or G.
//   kernels            launches
//   gemm convolution attention pointwise reduction copy random other
//                      launches of one family
//   'text'             launches whose kernel or op name contains `text`
//   syncs              calls that read data back to the host
//   bytes flops        of all launches, as a Profile counts them
// Counts this thread only. Uses a Profile of its own, so no other may be recording.
PEL_API void expect(std::string_view conditions, const std::function<void()>& f, Site site = Site::current());
PEL_API void expect_kernels(int count, const std::function<void()>& f, Site site = Site::current());

// Returns the family of the kernels that an op launches; "view" for ops that launch none, "composite" for ops
// that call other ops.
PEL_API std::string_view family(const Op& op);

}  // namespace pel
