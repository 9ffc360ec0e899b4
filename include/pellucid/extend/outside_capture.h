// State that is made while a function is captured.
#pragma once

#include "pellucid/extend/keys.h"

namespace pel {

// Inside, calls run at once and on real data, also while compile captures a function: for what an object
// makes at its first call and keeps, as an optimiser does. The graph then holds it as it holds weights.
// Tensors of the captured function itself have no data and cannot be used inside.
class PEL_API OutsideCapture {
 public:
  OutsideCapture();
  ~OutsideCapture();
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  detail::ThreadKeys saved_keys_;
  bool saved_data_;
};

}  // namespace pel
