// Hypotheses about what runs, held against what ran; for your own tests.
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

// Runs `f` and throws an ExpectationError where a condition does not hold: it lists the launches beside what
// was expected. Conditions are separated by semicolons: a quantity, one of == != < <= > >=, and a number,
// which may end with k, M or G.
//   kernels            launches
//   gemm convolution attention pointwise reduction copy random other
//                      launches of one family
//   'text'             launches whose kernel or op has `text` in its name
//   syncs              calls that read data back to the host
//   bytes flops        of all launches, as a Profile counts them
// What this thread does is counted, with a Profile of its own; another must not be recording.
PEL_API void expect(std::string_view conditions, const std::function<void()>& f, Site site = Site::current());
PEL_API void expect_kernels(int count, const std::function<void()>& f, Site site = Site::current());

// The family of the kernels that an op launches; "view" for those that launch none, "composite" for those
// whose parts do.
PEL_API std::string_view family(const Op& op);

}  // namespace pel
