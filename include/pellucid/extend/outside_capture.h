// State that is created while a function is captured.
#pragma once

#include "pellucid/extend/keys.h"

namespace pel {

// Inside, calls run eagerly on real data, even while compile captures a function: for state that an object
// creates at its first call, such as an optimizer's. In the graph it is an input, like weights. Tensors of
// the captured function itself have no data and cannot be used inside.
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
